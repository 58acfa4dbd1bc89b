"""Who may use the studio: whoever has the address with the token, from a page of the studio itself.

Every user of a machine reaches its loopback, and so does every web page that one of them opens. So the
address that is printed has a token, which a browser exchanges for a session cookie; requests under
another name than the machine's, or from pages of others, are refused.
"""

from __future__ import annotations

import hmac
import secrets
from html import escape
from http.cookies import CookieError, SimpleCookie
from importlib import resources
from pathlib import Path
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from unseen.serving.host_header import LOOPBACK_NAMES, host_name, is_own_origin

TOKEN_BYTES = 24
POLICY_VIOLATION = 1008
"""The code with which a web socket is refused."""


class Access:
    """The ASGI application that stands before the studio.

    Parameters
    ----------
    app : ASGI application

    Attributes
    ----------
    token : str
        What the printed address has and a browser sends once; a new one in every process.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._session = secrets.token_urlsafe(TOKEN_BYTES)

    def address(self, place: str) -> str:
        """Return the address that lets a browser in.

        Parameters
        ----------
        place : str
            The address without the token: ``http://127.0.0.1:8080``.
        """
        return f"{place}/?token={self.token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        refusal = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = scope["headers"]
        if host_name(headers) not in LOOPBACK_NAMES:
            return PlainTextResponse("The studio is not known by that name.", 421)
        if not is_own_origin(headers, required=scope["type"] == "websocket"):
            return PlainTextResponse("The studio answers to its own pages only.", 403)
        name = _cookie_name(scope)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        if scope["type"] == "http" and scope["path"] == "/" and _equal(given, self.token):
            answer = RedirectResponse("/", 303)
            # Lax: a link in a terminal that is itself a web page must work; sockets check the origin.
            answer.set_cookie(name, self._session, path="/", httponly=True, samesite="lax")
            return answer
        if _equal(_cookie(headers, name), self._session):
            return None
        return HTMLResponse(_sign_in_page(wrong=bool(given)), 401)


def write_redirect(folder: Path, address: str) -> Path:
    """Write a page that leads to an address, for a browser to open; only this user can read it.

    The address itself would be seen by everybody among the arguments of the browser's process.
    """
    path = folder / "open-studio.html"
    path.touch(mode=0o600)
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><title>unseen studio</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">\n'
        f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
        f'<a href="{escape(address)}">Open the studio</a>\n',
        encoding="utf-8",
    )
    return path


def _cookie_name(scope: Scope) -> str:
    """Return the name of the session cookie: browsers do not tell the cookies of two ports apart."""
    server = scope.get("server") or ("", 0)
    return f"unseen-studio-{server[1]}"


def _cookie(headers: list[tuple[bytes, bytes]], name: str) -> str:
    for key, value in headers:
        if key == b"cookie":
            try:
                cookies = SimpleCookie(value.decode("latin-1"))
            except CookieError:
                continue
            if name in cookies:
                return cookies[name].value
    return ""


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _sign_in_page(wrong: bool) -> str:
    page = (resources.files(__package__) / "sign_in_page.html").read_text(encoding="utf-8")
    note = "This is not the token of the studio that runs now: each start makes a new one."
    return page.replace("<!-- note -->", f'<p role="alert">{note}</p>' if wrong else "")

"""What a browser lets the studio's pages do: run their own scripts only, and stand in no other page."""

from __future__ import annotations

import re
import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FIXED_HEADERS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
SCRIPT = re.compile(rb"<script(?=[\s>])")


class PagePolicy:
    """The ASGI application that adds a content-security policy to the answers of another.

    The scripts of NiceGUI's page are marked with a number that is drawn for each answer; a browser runs
    no others. Names of classes and files cannot take part in this: in that page NiceGUI escapes all of
    them, and later ones come over the socket, when no script can be marked any more. NiceGUI evaluates
    handlers that the server sends, hence ``unsafe-eval``.

    Parameters
    ----------
    app : ASGI application
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by the other application, with headers added and scripts marked."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        page_start: Message = {}
        parts: list[bytes] = []

        async def mark(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=list(message["headers"]))
                headers.update({**FIXED_HEADERS, "content-security-policy": content_policy(nonce)})
                message = {**message, "headers": headers.raw}
                if headers.get("content-type", "").startswith("text/html"):
                    page_start.update(message)
                else:
                    await send(message)
            elif page_start:
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    await _send_page(send, page_start, b"".join(parts), nonce)
            else:
                await send(message)

        await self.app(scope, receive, mark)


def content_policy(nonce: str) -> str:
    """Return the policy; the scripts with this nonce are the only ones inside a page that run."""
    return (
        f"default-src 'self'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
        "object-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    )


async def _send_page(send: Send, start: Message, body: bytes, nonce: str) -> None:
    body = SCRIPT.sub(f'<script nonce="{nonce}"'.encode(), body)
    headers = MutableHeaders(raw=start["headers"])
    headers["content-length"] = str(len(body))
    headers["cache-control"] = "no-store"
    await send(start)
    await send({"type": "http.response.body", "body": body})

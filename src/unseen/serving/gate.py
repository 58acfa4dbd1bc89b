"""The gate before the service: who may come in, how much at a time, how large and how slow.

It stands before the routes as plain ASGI and reads a body whole, so that a route is only ever given a
body that is complete and within its limits. What it refuses, it answers itself, in the same form.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from unseen.serving.host_header import name_of_host
from unseen.serving.limits import Limits
from unseen.serving.memory_budget import SHARE, MemoryBudget, OverBudget, Share
from unseen.serving.prometheus import Metrics

Scope = MutableMapping[str, Any]
"""What ASGI says of a request, and its messages: only what reads them knows their members."""
Message = Scope
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = frozenset({"/", "/health"})
"""Answered without a token: what a person and a supervisor ask first."""
LIGHT = frozenset({"/", "/health", "/metrics"})
"""Answered when all places are taken, too: that is when one wants to look."""


class Refused(Exception):
    """An answer instead of the service's."""

    def __init__(self, status: int, detail: str, reason: str, *headers: tuple[str, str]) -> None:
        super().__init__(detail)
        self.status, self.detail, self.reason, self.headers = status, detail, reason, headers


class Gate:
    """The ASGI application that stands before another.

    Parameters
    ----------
    app : ASGI application
    limits : Limits
    metrics : Metrics
    budget : MemoryBudget
        What bodies are counted in until their request is answered.
    paths : iterable of str
        The routes, for the labels of the metrics; any other path counts as "other".
    token : str
        What a client must send as ``Authorization: Bearer …``; "" for none.
    hosts : iterable of str
        The names by which it may be addressed; empty for any. It keeps a web page from reaching a
        service on the loopback by a name that it made point there.
    """

    def __init__(
        self,
        app: App,
        limits: Limits,
        metrics: Metrics,
        budget: MemoryBudget,
        paths: Iterable[str],
        token: str = "",
        hosts: Iterable[str] = (),
    ) -> None:
        self._app, self._limits, self._metrics, self._budget = app, limits, metrics, budget
        self._paths, self._token, self._hosts = frozenset(paths), token.encode(), frozenset(hosts)
        self._busy = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let the service do it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        counted = scope["path"] not in LIGHT
        headers = dict(scope["headers"])
        try:
            self._check(scope, headers, counted)
            self._busy += counted
            try:
                with Share(self._budget) as share:
                    scope[SHARE] = share
                    claimed = headers.get(b"content-length", b"0")
                    body = await self._read_body(scope["path"], claimed, receive, share)
                    await self._app(scope, _replay(body, receive), noting)
            finally:
                self._busy -= counted
        except Refused as refused:
            self._metrics.refused.add(reason=refused.reason)
            status = refused.status
            await _answer(send, refused)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            method = scope["method"] if scope["method"] in ("GET", "POST", "DELETE") else "other"
            self._metrics.requests.add(path=path, method=method, status=str(status))
            self._metrics.seconds.observe(time.perf_counter() - start, path=path)
            self._metrics.busy.set(self._busy)

    def _check(self, scope: Scope, headers: dict[bytes, bytes], counted: bool) -> None:
        repeated = len(headers) < len(scope["headers"])
        if repeated and sum(name == b"host" for name, _ in scope["headers"]) > 1:
            raise Refused(400, "Send one Host header.", "host", ("connection", "close"))
        if self._hosts and name_of_host(headers.get(b"host", b"")) not in self._hosts:
            known = ", ".join(sorted(self._hosts))
            raise Refused(421, f"This service is not known by that name; use one of {known}.", "host")
        if self._token and scope["path"] not in OPEN:
            kind, _, given = headers.get(b"authorization", b"").partition(b" ")
            if kind.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._token):
                detail = "Send the token of the service: Authorization: Bearer TOKEN."
                raise Refused(401, detail, "token", ("www-authenticate", "Bearer"))
        if counted and self._busy >= self._limits.concurrency:
            detail = f"All {self._limits.concurrency} places are taken. Try again in a moment."
            raise Refused(503, detail, "concurrency", ("retry-after", "1"))

    async def _read_body(self, path: str, claimed: bytes, receive: Receive, share: Share) -> bytes:
        """Read the body within its limits."""
        most = 0 if path in LIGHT else self._limits.body
        too_large = f"The body has more than {most:,} bytes. Send fewer rows at a time."
        if not most:
            too_large = "Send no body: nothing here takes one."
        if claimed.isdigit() and int(claimed[:20]) > most:
            raise Refused(413, too_large, "body", ("connection", "close"))
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refused(400, "The client went away.", "gone", ("connection", "close"))
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise Refused(413, too_large, "body", ("connection", "close"))
                    share.add(len(parts[-1]))
                    if not message.get("more_body", False):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            detail = f"The body did not come in whole within {self._limits.body_seconds:g} seconds."
            raise Refused(408, detail, "slow", ("connection", "close")) from None
        except OverBudget as error:
            again = ("retry-after", "1"), ("connection", "close")
            raise Refused(503, error.detail, "memory", *again) from None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return what hands on a body that has been read."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await receive()

    return replay


async def _answer(send: Send, refused: Refused) -> None:
    body = json.dumps({"detail": refused.detail}).encode()
    headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
    coded = [(k.encode(), v.encode()) for k, v in (*headers, *refused.headers)]
    await send({"type": "http.response.start", "status": refused.status, "headers": coded})
    await send({"type": "http.response.body", "body": body})

"""A server with limits for connections in the loop of a test."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import uvicorn
from live import PATIENCE
from uvicorn.server import ServerState

from unseen.serving.connection_limits import bounded_protocol


@asynccontextmanager
async def serving(limits, size):
    """Serve answers of some size, and web sockets, in this loop; give the port and the connections."""

    async def app(scope, receive, send):
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            await receive()  # until it closes
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(size)})

    config = uvicorn.Config(app, http=bounded_protocol(limits), log_level="critical", lifespan="off")
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: config.http_protocol_class(config=config, server_state=state, app_state={}),
        "127.0.0.1",
        0,
    )
    try:
        yield server.sockets[0].getsockname()[1], state.connections
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()


async def until(check):
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not check():
            await asyncio.sleep(0.01)

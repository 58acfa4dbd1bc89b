"""How late the event loop is: what every request waits for beside its own work."""

from __future__ import annotations

import asyncio

from unseen.serving.prometheus import Histogram

SECONDS_BETWEEN = 0.1


async def note_delays(late: Histogram) -> None:
    """Note ten times a second how much later than asked the loop comes back, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + SECONDS_BETWEEN
        await asyncio.sleep(SECONDS_BETWEEN)
        late.observe(max(loop.time() - due, 0.0))

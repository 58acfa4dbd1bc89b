"""The application of ``unseen studio``: its page, and the pictures that the page shows."""

from __future__ import annotations

import asyncio
import json
import secrets
import tempfile
from functools import lru_cache
from importlib import resources
from pathlib import Path

from fastapi import FastAPI, HTTPException, Response
from nicegui import app as nicegui_app
from nicegui import ui

from unseen.exceptions import DataError
from unseen.features.pictures import open_picture
from unseen.image_files import read_picture_file
from unseen.labelling import PoolData
from unseen.reporting.thumbnails import jpeg_thumbnail, text_card
from unseen.serving.studio.access import Access, write_redirect
from unseen.serving.studio.data_sources import embedded
from unseen.serving.studio.desk import Desk
from unseen.serving.studio.live_session import LiveSession
from unseen.serving.studio.page_frame import page_frame
from unseen.serving.studio.page_policy import PagePolicy
from unseen.serving.studio.picture_lists import told
from unseen.serving.studio.roots import Roots
from unseen.serving.studio.sessions import SessionStore
from unseen.serving.studio.start_page import StartPage

THUMBNAIL_PIXELS, LARGE_PIXELS = 192, 960
SCRIPTS = ("drop_zone.js", "gallery.js", "list_loading.js", "pool_map.js")
SMALL_PNG_BYTES = 4096
"""A PNG below this size is sent as it is."""
CACHED_THUMBNAILS, CACHED_LARGE = 4096, 32
RECONNECT_SECONDS = 30.0
"""For which a page is kept whose browser is silent: a fit may take all of a machine's time."""


class Studio:
    """The application, and the address that lets a browser in.

    Parameters
    ----------
    roots : Roots
        The folders that it reads.
    folder : path, optional
        Labelled photographs, to begin with.
    pace : float
        Seconds for which a round is shown at least.
    sessions : path, optional
        Where sessions are kept; ``~/.unseen/studio`` by default.

    Attributes
    ----------
    app : ASGI application
    """

    def __init__(
        self,
        roots: Roots,
        folder: Path | None = None,
        pace: float = 0.6,
        sessions: Path | None = None,
    ) -> None:
        scratch = tempfile.TemporaryDirectory(prefix="unseen-studio-", ignore_cleanup_errors=True)
        nicegui_app.on_shutdown(scratch.cleanup)
        self._folder = Path(scratch.name)
        store = SessionStore(sessions or Path.home() / ".unseen" / "studio")
        self._access = Access(_pages(Library(self._folder, roots, store, pace), folder))
        self.app = PagePolicy(self._access)

    def address(self, place: str) -> str:
        """Return the address with the token; ``place`` is the one without."""
        return self._access.address(place)

    def redirect_file(self, place: str) -> Path:
        """Write a page that leads a browser of this user to the address."""
        return write_redirect(self._folder, self.address(place))


def _pages(library: Library, folder: Path | None) -> FastAPI:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.get("/picture/{key}/{row}")(library.picture)
    app.get("/session/{identity}/list/{what:path}")(library.told)
    app.get("/studio/{name}")(_script)

    @ui.page("/")
    def start() -> None:
        StartPage(library, folder).draw()

    @ui.page("/session/{identity}")
    def session(identity: str) -> None:
        try:
            live = library.open(identity)
        except DataError as error:
            with page_frame(str(error)):
                ui.link("All sessions", "/")
            return
        desk = Desk(library, live)
        desk.draw()
        desk.begin()

    ui.run_with(
        app, title="unseen studio", favicon="🔎", dark=None, tailwind=False,
        show_welcome_message=False, reconnect_timeout=RECONNECT_SECONDS, gzip_middleware_factory=None,
    )  # fmt: skip
    return app


class Library:
    """What all pages of this process share: data, its pictures, and one fit at a time."""

    def __init__(self, folder: Path, roots: Roots, sessions: SessionStore, pace: float = 0.0) -> None:
        self.folder, self.roots, self.sessions, self.pace = folder, roots, sessions, pace
        self.fitting = asyncio.Lock()
        self._open: dict[str, LiveSession] = {}
        self._data: dict[str, PoolData] = {}
        self._embedded: PoolData | None = None

    def open(self, identity: str) -> LiveSession:
        """Return a session that is open, or open it."""
        if identity not in self._open:
            self._open[identity] = LiveSession(self.sessions.load(identity), self)
        return self._open[identity]

    def embedded(self) -> PoolData:
        """Return the embedded data, made once."""
        if self._embedded is None:
            self._embedded = embedded(self.folder)
        return self._embedded

    def add(self, data: PoolData) -> str:
        """Show the pictures of data under a key that nobody can guess; return the key."""
        key = next((k for k, known in self._data.items() if known is data), None)
        if key is None:
            key = secrets.token_urlsafe(12)
            self._data[key] = data
        return key

    def told(self, identity: str, what: str) -> Response:
        """Answer with the list of pictures that a gallery or the map of a session shows."""
        try:
            content = json.dumps(told(self.open(identity), what), ensure_ascii=False)
        except (LookupError, ValueError):  # of a result that is no longer there
            raise HTTPException(404, "There is no such list.") from None
        return Response(content, media_type="application/json", headers={"cache-control": "no-store"})

    def picture(self, key: str, row: int, large: bool = False) -> Response:
        """Answer with a thumbnail; rows are numbers, so that no path can be asked for."""
        data = self._data.get(key)
        if data is None or not 0 <= row < len(data.pool):
            raise HTTPException(404, "There is no such picture.")
        if data.texts is not None:
            kind, content = "image/svg+xml", text_card(data.texts[row])
        else:
            try:
                show = _large if large else _thumbnail
                kind, content = show(data.paths[row])
            except Exception:  # it was readable before; a card with its name is better than a gap
                kind, content = "image/svg+xml", text_card(f"{data.paths[row].name} cannot be shown")
        return Response(content, media_type=kind, headers={"cache-control": "private, max-age=3600"})


def _script(name: str) -> Response:
    if name not in SCRIPTS:
        raise HTTPException(404, "There is no such script.")
    content = (resources.files(__package__) / name).read_bytes()
    return Response(content, media_type="text/javascript", headers={"cache-control": "no-cache"})


@lru_cache(maxsize=CACHED_THUMBNAILS)
def _thumbnail(path: Path) -> tuple[str, bytes]:
    return _small(path, THUMBNAIL_PIXELS)


@lru_cache(maxsize=CACHED_LARGE)
def _large(path: Path) -> tuple[str, bytes]:
    return _small(path, LARGE_PIXELS)


def _small(path: Path, pixels: int) -> tuple[str, bytes]:
    data = read_picture_file(path)
    if len(data) < SMALL_PNG_BYTES and path.suffix.lower() == ".png":
        return "image/png", data
    return "image/jpeg", jpeg_thumbnail(open_picture(data, pixels), pixels, pixels)

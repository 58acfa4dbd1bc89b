"""``unseen serve`` and ``unseen studio``: predictions over HTTP, and a page to look at."""

from __future__ import annotations

import os
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli import options
from unseen.exceptions import DataError

if TYPE_CHECKING:
    from unseen.serving.keeper import Keeper
    from unseen.serving.text_reader import TextReader
    from unseen.serving.vision import Vision

Port = Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)]


def serve(
    model: Annotated[Path, typer.Argument(help="A model file: model.save or unseen fit wrote it.")],
    host: Annotated[str, typer.Option(help="Beyond the loopback a token is required.")] = "127.0.0.1",
    port: Port = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with the token that clients must send. Or set UNSEEN_TOKEN.",
            show_default=False,
        ),
    ] = None,
    backbone: Annotated[
        str,
        typer.Option(
            help="What turns photographs into features: by default what the model names, if it is "
            "built in and installed; another, as hf:NAME, must be named here; 'none' takes features "
            "alone.",
            show_default=False,
        ),
    ] = "",
    weights: Annotated[
        Path | None, typer.Option(help="Weights of the backbone.", show_default=False)
    ] = None,
    words: Annotated[
        str,
        typer.Option(
            help="What turns texts, and descriptions of new classes, into vectors: by default minilm, "
            "if the model names it; another that the model names must be named here.",
            show_default=False,
        ),
    ] = "",
    allow_download: options.AllowDownload = False,
    max_body: Annotated[int, typer.Option(help="Bytes of a request; more is 413.", min=1)] = 8 * 2**20,
    max_rows: Annotated[int, typer.Option(help="Rows of a request; more is 422.", min=1)] = 4096,
    max_concurrency: Annotated[int, typer.Option(help="Requests at a time; more is 503.", min=1)] = 256,
    max_connections: Annotated[
        int, typer.Option(help="Connections at a time; of more, the idlest is closed.", min=1)
    ] = 512,
    max_memory: Annotated[
        int, typer.Option(help="Bytes of all requests in progress; more is 503.", min=1)
    ] = 64 * 2**20,
    body_seconds: Annotated[
        float, typer.Option(help="In which a request must have come in.", min=0.1)
    ] = 10.0,
    window: Annotated[
        float,
        typer.Option(help="Milliseconds to wait for requests that share a product.", min=0, max=1000),
    ] = 2.0,
) -> None:
    """Answer over HTTP: /predict, /classes, /health, /metrics; described by /openapi.json.

    Classes that clients add are written to MODEL. Stops on Ctrl+C, when requests in progress are
    answered.
    """
    _need("fastapi", "uvicorn", "orjson", "httptools")
    from unseen.loopback import is_loopback
    from unseen.serving import Keeper, Limits, Service
    from unseen.serving.server import address, listen, run

    token = _token(token_file)
    local = is_loopback(host)
    if not local and not token:
        raise DataError(
            f"--host {host}: whoever reaches this machine could use the service and add classes. Give "
            "a token: UNSEEN_TOKEN=… or --token-file, or stay on 127.0.0.1."
        )
    limits = Limits(
        body=max_body,
        rows=max_rows,
        concurrency=max_concurrency,
        connections=max_connections,
        memory=max_memory,
        body_seconds=body_seconds,
        window=window / 1000,
    )
    keeper = Keeper(model, limits.classes, words)
    vision = None
    if backbone != "none" and (backbone or "backbone" in keeper.origin):
        vision = _vision(keeper, backbone, weights)
    reader = _reader(keeper, words) if _takes_texts(keeper, words) else None
    hosts = (host, "127.0.0.1", "localhost", "::1") if local and not token else ()
    service = Service(model, limits, token, hosts, vision, reader, keeper)
    with listen(host, port) as opened:
        kind = type(keeper.model).__name__
        takes = f"{keeper.features} features a row"
        takes += " and photographs" * (vision is not None) + " and texts" * (reader is not None)
        typer.echo(f"{kind}: {len(keeper.classes)} classes, takes {takes}")
        typer.echo(f"serving on {address(opened)}; stop with Ctrl+C")
        run(service.app, opened, body_seconds, max_connections)
    typer.echo("stopped")


def studio(
    port: Port = 8080,
    show: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    folder: Annotated[
        Path | None, typer.Option(help="Labelled photographs, to begin with.", show_default=False)
    ] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder that the page may read; can be given several times. By default the working "
            "folder and your home.",
            show_default=False,
        ),
    ] = None,
    sessions: Annotated[
        Path | None,
        typer.Option(help="Where sessions are kept; ~/.unseen/studio by default.", show_default=False),
    ] = None,
    pace: Annotated[float, typer.Option(help="Seconds to show a round for.", min=0)] = 0.6,
    allow_download: options.AllowDownload = False,
) -> None:
    """Open a local page: watch a method label pictures, correct it, compare, download.

    Every label that you give is kept at once; a session goes on after a reload, a restart or a crash.
    It is reached from this machine alone, by the address with a token that is printed, and no request
    leaves the machine.
    """
    _need("nicegui", "uvicorn", "orjson")
    from unseen.serving.server import address, listen, run
    from unseen.serving.studio.app import Studio
    from unseen.serving.studio.roots import Roots

    roots = Roots([*(root or [Path.cwd(), Path.home()]), *([folder] if folder else [])])
    made = Studio(roots, folder, pace, sessions)
    with listen("127.0.0.1", port) as opened:
        place = address(opened)
        typer.echo(f"unseen studio may read {' and '.join(map(str, roots.folders))}.")
        typer.echo("Open this address in a browser on this machine; whoever has it can use the studio:")
        typer.echo(f"\n    {made.address(place)}\n\nStop with Ctrl+C.")
        if show:
            page = made.redirect_file(place).as_uri()
            threading.Timer(1.0, webbrowser.open, [page]).start()
        run(made.app, opened)
    typer.echo("stopped")


def _need(*modules: str) -> None:
    from unseen.files import need

    for module in modules:
        need(module, "unseen serve and unseen studio", "serve")


def _token(path: Path | None) -> str:
    if path is None:
        return os.environ.get("UNSEEN_TOKEN", "").strip()
    from unseen.files import reading

    with reading(path):
        token = path.read_text(encoding="utf-8").strip()
    if not token:
        raise DataError(f"{path}: is empty. Write the token into it.")
    return token


def _vision(keeper: Keeper, backbone: str, weights: Path | None) -> Vision | None:
    """Return the backbone; if the user did not name it, its absence is a note."""
    from unseen.serving.vision import Vision

    try:
        return Vision(keeper.path, keeper.origin, keeper.features, backbone, weights)
    except DataError as error:
        if backbone or weights is not None:
            raise
        typer.echo(f"takes features alone: {error}", err=True)
        return None


def _takes_texts(keeper: Keeper, words: str) -> bool:
    """Tell whether the encoder is for texts: of a model of photographs it is for descriptions only."""
    return "texts" in keeper.origin or bool(words and not keeper.origin)


def _reader(keeper: Keeper, words: str) -> TextReader | None:
    """Return the encoder of texts; if the user did not name it, its absence is a note."""
    from unseen.serving.text_reader import TextReader

    try:
        return TextReader(keeper.path, keeper.origin, keeper.features, words)
    except DataError as error:
        if words:
            raise
        typer.echo(f"takes features alone: {error}", err=True)
        return None

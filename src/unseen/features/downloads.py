"""Whether models may be fetched from the network: no, until the person who runs this says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unseen.exceptions import DataError
from unseen.files import need, reading

_permission = {"allowed": False}


def allow_downloads(allowed: bool = True) -> None:
    """Let this process fetch models that a user names; without it, only local files are read."""
    _permission["allowed"] = allowed


def downloads_allowed() -> bool:
    """Say whether models may be fetched from the network."""
    return _permission["allowed"]


def check_downloads(name: str, library: str) -> None:
    """Refuse a library that fetches weights by itself and cannot be told to use local files only."""
    if not downloads_allowed():
        raise DataError(
            f"{name}: {library} fetches the weights from the network, and nothing is downloaded "
            "unasked. Allow it, or export the network to ONNX.",
            options=("allow_download",),
        )


@contextmanager
def _hub_access() -> Iterator[None]:
    """Keep the library of the hub offline unless downloads are allowed.

    It makes requests of its own, about the calling program, even if only local files are asked for.
    """
    constants: Any = need("huggingface_hub.constants", "hf", "hf")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not downloads_allowed()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def load_pretrained(loader: Callable[..., object], rest: str, what: str, **options: object) -> Any:
    """Call a ``from_pretrained`` of transformers so that it runs no code of the model's repository.

    Only local files are read: a folder, or what an earlier download left in the cache of transformers,
    unless downloads are allowed.
    """
    with reading(rest, what), _hub_access():
        try:
            return loader(
                rest, trust_remote_code=False, local_files_only=not downloads_allowed(), **options
            )
        except OSError:
            if downloads_allowed() or Path(rest).exists():
                raise
            raise DataError(
                f"hf:{rest}: is no folder on this machine, nor has it been downloaded before, and "
                "nothing is downloaded unasked. Check the name, or allow the download.",
                options=("allow_download",),
            ) from None

"""A download that is resumed only with the rest of the same file, over https, up to a limit."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from unseen.exceptions import DataError
from unseen.loopback import is_loopback

if TYPE_CHECKING:  # loads slowly, and only a download needs it
    import requests

CHUNK_BYTES = 1 << 20


def check_address(address: str) -> None:
    """Refuse an address that is not https, unless it is on this machine."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise DataError(
            f"{address}: is not https, so anybody on the way could send another file. Give "
            "an https address."
        )


class ResumingDownloader:
    """A downloader for pooch that resumes a ``.part`` file.

    Beside the part stand its address and its ETag: only the rest of the very same file is appended.
    Without a strong ETag a download starts again.

    Parameters
    ----------
    part : path
    max_bytes : int
        A longer file is refused.
    progress : callable, optional
        Called with the bytes so far and the bytes in all.
    """

    def __init__(self, part: Path, max_bytes: int, progress: Callable[[int, int], None] | None) -> None:
        self._part, self._max_bytes, self._progress = part, max_bytes, progress
        self._tag = part.with_name(part.name + ".etag")

    def __call__(self, url: str, output_file: str, pooch_object: object, **_: object) -> None:
        """Fetch ``url`` into ``output_file``."""
        import requests

        tag = self._stored_tag(url)
        start = self._part.stat().st_size if tag else 0
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers |= {"Range": f"bytes={start}-", "If-Range": tag}
        with requests.get(url, headers=headers, stream=True, timeout=30) as response:
            for step in (*response.history, response):
                check_address(step.url)
            if start and response.status_code == 416:  # the part is whole, or longer than the file
                self._forget()
                return self(url, output_file, pooch_object)
            response.raise_for_status()
            if response.status_code != 206:
                start = 0
            elif not start:
                raise requests.ConnectionError("the server sent a part of the file, unasked")
            elif not self._continues(response, start, tag):
                self._forget()
                return self(url, output_file, pooch_object)
            self._save(response, start, url)
        shutil.move(self._part, output_file)
        self._tag.unlink(missing_ok=True)
        return None

    def _stored_tag(self, url: str) -> str:
        """Return the ETag of the part, or "" if there is no part of this address."""
        if not self._part.is_file() or not self._tag.is_file():
            return ""
        address, _, tag = self._tag.read_text(encoding="utf-8").partition("\n")
        return tag.strip() if address == url else ""

    def _continues(self, response: requests.Response, start: int, tag: str) -> bool:
        first_byte = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
        return (
            first_byte is not None
            and int(first_byte[1]) == start
            and response.headers.get("ETag", tag) == tag
        )

    def _forget(self) -> None:
        self._part.unlink(missing_ok=True)
        self._tag.unlink(missing_ok=True)

    def _save(self, response: requests.Response, start: int, url: str) -> None:
        """Append the body to the part, and fail if the connection ended early."""
        if not start:
            self._forget()
            tag = response.headers.get("ETag", "")
            if tag.startswith('"'):  # a weak one, W/"…", says nothing of bytes
                self._tag.write_text(f"{url}\n{tag}", encoding="utf-8")
        total = start + int(response.headers.get("Content-Length", 0))
        self._check_length(url, total)
        done = start
        response.raw.enforce_content_length = False  # keep what came; the length is checked below
        with self._part.open("ab" if start else "wb") as file:
            for chunk in response.iter_content(CHUNK_BYTES):
                self._check_length(url, done + len(chunk))
                file.write(chunk)
                done += len(chunk)
                if self._progress is not None:
                    self._progress(done, total)
        if "Content-Length" in response.headers and done < total:
            import requests

            raise requests.ConnectionError(f"the connection ended at {done} of {total} bytes")

    def _check_length(self, url: str, length: int) -> None:
        if length > self._max_bytes:
            self._forget()
            raise DataError(
                f"{url}: has more than {self._max_bytes:,} bytes, which is the limit. Nothing was "
                "stored. If you trust it, raise max_bytes."
            )

"""Downloads, against a server on loopback: checked, resumed, whole or not at all."""

from __future__ import annotations

import hashlib
import http.server
import io
import tarfile
import threading
import zipfile

import pytest

from unseen.datasets import fetch
from unseen.exceptions import DataError


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


BODY = zipped(**{"AwA2/classes.txt": "1\tfox\n" * 5000, "AwA2/blob": "x" * 300_000})
SHA = hashlib.sha256(BODY).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serve ``server.body``; cut the connection after ``server.cut`` bytes; honour ranges."""

    def do_GET(self):
        body, start = self.server.body, 0
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        if wanted and self.server.can_resume and self.headers.get("If-Range") in (None, '"v1"'):
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header("ETag", self.server.etag)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        stop = len(body) if self.server.cut is None else start + self.server.cut
        self.wfile.write(body[start:stop])

    def log_message(self, *args):
        """Stay quiet."""


@pytest.fixture
def server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.body, server.cut, server.can_resume = BODY, None, True
    server.ranges, server.etag = [], '"v1"'
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}/AwA2-base.zip"
    yield server
    server.shutdown()
    server.server_close()


def test_fetch_checks_unpacks_and_does_not_fetch_twice(server, tmp_path):
    seen = []
    place = fetch(
        "awa2-base", tmp_path, url=server.url, sha256=SHA, progress=lambda a, b: seen.append((a, b))
    )
    assert place == tmp_path / "AwA2-base"
    assert (place / "AwA2" / "classes.txt").read_text().startswith("1\tfox")
    assert seen[-1] == (len(BODY), len(BODY))
    fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    assert len(server.ranges) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["AwA2-base", "AwA2-base.zip"]


def test_a_download_that_broke_off_is_resumed(server, tmp_path):
    server.cut = 100_000
    with pytest.raises(DataError, match="could not be fetched"):
        fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    assert (tmp_path / "AwA2-base.zip.part").stat().st_size == 100_000
    assert not (tmp_path / "AwA2-base.zip").exists()
    server.cut = None
    fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    assert server.ranges == [None, "bytes=100000-"]
    assert (tmp_path / "AwA2-base.zip").read_bytes() == BODY
    assert not list(tmp_path.glob("*.part*"))


@pytest.mark.parametrize("reason", ["no ranges", "changed", "part too long"])
def test_what_cannot_be_resumed_starts_again(server, tmp_path, reason):
    server.cut = 100_000
    with pytest.raises(DataError):
        fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    server.cut = None
    if reason == "no ranges":
        server.can_resume = False
    elif reason == "changed":
        (tmp_path / "AwA2-base.zip.part.etag").write_text('"v0"')
    else:
        (tmp_path / "AwA2-base.zip.part").write_bytes(BODY + b"more")
    fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    assert (tmp_path / "AwA2-base.zip").read_bytes() == BODY


def test_the_wrong_file_is_not_kept(server, tmp_path):
    server.body = BODY + b"tampered"
    with pytest.raises(DataError, match=r"not what is expected.*Nothing was stored"):
        fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    assert list(tmp_path.glob("*.zip*")) == []


def test_without_a_published_sum_the_first_download_sets_it(server, tmp_path):
    fetch("awa2-base", tmp_path, url=server.url)
    assert SHA in (tmp_path / "AwA2-base.zip.sha256").read_text()
    (tmp_path / "AwA2-base.zip").unlink()
    server.body = zipped(other="file")
    with pytest.raises(DataError, match="not what is expected"):
        fetch("awa2-base", tmp_path, url=server.url)


def test_no_network_says_what_to_place_where(tmp_path):
    with pytest.raises(DataError) as caught:
        fetch("cub", tmp_path, url="http://127.0.0.1:9/CUB_200_2011.tgz")
    message = str(caught.value)
    assert f"place it as {tmp_path / 'CUB_200_2011.tgz'}" in message
    assert "0c685df5597a8b24909f6a7c9db6d11e008733779a671760afef78feb49bf081" in message


def test_an_error_of_the_server_is_reported(server, tmp_path):
    with pytest.raises(DataError, match="could not be fetched"):
        fetch("awa2-base", tmp_path, url=server.url.replace("http", "ftp"))
    with pytest.raises(DataError, match=r"'mnist' is not known. Known are xlsa17"):
        fetch("mnist", tmp_path)


def tarred(name, kind=tarfile.REGTYPE):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("awa2-base", zipped(**{"../out.txt": "x"})),
        ("apy", tarred("../out.txt")),
        ("apy", tarred("/tmp/out.txt")),
        ("apy", tarred("link", tarfile.SYMTYPE)),
        ("apy", b"not an archive"),
    ],
)
def test_a_hostile_archive_is_not_unpacked(server, tmp_path, name, body):
    server.body = body
    with pytest.raises(DataError):
        fetch(name, tmp_path / "data", url=server.url)
    assert not (tmp_path / "out.txt").exists()
    assert not any(p.is_dir() for p in (tmp_path / "data").iterdir())


def test_the_archive_alone(server, tmp_path):
    assert fetch("awa2-base", tmp_path, url=server.url, unpack=False).is_file()


def test_the_cache_folder(monkeypatch, server, tmp_path):
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    assert fetch("awa2-base", url=server.url).parent == tmp_path / "cache"

"""Downloads, against a server on loopback: checked, resumed, whole or not at all."""

from __future__ import annotations

import hashlib
import http.server
import io
import shutil
import tarfile
import threading
import zipfile

import pytest
import requests

from unseen.datasets import fetch
from unseen.datasets.download import ARCHIVES
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
        if self.server.etag:
            self.send_header("ETag", self.server.etag)
        if start:
            place = start + self.server.shift
            self.send_header("Content-Range", f"bytes {place}-{len(body) - 1}/{len(body)}")
        if not self.server.hide_length:
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
    server.ranges, server.etag, server.shift, server.hide_length = [], '"v1"', 0, False
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


REASONS = [
    "no ranges",
    "changed",
    "part too long",
    "no tag",
    "another address",
    "another place",
    "weak",
]


@pytest.mark.parametrize("reason", REASONS)
def test_what_cannot_be_resumed_starts_again(server, tmp_path, reason):
    server.cut = 100_000
    server.etag = {"no tag": "", "weak": 'W/"v1"'}.get(reason, '"v1"')
    server.shift = 7 if reason == "another place" else 0
    with pytest.raises(DataError):
        fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    server.cut = None
    if reason == "no ranges":
        server.can_resume = False
    elif reason == "changed":
        (tmp_path / "AwA2-base.zip.part.etag").write_text(f'{server.url}\n"v0"')
    elif reason == "part too long":
        (tmp_path / "AwA2-base.zip.part").write_bytes(BODY + b"more")
    elif reason == "another address":
        server.url += "?mirror=2"
    fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    assert (tmp_path / "AwA2-base.zip").read_bytes() == BODY


def test_the_wrong_file_is_not_kept(server, tmp_path):
    server.body = BODY + b"tampered"
    with pytest.raises(DataError, match=r"not what is expected.*Nothing was stored"):
        fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    assert list(tmp_path.glob("*.zip*")) == []


def test_without_a_published_sum_the_first_download_sets_it(server, tmp_path):
    with pytest.raises(DataError, match="no SHA-256 was published") as caught:
        fetch("awa2-base", tmp_path, url=server.url)
    assert caught.value.options == ("sha256", "trust_first")
    assert server.ranges == []
    fetch("awa2-base", tmp_path, url=server.url, trust_first=True)
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
    with pytest.raises(DataError, match="is not https"):
        fetch("awa2-base", tmp_path, url=server.url.replace("http", "ftp"), sha256=SHA)
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
        fetch(name, tmp_path / "data", url=server.url, trust_first=True)
    assert not (tmp_path / "out.txt").exists()
    assert not any(p.is_dir() for p in (tmp_path / "data").iterdir())


@pytest.mark.parametrize("status", [206, 416])
def test_a_server_that_never_sends_the_file_is_not_asked_for_ever(
    status, server, tmp_path, monkeypatch
):
    def answer(self):
        self.server.ranges.append(self.headers.get("Range"))
        self.send_response(status)
        self.send_header("Content-Range", "bytes 5-9/10")
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"12345")

    monkeypatch.setattr(Handler, "do_GET", answer)
    with pytest.raises(DataError, match="could not be fetched"):
        fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    assert server.ranges == [None]


def test_the_archive_alone(server, tmp_path):
    assert fetch("awa2-base", tmp_path, url=server.url, sha256=SHA, unpack=False).is_file()


def test_the_cache_folder(monkeypatch, server, tmp_path):
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    assert fetch("awa2-base", url=server.url, sha256=SHA).parent == tmp_path / "cache"


def test_only_https_beyond_this_machine(tmp_path, monkeypatch):
    assert all(archive.url.startswith("https://") for archive in ARCHIVES.values())
    monkeypatch.setattr("requests.get", lambda *a, **k: pytest.fail("it was asked for"))
    for url in ("http://example.org/AwA2-base.zip", "http://127.0.0.1.example.org/x.zip"):
        with pytest.raises(DataError, match="is not https"):
            fetch("awa2-base", tmp_path, url=url, sha256=SHA)


def test_a_redirect_to_plain_http_is_refused(server, tmp_path, monkeypatch):
    real = requests.get

    def redirected(*arguments, **options):
        response = real(*arguments, **options)
        response.url = "http://example.org/AwA2-base.zip"
        return response

    monkeypatch.setattr(requests, "get", redirected)
    with pytest.raises(DataError, match="is not https"):
        fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("declared", [True, False])
def test_a_download_without_end_is_stopped(server, tmp_path, declared):
    server.hide_length = not declared
    with pytest.raises(DataError, match="more than 1,000 bytes, which is the limit"):
        fetch("awa2-base", tmp_path, url=server.url, sha256=SHA, max_bytes=1000)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_came_from_elsewhere_is_not_taken_for_the_archive(server, tmp_path):
    (tmp_path / "AwA2-base").mkdir()
    (tmp_path / "AwA2-base" / "planted.txt").write_text("x")
    with pytest.raises(DataError, match=r"was not unpacked from AwA2-base\.zip"):
        fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    shutil.rmtree(tmp_path / "AwA2-base")
    place = fetch("awa2-base", tmp_path, url=server.url, sha256=SHA)
    assert not (place / "planted.txt").exists()
    (tmp_path / "AwA2-base.zip").write_bytes(other := zipped(other="file"))
    with pytest.raises(DataError, match="was not unpacked from"):
        fetch("awa2-base", tmp_path, url=server.url, sha256=hashlib.sha256(other).hexdigest())

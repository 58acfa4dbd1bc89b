"""Who may use the studio, what it reads, and what its pages may do."""

from __future__ import annotations

import http.client
import re
import stat

import httpx
import pytest
from live import PATIENCE, eventually, live
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from unseen.exceptions import DataError
from unseen.serving.studio.access import Access, write_redirect
from unseen.serving.studio.page_policy import PagePolicy
from unseen.serving.studio.roots import Roots

sockets = pytest.importorskip("websockets.sync.client", reason="needs websockets")

PLACE = "http://127.0.0.1:8080"
SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
SECRET = "root:$6$neverquoted"


async def inner(scope, receive, send):
    """What stands behind the gate: it answers everybody."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": "inside"})
        await send({"type": "websocket.close", "code": 1000})
    else:
        await PlainTextResponse("inside")(scope, receive, send)


@pytest.fixture
def access():
    return Access(inner)


@pytest.fixture
def client(access):
    """A browser that has not been let in."""
    return TestClient(access, base_url=PLACE, follow_redirects=False)


@pytest.fixture
def guest(access):
    """A browser that came with the token."""
    client = TestClient(access, base_url=PLACE)
    assert client.get(access.address("")).text == "inside"
    return client


@pytest.mark.parametrize(
    "path", ["/", "/picture/a/0", "/_nicegui/x.js", "/nowhere", "/picture/?token="]
)
def test_without_the_token_there_is_a_friendly_page_and_nothing_else(client, path):
    answer = client.get(path)
    assert answer.status_code == 401
    assert "Open the address that <code>unseen studio</code> printed in the terminal" in answer.text
    assert "inside" not in answer.text
    assert "set-cookie" not in answer.headers


def test_a_wrong_token_is_said_to_be_wrong(client, access):
    for token in ("wrong", access.token[:-1], access.token + "x", "é"):
        answer = client.get("/", params={"token": token})
        assert answer.status_code == 401
        assert "This is not the token of the studio that runs now" in answer.text


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(client, access):
    answer = client.get(access.address(""))
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert access.token not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert client.get("/picture/a/0").text == "inside"
    assert access.token not in client.get("/").request.url.query.decode()


def test_the_token_opens_the_first_page_only(client, access):
    assert client.get(f"/picture/a/0?token={access.token}").status_code == 401


def test_each_start_has_its_own_token(access, guest):
    other = TestClient(Access(inner), base_url=PLACE, cookies=guest.cookies)
    assert other.get("/").status_code == 401


@pytest.mark.parametrize("cookie", ["", "=", "unseen-studio-8080=", 'unseen-studio-8080="\\', "a=b; c"])
def test_broken_cookies_let_nobody_in(client, cookie):
    assert client.get("/", headers={"cookie": cookie}).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::1", "0.0.0.0"])
def test_other_names_of_the_machine_are_refused(guest, host):
    answer = guest.get("/", headers={"host": host})
    assert (answer.status_code, answer.text) == (421, "The studio is not known by that name.")


@pytest.mark.parametrize(
    ("origin", "status"),
    [(PLACE, 200), ("http://127.0.0.1:9999", 403), ("https://evil.example", 403), ("null", 403)],
)
def test_requests_from_other_pages_are_refused(guest, origin, status):
    for method in ("GET", "POST"):
        assert guest.request(method, "/", headers={"origin": origin}).status_code == status


def test_a_socket_needs_the_cookie_and_the_page_of_the_studio(client, guest, access):
    own = {"origin": PLACE, "host": "127.0.0.1:8080"}
    with guest.websocket_connect(f"ws{PLACE[4:]}/", headers=own) as socket:
        assert socket.receive_text() == "inside"
    strangers = [
        (client, own),
        (guest, {"host": "127.0.0.1:8080"}),
        (guest, {**own, "origin": "http://127.0.0.1:9999"}),
        (guest, {**own, "host": "evil.example", "origin": "http://evil.example"}),
    ]
    for browser, headers in strangers:
        with (
            pytest.raises(WebSocketDisconnect),
            browser.websocket_connect(f"ws{PLACE[4:]}/", headers=headers),
        ):
            pass


def test_scripts_are_marked_and_pages_stand_in_no_frame():
    page = '<script>own()</script><SCRIPT>x</SCRIPT><script src="a.js"></script>'
    client = TestClient(PagePolicy(HTMLResponse(page)))
    answers = [client.get("/") for _ in range(2)]
    nonces = [re.findall('nonce="([^"]+)"', answer.text) for answer in answers]
    assert nonces[0] != nonces[1]
    assert len(nonces[0]) == 2
    assert nonces[0][0] == nonces[0][1]
    headers = answers[0].headers
    policy = headers["content-security-policy"]
    assert f"script-src 'self' 'nonce-{nonces[0][0]}' 'unsafe-eval';" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert int(headers["content-length"]) == len(answers[0].content)


def test_the_browser_is_not_started_with_the_token_in_its_arguments(tmp_path):
    """Everybody can list the arguments of a process; the page with the address is its owner's alone."""
    path = write_redirect(tmp_path, f"{PLACE}/?token=a&b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f'content="0; url={PLACE}/?token=a&amp;b"' in path.read_text(encoding="utf-8")


# ------------------------------------------------------------------------------ what it reads


@pytest.fixture
def roots(tmp_path):
    (tmp_path / "root" / "fox").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "shadow.txt").write_text(SECRET, encoding="utf-8")
    return Roots([tmp_path / "root"])


def test_paths_inside_are_read(roots, tmp_path):
    inside = tmp_path / "root" / "fox"
    (inside / "link").symlink_to(tmp_path / "root")  # a link in a circle
    assert roots.path(inside) == inside
    assert roots.path(tmp_path / "root") == tmp_path / "root"
    assert roots.optional_path("") is None
    assert roots.names("fox, bat") == "fox, bat"
    assert roots.backbone("hf:openai/clip") == "hf:openai/clip"


@pytest.mark.parametrize(
    "name", ["outside/shadow.txt", "outside", "nowhere", "root/../outside", "roots"]
)
def test_paths_outside_are_refused_whether_they_are_there_or_not(roots, tmp_path, name):
    path = tmp_path / name
    with pytest.raises(DataError) as refusal:
        roots.path(path)
    assert str(refusal.value) == (
        f"{path}: lies outside the folders that the studio may read, {tmp_path / 'root'}. Start the "
        "studio again with its folder as one more root."
    )


@pytest.mark.parametrize("text", ["\0", "~nobody-of-this-name/x"])
def test_what_is_no_path_is_refused(roots, text):
    with pytest.raises(DataError, match=r"is no path that can be followed|lies outside"):
        roots.path(text)


def test_links_count_by_where_they_lead(roots, tmp_path):
    link = tmp_path / "root" / "fox" / "words.txt"
    link.symlink_to(tmp_path / "outside" / "shadow.txt")
    for path in (link, tmp_path / "root"):  # by itself, and somewhere in a folder
        with pytest.raises(DataError, match="lies outside the folders"):
            roots.path(path)


def test_a_folder_behind_a_link_is_searched_too(tmp_path):
    for name in ("a", "b", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "to-b").symlink_to(tmp_path / "b")
    roots = Roots([tmp_path / "a", tmp_path / "b"])
    roots.path(tmp_path / "a")
    (tmp_path / "b" / "out").symlink_to(tmp_path / "outside")
    with pytest.raises(DataError, match="out, a link: lies outside"):
        roots.path(tmp_path / "a")


def test_names_and_backbones_with_a_path_are_confined(roots, tmp_path):
    with pytest.raises(DataError, match="lies outside the folders"):
        roots.names(str(tmp_path / "outside" / "shadow.txt"))
    outside = tmp_path / "outside"
    for name in (
        f"onnx:{tmp_path}/x.onnx",
        f"hf:{outside}",
        "hf:../model",
        "hf:~/../x",
        f"timm:local-dir:{outside}",
        f"open_clip:local-dir:{outside}",
    ):
        with pytest.raises(DataError, match="lies outside the folders"):
            roots.backbone(name)


# ------------------------------------------------------------------------------ as it runs


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opened")
    note = "import pathlib, webbrowser\n"
    note += f"webbrowser.open = pathlib.Path({str(folder / 'with')!r}).write_text\n"
    sessions = ("--sessions", folder / "sessions")
    with live("studio", "--port", "0", "--root", folder, *sessions, before=note) as running:
        running.noted = folder / "with"
        yield running


def test_the_printed_address_lets_a_browser_in(studio):
    place = studio.url.partition("/?")[0]
    with httpx.Client(timeout=PATIENCE, follow_redirects=True) as client:
        refusal = client.get(place)
        assert refusal.status_code == 401
        assert "default-src 'self'" in refusal.headers["content-security-policy"]
        answer = client.get(studio.url)
        assert answer.status_code == 200
        assert answer.url == f"{place}/"
        assert "token" not in answer.text
        nonce = re.search("'nonce-([^']+)'", answer.headers["content-security-policy"])[1]
        assert answer.text.count("<script") == answer.text.count(f'<script nonce="{nonce}"') > 3
        for path in ("/guess/0", "/guess/..%2f..%2fetc%2fpasswd", "/x/-1"):
            assert client.get(f"{place}/picture{path}").status_code == 404
        assert client.get(f"{place}/docs").status_code == 404
        (cookie,) = client.cookies.jar
    with pytest.raises(sockets.InvalidStatus):
        sockets.connect(f"ws{place[4:]}{SOCKET}", origin=place)
    session = {"cookie": f"{cookie.name}={cookie.value}"}
    with pytest.raises(sockets.InvalidStatus):
        sockets.connect(
            f"ws{place[4:]}{SOCKET}", origin="http://evil.example", additional_headers=session
        )
    with sockets.connect(f"ws{place[4:]}{SOCKET}", origin=place, additional_headers=session) as socket:
        assert '"sid"' in socket.recv(PATIENCE)


def test_two_host_headers_are_refused(studio):
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=PATIENCE)
    connection.putrequest("GET", "/", skip_host=True)
    for host in ("127.0.0.1", "evil.example"):
        connection.putheader("Host", host)
    connection.endheaders()
    assert connection.getresponse().status in (400, 421)
    connection.close()


def test_what_is_opened_in_the_browser_has_no_token(studio):
    assert eventually(lambda: studio.noted.exists() and studio.noted.read_text())
    opened = studio.noted.read_text()
    assert opened.startswith("file://")
    assert "token" not in opened


def test_the_studio_says_what_it_reads(studio):
    assert studio.stop() == 0
    assert f"unseen studio may read {studio.noted.parent}.\n" in "".join(studio.said)

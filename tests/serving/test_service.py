"""What the service answers, in this process."""

from __future__ import annotations

import asyncio
import base64
import io
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import numpy as np
import pytest
from live import eventually
from starlette.testclient import TestClient
from typer.testing import CliRunner

import unseen
from pictures import COLOURS, NOBODY_LABELLED, picture, write_attributes, write_pictures
from toys import make_toy
from unseen import ESZSL, PrototypeRidge
from unseen.cli import app as command
from unseen.exceptions import ModelFileError
from unseen.loopback import is_loopback
from unseen.serving import Keeper, Limits, Service
from unseen.serving.batching import Answered, Batcher
from unseen.serving.gate import Gate
from unseen.serving.keeper import NewClass
from unseen.serving.memory_budget import MemoryBudget
from unseen.serving.prometheus import Histogram, Metrics
from unseen.serving.vision import Vision


@pytest.fixture
def client(model_file):
    with TestClient(Service(model_file, Limits(rows=32, classes=20)).app) as found:
        found.path = model_file
        yield found


def test_predictions_are_those_of_the_model(client):
    X = make_toy().X[:7]
    answer = client.post("/predict", json={"features": X.tolist()})
    assert answer.status_code == 200
    model, told = unseen.load(client.path), answer.json()
    assert told["labels"] == model.predict(X).tolist()
    assert told["classes"] == model.classes_.tolist()
    np.testing.assert_allclose(told["probabilities"], model.predict_proba(X), rtol=1e-9)


def test_classes_are_listed_and_added_in_the_file(client):
    before = client.get("/classes").json()
    assert before["columns"] == 8
    assert before["attributes"][0] == "trait 0"
    assert {c["name"] for c in before["classes"] if not c["seen"]} == {
        "class 12",
        "class 13",
        "class 14",
        "class 15",
    }
    vector = np.linspace(-1, 1, 8).tolist()
    added = client.post("/classes", json={"name": "owl", "vector": vector})
    assert (added.status_code, added.json()) == (
        201,
        {"name": "owl", "candidate": True, "candidates": 17},
    )
    by_name = {f"trait {i}": v for i, v in enumerate(vector[::-1])}
    assert client.post("/classes", json={"name": "elk", "attributes": by_name}).status_code == 201
    table = unseen.load(client.path).semantics
    np.testing.assert_array_equal(table["owl"], vector)
    np.testing.assert_array_equal(table["elk"], vector[::-1])
    told = client.post("/predict", json={"features": make_toy().X[:1].tolist()}).json()
    assert told["classes"][-2:] == ["owl", "elk"]
    assert "unseen_classes 18" in client.get("/metrics").text


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"name": "class 00", "vector": [0] * 8}, 409, "knows the class 'class 00' already"),
        ({"name": "owl", "vector": [0] * 7}, 422, "has 7 numbers, but class vectors have 8"),
        ({"name": "owl", "attributes": {"trait 0": 1}}, 422, "has no column 'trait 1'"),
        ({"name": "owl"}, 422, "has no column 'trait 0'"),
        ({"name": "owl", "vector": [0] * 8, "description": "a bird"}, 422, "neither"),
        ({"name": 7, "vector": [0] * 8}, 422, "named by a text"),
        ({"name": " ", "vector": [0] * 8}, 422, "printable"),
        ({"name": "a\nb", "vector": [0] * 8}, 422, "printable"),
        ({"name": "x" * 201, "vector": [0] * 8}, 422, "printable"),
        ({"name": "owl", "vector": [0] * 8, "wings": 2}, 422, "wings: Extra inputs"),
        ({"vector": [0] * 8}, 422, "name"),
        ({"name": "owl", "vector": ["0"] * 8}, 422, "vector.0: Input should be a valid number"),
    ],
)
def test_classes_that_cannot_be_added(client, body, status, message):
    data = client.path.read_bytes()
    answer = client.post("/classes", json=body)
    assert answer.status_code == status
    assert message in answer.json()["detail"]
    assert client.path.read_bytes() == data


def test_there_is_a_limit_on_classes(client):
    for number in range(4):
        body = {"name": f"new {number}", "vector": [number] * 8}
        assert client.post("/classes", json=body).status_code == 201
    refused = client.post("/classes", json={"name": "one more", "vector": [9] * 8})
    assert refused.status_code == 422
    assert "20 classes, which is the limit" in refused.json()["detail"]


def test_a_class_that_another_process_added_is_kept(client):
    model = unseen.load(client.path)
    larger = model.semantics.with_classes({"from elsewhere": np.ones(8)})
    model.set_params(semantics=larger).save(client.path)
    assert client.post("/classes", json={"name": "owl", "vector": [0.5] * 8}).status_code == 201
    assert {"from elsewhere", "owl"} <= set(unseen.load(client.path).classes_.tolist())


def test_a_broken_or_missing_model_file_is_told_and_the_service_goes_on(client):
    """It is no fault of the client's, and where the file lies is none of its business."""
    for break_it in (lambda path: path.write_bytes(b"nothing"), lambda path: path.unlink()):
        break_it(client.path)
        changes = client.post("/classes", json={"name": "owl", "vector": [0] * 8})
        for answer in (changes, client.delete("/classes/class 15")):
            assert answer.status_code == 503
            assert answer.json() == {
                "detail": "The model file cannot be read or written; the log of the service says why."
            }
    row = make_toy().X[:1].tolist()
    assert client.post("/predict", json={"features": row}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"name": "owl", "vector": [0] * 7},
        {"name": "owl", "attributes": {"trait 0": 1}},
        {"name": "owl", "description": "a bird"},
        {"name": "class 00", "vector": [0] * 8},
        {"name": "owl"},
    ],
)
def test_no_answer_says_where_the_model_file_is(client, body):
    answer = client.post("/classes", json=body)
    assert answer.status_code in (409, 422)
    assert str(client.path.parent) not in answer.text


@pytest.mark.parametrize("vector", [[1e30] * 8, [1e308] * 8, [0] * 7 + [-1e9], [500] * 8])
def test_a_vector_that_would_win_every_answer_is_refused(client, vector):
    rows = {"features": make_toy().X[:50].tolist()}
    before = client.post("/predict", json=rows).json()
    answer = client.post("/classes", json={"name": "giant", "vector": vector})
    assert answer.status_code == 422
    assert "it would win nearly every answer. Check its units." in answer.json()["detail"]
    by_name = {f"trait {i}": number for i, number in enumerate(vector)}
    assert client.post("/classes", json={"name": "giant", "attributes": by_name}).status_code == 422
    assert client.post("/predict", json=rows).json() == before


def test_classes_are_removed_from_the_file(client):
    before = client.get("/classes").json()
    for name in ("owl/../x", "Grün 7"):
        added = client.post("/classes", json={"name": name, "vector": [0.5] * 8})
        assert added.status_code == 201
        removed = client.delete(f"/classes/{quote(name, safe='')}")
        assert (removed.status_code, removed.json()) == (200, {"name": name, "candidates": 16})
        assert client.delete(f"/classes/{quote(name, safe='')}").status_code == 404
    assert client.get("/classes").json() == before
    assert unseen.load(client.path).classes_.tolist() == [c["name"] for c in before["classes"]]
    assert client.delete("/classes/class 15").status_code == 200
    assert "class 15" not in unseen.load(client.path).classes_.tolist()
    told = client.post("/predict", json={"features": make_toy().X[:1].tolist()}).json()
    assert "class 15" not in told["classes"]
    assert "unseen_classes 15" in client.get("/metrics").text


def test_classes_that_stay(client, tmp_path):
    seen = client.delete("/classes/class 00")
    assert seen.status_code == 409
    assert "had labelled rows when the model was fitted" in seen.json()["detail"]
    assert client.delete("/classes/nobody").status_code == 404
    model = unseen.load(client.path).set_params(candidates=["class 15"])
    model.save(tmp_path / "one.safetensors")
    with TestClient(Service(tmp_path / "one.safetensors").app) as other:
        last = other.delete("/classes/class 15")
        assert (last.status_code, "only class" in last.json()["detail"]) == (409, True)


@pytest.mark.parametrize("token", ["", "secret"])
def test_the_page_at_the_root_says_what_this_is(model_file, token):
    with TestClient(Service(model_file, token=token).app) as client:
        page = client.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "A zero-shot model behind HTTP" in page.text
    for path in ("/predict", "/classes", "/classes/{name}", "/health", "/metrics", "/openapi.json"):
        assert f"<code>{path}</code>" in page.text
    assert ("need the token" in page.text) is bool(token)
    assert "http" not in page.text.replace("behind HTTP", "").replace("HTTP", "")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert str(model_file.parent) not in page.text


@pytest.mark.parametrize("token", ["", "secret"])
def test_two_host_headers_are_refused(model_file, token):
    headers = [("host", "localhost"), ("host", "evil.example")]
    with TestClient(Service(model_file, token=token).app) as client:
        answer = client.get("/health", headers=headers)
    assert (answer.status_code, answer.json()) == (400, {"detail": "Send one Host header."})


def test_classes_may_be_integers(tmp_path):
    toy = make_toy()
    vectors = dict(enumerate(toy.semantics.values()))
    y = np.array([int(name[-2:]) for name in toy.y])
    model = ESZSL(vectors, candidates=[12, 13, 14]).fit(toy.X[toy.train], y[toy.train])
    model.save(tmp_path / "m.safetensors")
    with TestClient(Service(tmp_path / "m.safetensors").app) as client:
        assert client.post("/classes", json={"name": 99, "vector": [1] * 8}).status_code == 201
        assert client.post("/classes", json={"name": "99", "vector": [1] * 8}).status_code == 422
        told = client.post("/predict", json={"features": toy.X[-3:].tolist()}).json()
        assert told["classes"] == [12, 13, 14, 99]
        assert set(told["labels"]) <= {12, 13, 14, 99}


def test_requests_at_the_same_time_share_a_product(model_file):
    """The first product ends when all requests are there; those that it did not take share the next."""
    service = Service(model_file)
    X = make_toy().X
    expected = unseen.load(model_file).predict(X).tolist()
    counts, score = service.metrics.shared, service.keeper.score

    def held(rows):
        assert eventually(lambda: counts.sums[()] + len(service._batcher._waiting) == 16)
        return score(rows)

    def ask(number):
        rows = X[3 * number : 3 * number + 3].tolist()
        return client.post("/predict", json={"features": rows}).json()["labels"]

    service.keeper.score = held
    with TestClient(service.app) as client, ThreadPoolExecutor(16) as pool:
        for number, labels in enumerate(pool.map(ask, range(16))):
            assert labels == expected[3 * number : 3 * number + 3]
    assert 1 <= sum(counts.counts[()]) <= 2
    assert counts.sums[()] == 16


def test_more_requests_than_places():
    """Two that are not answered yet take both places; health and metrics are told all the same."""

    async def scene():
        release, statuses = asyncio.Event(), []

        async def slow(scope, receive, send):
            if scope["path"] == "/predict":
                await release.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        async def ask(path):
            sent = []

            async def receive():
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message):
                sent.append(message)

            await gate({"type": "http", "method": "POST", "path": path, "headers": []}, receive, send)
            statuses.append(sent[0]["status"])
            return sent[0]

        gate = Gate(slow, Limits(concurrency=2), Metrics(), MemoryBudget(1000), ["/predict"])
        waiting = [asyncio.create_task(ask("/predict")) for _ in range(2)]
        await asyncio.sleep(0)
        refused = await ask("/predict")
        await ask("/health")
        await ask("/metrics")
        release.set()
        await asyncio.gather(*waiting)
        await ask("/predict")
        assert statuses == [503, 200, 200, 200, 200, 200]
        assert (b"retry-after", b"1") in refused["headers"]

    asyncio.run(scene())


def test_token(model_file):
    with TestClient(Service(model_file, token="a secret").app) as client:
        for headers in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": "a secret"},
            {"authorization": "Basic a secret"},
            {"authorization": "Bearer a secret and more"},
            {"authorization": "Bearer"},
        ):
            for path in ("/classes", "/metrics", "/openapi.json", "/nothing"):
                refused = client.get(path, headers=headers)
                assert refused.status_code == 401, (path, headers)
                assert refused.headers["www-authenticate"] == "Bearer"
        good = {"authorization": "bearer a secret"}
        assert client.get("/classes", headers=good).status_code == 200
        assert client.get("/health").status_code == 200
        described = client.get("/openapi.json", headers=good).json()
        assert described["security"] == [{"token": []}]
        assert described["paths"]["/health"]["get"]["security"] == []


def test_only_the_names_of_the_loopback_are_answered(model_file):
    hosts = ("127.0.0.1", "localhost", "::1")
    with TestClient(Service(model_file, hosts=hosts).app, base_url="http://localhost:9") as client:
        assert client.get("/health").status_code == 200
        assert client.get("/health", headers={"host": "[::1]:80"}).status_code == 200
        refused = client.get("/classes", headers={"host": "evil.example"})
        assert refused.status_code == 421


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("0.0.0.0", False), ("a.example", False)],
)
def test_loopback(host, loopback):
    assert is_loopback(host) is loopback


def test_beyond_the_loopback_a_token_is_required(model_file, monkeypatch, tmp_path):
    monkeypatch.delenv("UNSEEN_TOKEN", raising=False)
    runner = CliRunner()
    refused = runner.invoke(command, ["serve", str(model_file), "--host", "0.0.0.0"])
    assert "UNSEEN_TOKEN" in str(refused.exception)
    (tmp_path / "token").write_text("\n")
    empty = ["serve", str(model_file), "--host", "0.0.0.0", "--token-file", str(tmp_path / "token")]
    assert "is empty" in str(runner.invoke(command, empty).exception)
    nothing = runner.invoke(command, ["serve", str(tmp_path / "absent.safetensors")])
    assert isinstance(nothing.exception, ModelFileError)


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """A model of coloured pictures, with the backbone of the tests."""
    folder = tmp_path_factory.mktemp("photographs")
    seen = [name for name in COLOURS if name not in NOBODY_LABELLED]
    write_pictures(folder / "seen", seen)
    out = folder / "colours.safetensors"
    arguments = ["fit", "--seen", folder / "seen", "--classes", write_attributes(folder / "c.csv")]
    arguments += ["--backbone", "colours", "--method", "ESZSL", "--cache", folder / "cache"]
    done = CliRunner().invoke(command, [str(a) for a in [*arguments, "--out", out]])
    assert done.exit_code == 0, done.output
    return out


def test_photographs_are_taken_where_the_backbone_is_there(photographs):
    keeper = Keeper(photographs)
    vision = Vision(photographs, keeper.origin, keeper.features)
    with TestClient(Service(photographs, Limits(images=3), vision=vision).app) as client:
        assert client.get("/health").json()["images"] is True
        orange = picture(COLOURS["orange"])
        raw = client.post("/predict", content=orange, headers={"content-type": "image/png"})
        assert raw.status_code == 200, raw.text
        both = [base64.b64encode(picture(COLOURS[c])).decode() for c in ("orange", "purple")]
        told = client.post("/predict", json={"images": both}).json()
        assert told["labels"] == ["orange", "purple"]
        assert raw.json()["labels"] == ["orange"]
        for images, message in (
            (["***"], "Image 0 is not base64"),
            ([base64.b64encode(b"no picture").decode()], "Image 0: it is no picture"),
            ([both[0]] * 4, "send 1 to 3"),
            ([], "send 1 to 3"),
        ):
            refused = client.post("/predict", json={"images": images})
            assert refused.status_code == 422
            assert message in refused.json()["detail"]
        assert "image/*" in str(client.get("/openapi.json").json()["paths"]["/predict"])


def test_numbers_that_overflow_are_told(tmp_path):
    toy = make_toy()
    model = PrototypeRidge(toy.semantics).fit(toy.X[toy.train], toy.y[toy.train])
    model.save(tmp_path / "m.safetensors")
    with TestClient(Service(tmp_path / "m.safetensors").app) as client:
        answer = client.post("/predict", json={"features": [toy.X[0].tolist(), [1e308] * 20]})
    assert answer.status_code == 422
    assert "Row 1 has numbers so large" in answer.json()["detail"]


def test_photographs_are_refused_where_it_is_not(client):
    answer = client.post("/predict", content=b"x", headers={"content-type": "image/png"})
    assert answer.status_code == 422
    assert "takes no photographs" in answer.json()["detail"]


def test_histogram_counts_what_is_below_each_bound():
    histogram = Histogram("h", "what", (1, 2))
    for value in (0.5, 1, 1.5, 9):
        histogram.observe(value, path="/x")
    assert histogram.lines() == [
        'h_bucket{path="/x",le="1"} 2',
        'h_bucket{path="/x",le="2"} 3',
        'h_bucket{path="/x",le="+Inf"} 4',
        'h_sum{path="/x"} 12',
        'h_count{path="/x"} 4',
    ]


def test_limits_are_checked():
    with pytest.raises(ValueError, match="'rows' must be at least 1"):
        Limits(rows=0)


def test_keeper_keeps_the_old_model_when_writing_fails(model_file, monkeypatch):
    keeper = Keeper(model_file)
    before = model_file.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        keeper.add(NewClass("owl", vector=[0.0] * 8))
    assert "owl" not in keeper.classes
    assert model_file.read_bytes() == before
    left = {p.name for p in model_file.parent.iterdir()}
    assert left == {model_file.name, f".{model_file.name}.lock"}


def npy(X, **kwargs):
    """Return the bytes that ``numpy.save`` writes."""
    stream = io.BytesIO()
    np.save(stream, X, **kwargs)
    return stream.getvalue()


def post_npy(client, body):
    return client.post("/predict", content=body, headers={"content-type": "application/x-npy"})


@pytest.mark.parametrize("dtype", ["<f8", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_as_npy_are_answered_as_rows_in_json(client, dtype, order):
    X = np.asarray(make_toy().X[:7], dtype=dtype, order=order)
    answer = post_npy(client, npy(X))
    assert answer.status_code == 200
    assert answer.json() == client.post("/predict", json={"features": X.tolist()}).json()


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_in_single_precision_are_answered_as_the_model_answers_them(client, dtype, order):
    X = np.asarray(make_toy().X[:7], dtype=dtype, order=order)
    told = post_npy(client, npy(X)).json()
    model = unseen.load(client.path)
    own = model.predict_proba(X.astype(np.float32)).astype(np.float32)
    np.testing.assert_array_equal(np.array(told["probabilities"], np.float32), own)
    asked = client.post("/predict", json={"features": X.tolist()}).json()
    assert told["labels"] == asked["labels"]
    np.testing.assert_allclose(told["probabilities"], asked["probabilities"], atol=1e-5)


def test_rows_of_two_precisions_do_not_share_a_product():
    """Beside rows in double precision, those in single precision would get other last digits."""
    scored = []

    def score(X):
        scored.append((X.dtype.char, len(X)))
        return Answered(np.ones((len(X), 1)), ["a"])

    async def ask():
        batcher = Batcher(score, 0.0, 100, Metrics())
        kinds = ["d", "d", "f", "f", "d"]
        asked = [asyncio.ensure_future(batcher(np.zeros((2, 3), kind))) for kind in kinds]
        await asyncio.sleep(0)  # all of them wait before the first is taken
        batcher.start()
        answers = await asyncio.gather(*asked)
        await batcher.stop()
        return [len(answer.probabilities) for answer in answers]

    assert asyncio.run(ask()) == [2] * 5
    assert scored == [("d", 4), ("f", 4), ("d", 2)]


HEADER = npy(np.zeros((2, 20)))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not what numpy.save writes"),
        (b"PK\x03\x04" + bytes(60), "not what numpy.save writes"),
        (b"\x93NUMPY\x01\x00\x76\x00" + b"(" * 118, "not what numpy.save writes"),
        (b"\x93NUMPY\x03\x00" + HEADER[8:], "version 3; 1 and 2 are known"),
        (HEADER[:40], "not what numpy.save writes"),
        (HEADER[:-1], "claims shape (2, 20) of float64, 320 bytes, but holds 319"),
        (HEADER + b"\0", "but holds 321"),
        (HEADER.replace(b"(2, 20)", b"(9, 20)"), "claims shape (9, 20)"),
        (HEADER.replace(b"(2, 20)", b"(-2,20)"), "claims the shape (-2, 20)"),
        (HEADER.replace(b"(2, 20), }", b"(True,20)}"), "claims the shape (True, 20)"),
        (npy(np.array([["a"]], dtype=object), allow_pickle=True), "could run code"),
        (npy(np.zeros((2, 20), dtype=int)), "holds int64; send float16, float32 or float64"),
        (npy(np.zeros((2, 20), dtype="g")), "send float16, float32 or float64"),
        (npy(np.zeros(20)), "1 dimension(s); send two"),
        (npy(np.zeros((2, 20, 1))), "3 dimension(s); send two"),
        (npy(np.zeros((0, 20))), "0 rows; send 1 to 32"),
        (npy(np.zeros((33, 20))), "33 rows; send 1 to 32"),
        (npy(np.zeros((2, 19))), "Row 0 has 19 numbers, but the model takes 20"),
        (npy(np.full((2, 20), np.nan)), "Row 0, column 0 is NaN or infinite"),
        (npy(np.full((2, 20), np.inf, dtype="f2")), "Row 0, column 0 is NaN or infinite"),
    ],
)
def test_npy_bodies_that_are_refused(client, body, message):
    answer = post_npy(client, body)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


def test_the_refusal_of_a_content_type_names_both_that_are_taken(client):
    answer = client.post("/predict", content=b"x", headers={"content-type": "text/csv"})
    assert answer.status_code == 415
    assert answer.json()["detail"] == "Send application/json or application/x-npy. Got text/csv."
    added = client.post("/classes", content=b"x", headers={"content-type": "application/x-npy"})
    assert added.json()["detail"] == "Send application/json. Got application/x-npy."

"""Extraction: order, reuse, broken pictures, bounded memory, and a process that is killed."""

from __future__ import annotations

import io
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pictures import COLOURS, Colours, picture, write_pictures
from unseen import DataError, image_files
from unseen.features import FeatureStore, extract
from unseen.features.extraction import AHEAD
from unseen.features.pictures import View, open_picture

RED = COLOURS["red"]
PATIENCE = 300
"""Seconds to wait for what must come, however busy the machine is."""


@pytest.fixture
def paths(tmp_path):
    return write_pictures(tmp_path / "photos", each=5)


@pytest.fixture
def store(tmp_path):
    with FeatureStore(tmp_path / "cache") as opened:
        yield opened


def test_rows_are_those_of_a_plain_loop_in_the_order_given(paths):
    shuffled = list(np.random.default_rng(0).permutation(np.array(paths, dtype=object)))
    found = extract(shuffled, Colours(), batch_size=4, workers=3)
    network = Colours()
    one = [network(network.prepare(open_picture(p.read_bytes(), 8))[None])[0] for p in shuffled]
    np.testing.assert_array_equal(found.X, np.stack(one))
    assert found.paths == shuffled
    assert (found.computed, found.reused, found.broken) == (len(paths), 0, [])


def test_what_is_known_is_not_computed_again_wherever_it_lies(paths, store, tmp_path):
    first = extract(paths, Colours(), store)
    moved = tmp_path / "another name.png"
    moved.write_bytes(paths[0].read_bytes())
    network = Colours()
    again = extract([*paths, moved], network, store)
    assert network.seen == 0
    assert (again.computed, again.reused) == (0, len(paths) + 1)
    np.testing.assert_array_equal(again.X[:-1], first.X)
    np.testing.assert_array_equal(again.X[-1], first.X[0])


def test_another_content_or_another_backbone_is_computed(paths, store):
    extract(paths, Colours(), store)
    paths[0].write_bytes(picture(RED, seed=999))
    assert extract(paths, Colours(), store).computed == 1
    other = Colours()
    other.identity = "colours | other weights"
    assert extract(paths, other, store).computed == len(paths)


def test_broken_pictures_are_skipped_named_and_counted(paths, store, tmp_path):
    whole = picture(RED, size=(200, 200), kind="JPEG")
    bad = {
        "empty.jpg": b"",
        "text.png": b"this is no picture",
        "truncated.jpg": whole[: len(whole) // 3],
        "header.gif": b"GIF89a",
    }
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder.jpg").mkdir()
    broken = [tmp_path / name for name in (*bad, "folder.jpg", "absent.jpg")]
    told = []
    found = extract(
        [*broken[:3], *paths, *broken[3:]], Colours(), store, on_progress=lambda p: told.append(vars(p))
    )
    assert found.paths == paths
    assert {b.path for b in found.broken} == set(broken)
    assert all(b.reason for b in found.broken)
    assert {b.path.name: b.reason for b in found.broken}["empty.jpg"] == "the file is empty"
    assert told[-1] == {"total": len(paths) + 6, "done": len(paths) + 6, "reused": 0, "broken": 6}


def test_a_picture_that_would_fill_the_memory_is_skipped(paths, monkeypatch):
    monkeypatch.setattr(image_files, "MOST_PIXELS", 100)
    with pytest.raises(DataError, match="None of 55 pictures could be read"):
        extract(paths, Colours())


def test_features_that_are_not_numbers_are_refused(paths):
    class Bad(Colours):
        def __call__(self, batch):
            return np.full((len(batch), 6), np.nan, np.float32)

    with pytest.raises(DataError, match="colours: gave NaN or infinity"):
        extract(paths, Bad())


def test_decoding_runs_beside_the_network_and_never_far_ahead(paths):
    class Watched(Colours):
        def __init__(self):
            super().__init__()
            self.changed, self.ready, self.most, self.begun = threading.Condition(), 0, 0, 0
            self.threads = set()

        def prepare(self, picture):
            with self.changed:
                self.begun += 1
                self.ready += 1
                self.most = max(self.most, self.ready)
                self.threads.add(threading.current_thread().name)
                self.changed.notify_all()
            return super().prepare(picture)

        def __call__(self, batch):
            with self.changed:  # the threads go on while the network runs, unless nothing is left
                ahead = self.changed.wait_for(self._ahead(len(batch)), PATIENCE)
            assert ahead
            time.sleep(0.02)  # for threads that would run farther ahead than they may
            with self.changed:
                self.ready -= len(batch)
            return super().__call__(batch)

        def _ahead(self, taken):
            return lambda: self.ready > taken or self.begun == len(paths)

    network = Watched()
    extract(paths, network, batch_size=4, workers=2)
    assert threading.current_thread().name not in network.threads
    assert 4 < network.most <= (AHEAD + 1) * 4 + 2


KILLED = """
import signal, sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from pictures import Colours
from unseen.features import FeatureStore, extract

class Slow(Colours):
    def __call__(self, batch):
        time.sleep(0.03)
        return super().__call__(batch)

def tell(progress):
    print(progress.done, flush=True)
    if progress.done >= {last}:
        signal.pause()  # the kill comes before the end, however late it is

paths = sorted(Path({folder!r}).glob("*/*.png"))
with FeatureStore({cache!r}) as store:
    extract(paths, Slow(), store, batch_size=4, on_progress=tell)
"""


@pytest.mark.parametrize("after", [1, 9, 30])
def test_killed_at_any_moment_it_computes_nothing_twice(paths, tmp_path, after):
    code = KILLED.format(
        tests=str(Path(__file__).parents[1]),
        folder=str(tmp_path / "photos"),
        cache=str(tmp_path / "cache"),
        last=after + 16,
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-c", code]
    child = subprocess.Popen(run, stdout=subprocess.PIPE, text=True, env=environment)
    for line in child.stdout:
        if int(line) >= after:
            break
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert child.returncode == -signal.SIGKILL
    with FeatureStore(tmp_path / "cache") as store:
        finished = len(store)
    assert after <= finished < len(paths)
    network = Colours()
    with FeatureStore(tmp_path / "cache") as store:
        again = extract(paths, network, store, batch_size=4)
    assert (again.computed, again.reused) == (len(paths) - finished, finished)
    assert network.seen == len(paths) - finished
    np.testing.assert_array_equal(again.X, extract(paths, Colours()).X)


def test_a_damaged_or_forbidden_store_says_what_to_do(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "features.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(DataError, match=r"features\.sqlite: features cannot be stored.*UNSEEN_CACHE"):
        FeatureStore(folder)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be stored there"):
        FeatureStore(tmp_path / "file")


def test_a_vector_of_another_length_is_not_used(paths, store):
    extract(paths[:1], Colours(), store)
    with sqlite3.connect(store.path) as database:
        database.execute("update features set vector = x'00'")
    database.close()
    assert extract(paths[:1], Colours(), store).computed == 1


def test_the_default_store_is_in_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "mine"))
    with FeatureStore() as opened:
        assert opened.path == tmp_path / "mine" / "features" / "features.sqlite"


def test_a_photograph_is_upright_and_transparency_is_white():
    from PIL import Image

    turned = Image.new("RGB", (40, 20), "red")
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright
    data = io.BytesIO()
    turned.save(data, "JPEG", exif=exif)
    assert open_picture(data.getvalue(), 8).size == (20, 40)
    data = io.BytesIO()
    Image.new("RGBA", (4, 4), (255, 0, 0, 0)).save(data, "PNG")
    assert open_picture(data.getvalue(), 8).getpixel((0, 0)) == (255, 255, 255)


def test_the_view_is_the_middle_square():
    from PIL import Image

    pixels = np.zeros((64, 128, 3), np.uint8)
    pixels[8:56, 40:88] = 255  # the middle 48 × 48 of the middle 64 × 64
    seen = View(side=12, crop=0.75, resample="nearest")(Image.fromarray(pixels))
    assert seen.shape == (12, 12, 3)
    assert (seen == 255).all()
    assert (View(side=64, crop=1.0)(Image.fromarray(pixels))[0] == 0).all()

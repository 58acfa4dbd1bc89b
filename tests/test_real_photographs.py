"""The whole way on real photographs: skipped, with the folder's name, where they are absent."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unseen import cli
from unseen.features import FeatureStore, backbone, extract

PHOTOS = (
    Path(os.environ.get("UNSEEN_DATA", Path(__file__).parents[2] / "shared" / "data")) / "animal-photos"
)
pytestmark = pytest.mark.skipif(not PHOTOS.exists(), reason=f"needs {PHOTOS}")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("features")


def label(cache, folder, *options):
    """Run ``unseen label`` as a trial on the unseen classes of ``unseen.txt``."""
    given = ["--seen", PHOTOS / "images", "--hold-out", PHOTOS / "unseen.txt", "--cache", cache]
    arguments = ["label", *given, "--out", folder / "labels.csv", "--force", "--json", *options]
    result = CliRunner().invoke(cli.app, [str(a) for a in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def test_a_photograph_keeps_its_features(cache):
    """A few photographs through the real network, and once more from the store."""
    pytest.importorskip("torch", reason="the default backbone needs torch")
    pytest.importorskip("efficientnet_lite_pytorch", reason="the default backbone is not installed")
    paths = sorted((PHOTOS / "images" / "seal").glob("*.jpg"))[:4]
    network = backbone()
    with FeatureStore(cache) as store:
        first = extract(paths, network, store)
        again = extract(paths, network, store)
    assert first.X.shape == (4, 1280)
    assert again.computed == 0
    assert (first.X == again.X).all()


@pytest.mark.slow
def test_the_flagship_is_above_aste_and_above_55_percent(cache, tmp_path):
    attributes = ("--classes", PHOTOS / "attributes.csv")
    flagship = label(cache, tmp_path, *attributes)
    aste = label(cache, tmp_path, *attributes, "--method", "ASTE")
    assert aste["features"]["computed"] == 0
    assert len(flagship["labels"]) == 180
    assert len(flagship["seen_classes"]) == 22
    assert flagship["accuracy_per_class"] >= 0.55
    assert flagship["accuracy_per_class"] > aste["accuracy_per_class"]


@pytest.mark.slow
def test_class_names_alone_are_enough_to_run(cache, tmp_path):
    told = label(cache, tmp_path, "--words", "minilm")
    assert told["semantics"]["columns"] == 384
    assert told["accuracy_per_class"] > 1 / 6  # chance; the guide reports the figure

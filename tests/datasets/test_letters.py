"""The embedded data set: what it holds, what it must not hold, and its cache."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from unseen.datasets import ZeroShotDataset, letter_prints, letters
from unseen.datasets.letter_prints import DIGIT_TWINS, DIGITS, LETTERS, RECIPE
from unseen.datasets.letters import load_letters_to_digits, orientation_features
from unseen.exceptions import DataError


@pytest.fixture(scope="module")
def printed() -> dict[str, np.ndarray]:
    return letter_prints.print_characters(RECIPE)


@pytest.fixture
def quick_print(printed, monkeypatch) -> list[int]:
    """Stand in for the printing, which takes seconds; count the calls."""
    calls: list[int] = []

    def stand_in(recipe):
        calls.append(1)
        return printed

    monkeypatch.setattr(letters, "print_characters", stand_in)
    return calls


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def data(quick_print) -> ZeroShotDataset:
    return load_letters_to_digits(cache=False)


def same(a: ZeroShotDataset, b: ZeroShotDataset) -> bool:
    return np.array_equal(a.X, b.X) and np.array_equal(a.y, b.y) and bool(a.semantics == b.semantics)


def test_printing_is_deterministic_and_leaves_the_global_generator_alone(printed):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    again = letter_prints.print_characters(RECIPE)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    assert all(np.array_equal(printed[part], again[part]) for part in ("letters", "digits"))


def test_prints_are_block_counts_with_ink(printed):
    for prints in printed.values():
        assert prints.dtype == np.uint8
        assert prints.max() == 16
        assert (prints > 0).sum(axis=-1).min() >= 8


def test_printed_digits_carry_as_much_ink_as_handwritten_ones(printed):
    hand = load_digits().data
    assert printed["digits"].mean() == pytest.approx(hand.mean(), rel=0.05)
    assert (printed["digits"] == 0).mean() == pytest.approx((hand == 0).mean(), abs=0.03)


def test_shapes_types_and_range(data):
    assert data.X.shape == (len(LETTERS) * RECIPE.prints + 1797, 128)
    assert data.X.dtype == np.float32
    assert np.isfinite(data.X).all()
    assert data.X.min() >= 0
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1, rtol=1e-5)
    assert data.semantics.vectors.shape == (len(LETTERS) + 10, 128)
    assert "UCI" in data.provenance


def test_split_covers_every_row_once(data):
    rows = np.concatenate([data.train, data.test_seen, data.test_unseen])
    assert np.array_equal(np.sort(rows), np.arange(len(data.X)))
    assert len(data.test_seen) == 0.2 * (len(data.train) + len(data.test_seen))
    assert set(data.y[data.test_seen]) == set(data.seen_classes)


def test_no_digit_and_no_twin_is_seen(data):
    seen = set(data.seen_classes.tolist())
    assert seen == set(LETTERS)
    assert len(seen) == len(LETTERS)
    assert not seen & set(DIGITS)
    assert not seen & set(DIGIT_TWINS)
    assert data.unseen_classes.tolist() == list(DIGITS)


def test_no_letter_kept_is_a_twin_in_any_font():
    still = {k: 0.0 for k in vars(RECIPE) if k.endswith("_sd") or k == "elastic"}
    recipe = replace(RECIPE, **still)
    rng = np.random.default_rng(0)
    glyphs = {
        c: np.stack([letter_prints.draw_line(line, rng, recipe) for line in faces])
        .reshape(-1, 8, 4, 8, 4)
        .sum(axis=(2, 4))
        .reshape(-1, 64)
        for c, faces in letter_prints.pen_lines(LETTERS + DIGITS, recipe.canvas).items()
    }
    centre = np.mean([g.mean(axis=0) for g in glyphs.values()], axis=0)
    unit = {
        c: (g - centre) / np.linalg.norm(g - centre, axis=1, keepdims=True) for c, g in glyphs.items()
    }
    digits = np.stack([unit[d] for d in DIGITS])
    # the fonts are in one order, and a letter lacks only those that hold Latin alone
    latin_only = [font.startswith("cm") for font in letter_prints.FONTS]
    for c in LETTERS:
        fonts = np.arange(len(latin_only))
        if len(unit[c]) < len(fonts):
            fonts = np.flatnonzero(~np.array(latin_only))
        likeness = (digits[:, fonts] * unit[c]).sum(axis=2).max()
        assert likeness < 0.8, f"{c} looks like a digit: {likeness:.2f}"


def test_semantics_come_from_print_only(data, printed, monkeypatch):
    real = load_digits()
    real.images = np.random.default_rng(0).permutation(real.images.ravel()).reshape(-1, 8, 8)
    monkeypatch.setattr(letters, "load_digits", lambda: real)
    scrambled = load_letters_to_digits(cache=False)
    assert scrambled.semantics == data.semantics
    assert np.array_equal(scrambled.X[scrambled.train], data.X[data.train])
    four = orientation_features(printed["digits"][4].reshape(-1, 8, 8)).mean(axis=0)
    np.testing.assert_allclose(data.semantics["4"], four, rtol=1e-5)


def test_nearest_glyph_beats_chance_by_far(data):
    glyphs = data.semantics.restricted_to(DIGITS).vectors
    X, y = data.X[data.test_unseen], data.y[data.test_unseen]
    nearest = np.array(DIGITS)[((X[:, None] - glyphs) ** 2).sum(axis=2).argmin(axis=1)]
    assert np.mean([(nearest[y == d] == d).mean() for d in DIGITS]) >= 0.55


def test_cache_round_trips(folder, quick_print):
    first = load_letters_to_digits()
    second = load_letters_to_digits()
    assert same(first, second)
    assert len(quick_print) == 1
    assert [f.name for f in folder.iterdir()] == ["letters_to_digits.npz"]


@pytest.mark.parametrize("damage", ["text", "truncated", "bit", "array"])
def test_corrupt_cache_is_rebuilt(folder, quick_print, caplog, damage):
    first = load_letters_to_digits()
    path = folder / "letters_to_digits.npz"
    content = path.read_bytes()
    if damage == "text":
        path.write_text("not an archive")
    elif damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "bit":
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes(64) + content[middle + 64 :])
    else:
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    with caplog.at_level(logging.INFO, logger="unseen"):
        again = load_letters_to_digits()
    assert same(first, again)
    assert len(quick_print) == 2
    assert "cannot be read" in caplog.text
    assert same(first, load_letters_to_digits())
    assert len(quick_print) == 2


def test_outdated_cache_is_rebuilt(folder, quick_print, monkeypatch, caplog):
    load_letters_to_digits()
    monkeypatch.setattr("matplotlib.__version__", "0.0")
    with caplog.at_level(logging.INFO, logger="unseen"):
        load_letters_to_digits()
    assert len(quick_print) == 2
    assert "another recipe" in caplog.text


def test_unwritable_cache_is_passed_over(tmp_path, quick_print, monkeypatch, caplog):
    blocked = tmp_path / "a file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("UNSEEN_CACHE", str(blocked))
    with caplog.at_level(logging.INFO, logger="unseen"):
        data = load_letters_to_digits()
    assert len(data.test_unseen) == 1797
    assert "cannot be written" in caplog.text


def test_failed_write_leaves_no_file_behind(folder, quick_print, monkeypatch):
    def full(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    assert len(load_letters_to_digits().test_unseen) == 1797
    assert list(folder.iterdir()) == []


def test_missing_font_is_named(monkeypatch):
    monkeypatch.setattr(letter_prints, "FONTS", ("NoSuchFace",))
    with pytest.raises(DataError, match=r"NoSuchFace is not in .* Reinstall matplotlib"):
        letter_prints.pen_lines(("A",), 56)


def test_features_refuse_flat_rows():
    with pytest.raises(ValueError, match=r"shape \(n, 8, 8\).*reshape"):
        orientation_features(np.zeros((2, 64)))


def test_features_of_a_blank_image_are_zero():
    assert not orientation_features(np.zeros((1, 8, 8))).any()

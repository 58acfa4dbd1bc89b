"""The embedded data set: what it holds, what it must not hold, and its file as the script prints it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sklearn.datasets
from sklearn.datasets import load_digits

import unseen.datasets
from unseen.datasets import ZeroShotDataset
from unseen.datasets.letters import PRINTS, load_letters_to_digits, orientation_features
from unseen.exceptions import DataError

print_letters = pytest.importorskip("print_letters", reason="needs matplotlib")
DIGIT_TWINS, DIGITS = print_letters.DIGIT_TWINS, print_letters.DIGITS
LETTERS, RECIPE = print_letters.LETTERS, print_letters.RECIPE


@pytest.fixture(scope="module")
def fonts() -> tuple[str, ...]:
    """The fonts of the script. Users need none of them: the package has a file of printed letters."""
    if missing := print_letters.missing_fonts():
        pytest.skip(f"this matplotlib has no font {', '.join(missing)} (3.11 is the first with all)")
    return tuple(print_letters.FONTS)


@pytest.fixture(scope="module")
def printed(fonts: tuple[str, ...]) -> dict[str, np.ndarray]:
    return print_letters.print_characters(RECIPE)


@pytest.fixture(scope="module")
def stored() -> dict[str, np.ndarray]:
    with np.load(PRINTS, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    return load_letters_to_digits()


def test_the_file_is_what_the_script_prints(printed, stored):
    if str(stored["made_by"]) != print_letters.made_by():
        pytest.skip(f"printed by another matplotlib or recipe: {stored['made_by']}")
    for part in ("letters", "digits"):
        assert printed[part].dtype == stored[part].dtype
        assert np.array_equal(printed[part], stored[part])


def test_the_file_has_the_recipe_of_the_script(stored):
    assert stored["letter_names"].tolist() == list(LETTERS)
    assert stored["digit_names"].tolist() == list(DIGITS)
    assert stored["letters"].shape == (len(LETTERS), RECIPE.prints, 64)
    assert stored["digits"].shape == (len(DIGITS), RECIPE.train_prints, 64)
    assert f"recipe {RECIPE.version}, seed {RECIPE.seed}" in str(stored["made_by"])


def test_the_file_is_small():
    assert PRINTS.stat().st_size < 2**20
    assert PRINTS.is_relative_to(unseen.datasets.__path__[0])


def test_the_script_writes_the_same_bytes_twice(printed, tmp_path, monkeypatch):
    monkeypatch.setattr(print_letters, "print_characters", lambda recipe: printed)
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for file in files:
        monkeypatch.setattr(print_letters, "PRINTS", file)
        print_letters.main()
    assert files[0].read_bytes() == files[1].read_bytes()


def test_printing_is_deterministic_and_leaves_the_global_generator_alone(printed):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    again = print_letters.print_characters(RECIPE)
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


def test_no_letter_kept_is_a_twin_in_any_font(fonts):
    still = {k: 0.0 for k in vars(RECIPE) if k.endswith("_sd") or k == "elastic"}
    recipe = replace(RECIPE, **still)
    rng = np.random.default_rng(0)
    glyphs = {
        c: np.stack([print_letters.draw_line(line, rng, recipe) for line in faces])
        .reshape(-1, 8, 4, 8, 4)
        .sum(axis=(2, 4))
        .reshape(-1, 64)
        for c, faces in print_letters.pen_lines(LETTERS + DIGITS, recipe.canvas).items()
    }
    centre = np.mean([g.mean(axis=0) for g in glyphs.values()], axis=0)
    unit = {
        c: (g - centre) / np.linalg.norm(g - centre, axis=1, keepdims=True) for c, g in glyphs.items()
    }
    digits = np.stack([unit[d] for d in DIGITS])
    # the fonts are in one order, and a letter lacks only those that hold Latin alone
    latin_only = [font.startswith("cm") for font in fonts]
    for c in LETTERS:
        columns = np.arange(len(latin_only))
        if len(unit[c]) < len(columns):
            columns = np.flatnonzero(~np.array(latin_only))
        likeness = (digits[:, columns] * unit[c]).sum(axis=2).max()
        assert likeness < 0.8, f"{c} looks like a digit: {likeness:.2f}"


def test_semantics_come_from_print_only(data, printed, monkeypatch):
    real = load_digits()
    real.images = np.random.default_rng(0).permutation(real.images.ravel()).reshape(-1, 8, 8)
    monkeypatch.setattr(sklearn.datasets, "load_digits", lambda: real)
    scrambled = load_letters_to_digits()
    assert scrambled.semantics == data.semantics
    assert np.array_equal(scrambled.X[scrambled.train], data.X[data.train])
    four = orientation_features(printed["digits"][4].reshape(-1, 8, 8)).mean(axis=0)
    np.testing.assert_allclose(data.semantics["4"], four, rtol=1e-5)


def test_nearest_glyph_beats_chance_by_far(data):
    glyphs = data.semantics.restricted_to(DIGITS).vectors
    X, y = data.X[data.test_unseen], data.y[data.test_unseen]
    nearest = np.array(DIGITS)[((X[:, None] - glyphs) ** 2).sum(axis=2).argmin(axis=1)]
    assert np.mean([(nearest[y == d] == d).mean() for d in DIGITS]) >= 0.55


def test_missing_font_is_named(monkeypatch):
    monkeypatch.setattr(print_letters, "FONTS", ("NoSuchFace",))
    with pytest.raises(DataError, match=r"has no font NoSuchFace\. .* matplotlib 3\.11"):
        print_letters.pen_lines(("A",), 56)


def test_features_refuse_flat_rows():
    with pytest.raises(ValueError, match=r"shape \(n, 8, 8\).*reshape"):
        orientation_features(np.zeros((2, 64)))


def test_features_of_a_blank_image_are_zero():
    assert not orientation_features(np.zeros((1, 8, 8))).any()

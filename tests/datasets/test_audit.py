"""The auditor: silent on sound data, and each planted fault caught."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from unseen.datasets import audit, convert, simulate
from unseen.datasets.arrays import read_mat
from unseen.datasets.audit_checks import benchmark_split
from unseen.datasets.benchmark_facts import AWA, benchmark_of, digest, split_name, standard_unseen
from unseen.semantics import ClassTable


def split_codes(data, severity):
    return {f.code for f in benchmark_split(data, None) if f.severity == severity}


def thinned(data, step=4):
    """Return every ``step``-th row: enough for the auditor, and quicker."""
    parts = {p: getattr(data, p) for p in ("train", "test_seen", "test_unseen")}
    return replace(
        data,
        X=data.X[::step],
        y=data.y[::step],
        images=data.images and data.images[::step],
        **{p: rows[rows % step == 0] // step for p, rows in parts.items()},
    )


def codes(data, severity=None):
    return {f.code for f in audit(data).findings if severity in (None, f.severity)}


def with_vectors(data, vectors):
    return replace(data, semantics=ClassTable(data.semantics.classes, vectors))


def test_sound_data_has_no_error_and_no_warning(made):
    report = audit(made)
    assert {f.severity for f in report.findings} == {"info"}
    assert report.errors == ()
    assert report.shape == made.X.shape
    assert report.rows["train"] == len(made.train)
    assert sum(map(sum, report.counts.values())) == len(made.X)
    assert report.classes == {"table": 50, "seen": 40, "unseen": 10}
    assert "simulated AwA" in str(report)
    json.dumps(report.to_dict())


@pytest.mark.parametrize("like", ["AwA", "CUB", "aPY", "SUN"])
@pytest.mark.parametrize("seed", range(2))
def test_no_false_alarm_on_simulated_data(like, seed):
    data = simulate(like, scale=0.1, n_features=64, domain_shift=1, random_state=seed)
    assert audit(data).errors == ()


@pytest.mark.parametrize("name", ["xlsa17/CUB", "xlsa17/AWA1"])
def test_no_error_on_the_benchmarks(shared, name):
    report = audit(shared(name))
    assert report.errors == ()
    assert "split-ps" in {f.code for f in report.findings}


def test_every_finding_says_what_it_does_and_what_to_do(made):
    X = made.X.copy()
    X[3] = np.nan
    for finding in audit(replace(made, X=X, train=np.append(made.train, made.test_unseen))).findings:
        assert finding.severity in ("error", "warning", "info")
        for text in (finding.message, finding.effect, finding.remedy):
            assert text[0].isupper() or text[0].isdigit() or text[0] in "tq"
            assert text.endswith(".")


# One planted fault a test.


@pytest.mark.parametrize(
    "parts", [("train", "test_seen"), ("train", "test_unseen"), ("test_seen", "test_unseen")]
)
def test_overlap_of_index_sets(made, parts):
    first, second = parts
    rows = np.append(getattr(made, first), getattr(made, second)[:1])
    assert "row-overlap" in codes(replace(made, **{first: rows}), "error")


def test_a_row_named_twice(made):
    assert "row-repeated" in codes(replace(made, train=np.append(made.train, made.train[0])))


def test_overlap_of_classes(made):
    moved, rest = made.test_unseen[:1], made.test_unseen[1:]
    data = replace(made, train=np.append(made.train, moved), test_unseen=rest)
    assert "class-overlap" in codes(data, "error")


def test_row_indices_off_by_one_mix_the_classes(shared, real):
    cub = thinned(real(shared("xlsa17/CUB")))
    rows = (cub.test_unseen + 1).clip(max=len(cub.X) - 1)
    assert {"class-overlap", "row-overlap"} & codes(replace(cub, test_unseen=rows), "error")


def test_a_test_class_that_nobody_trained_on(made):
    gone = made.seen_classes[0]
    data = replace(made, train=made.train[made.y[made.train] != gone])
    assert "test-seen-not-trained" in codes(data, "error")


def test_an_empty_part(made):
    assert "empty-part" in codes(replace(made, test_unseen=made.test_unseen[:0]), "error")


def test_which_split_of_a_benchmark_it_is(shared, real):
    folder = shared("xlsa17/AWA1")
    proposed, standard = real(folder), real(folder, split="SS")
    assert "split-ps" in split_codes(proposed, "info")
    assert "split-ss" in split_codes(standard, "info")
    fewer = replace(proposed, train=proposed.train[:-5])
    assert "split-ps-rows" in split_codes(fewer, "warning")
    is_horse = proposed.y == "horse"
    other = replace(
        proposed,
        train=np.append(proposed.train, np.flatnonzero(is_horse)),
        test_unseen=proposed.test_unseen[~is_horse[proposed.test_unseen]],
    )
    assert "split-other" in split_codes(other, "warning")


def test_the_known_splits_are_told_apart_by_name():
    spelt = ["Chimpanzee", "giant panda", "leopard", "persian-cat", "pig", "hippopotamus"]
    spelt += ["humpback whale", "raccoon", "rat", "seal"]
    assert split_name(AWA, spelt) == "SS"
    assert split_name(AWA, spelt[:-1]) == "other"
    assert benchmark_of(["fox", "bat"]) is None
    assert digest(["b", "A a"]) == digest(["a+a", "B"])


@pytest.mark.parametrize("name", ["AWA1", "AWA2", "APY", "CUB", "SUN"])
def test_the_facts_are_those_of_the_published_files(shared, name):
    folder = shared(f"xlsa17/{name}")
    held = read_mat(folder / "att_splits.mat")
    benchmark = benchmark_of(held["allclasses_names"])
    assert split_name(benchmark, (folder / "testclasses.txt").read_text().split()) == "PS"
    sizes = tuple(held[n].size for n in ("trainval_loc", "test_seen_loc", "test_unseen_loc"))
    assert benchmark.ps_rows[sum(sizes)] == sizes


def test_the_standard_split_of_cub_is_the_order_of_its_classes(shared):
    names = list(read_mat(shared("xlsa17/CUB") / "att_splits.mat")["allclasses_names"])
    assert names[:150] == sorted(names[:150])
    assert names[150:] == sorted(names[150:])
    assert standard_unseen(names) == names[150:]


def test_unseen_classes_that_imagenet_knows(shared, real):
    folder = shared("xlsa17/AWA1")
    assert "imagenet-classes" not in split_codes(real(folder), "warning")
    (finding,) = (
        f for f in benchmark_split(real(folder, split="SS"), None) if f.code == "imagenet-classes"
    )
    assert finding.severity == "warning"
    assert finding.message.startswith("6 of 10 unseen classes")


def shifted(data, step):
    """Return the data with every label read one class too far."""
    place = data.semantics.positions(data.y)
    classes = data.semantics.classes
    y = classes[(place + step) % len(classes)]
    return replace(data, y=y)


@pytest.mark.parametrize("step", [-1, 1])
def test_labels_off_by_one_by_their_folders(made, step):
    pictures = replace(made, images=[f"{c}/{i}.jpg" for i, c in enumerate(made.y)])
    assert "labels-folders" not in codes(pictures)
    assert "labels-off-by-one" in codes(shifted(pictures, step), "error")


@pytest.mark.parametrize("step", [-1, 1])
def test_labels_off_by_one_by_their_features(made, step):
    assert "labels-off-by-one" in codes(shifted(made, step), "error")


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize("name", ["xlsa17/CUB", "xlsa17/AWA1"])
def test_labels_off_by_one_on_the_benchmarks(shared, real, name, step):
    data = replace(thinned(real(shared(name))), images=None)
    assert "labels-off-by-one" in codes(shifted(data, step), "error")


def test_a_few_wrong_labels_by_their_folders(made):
    images = [f"{c}/{i}.jpg" for i, c in enumerate(made.y)]
    images[5] = f"{made.y[made.y != made.y[5]][0]}/5.jpg"
    assert "labels-folders" in codes(replace(made, images=images), "error")


def test_semantics_in_another_order(made):
    order = np.random.default_rng(0).permutation(50)
    assert "semantics-order" in codes(with_vectors(made, made.semantics.vectors[order]), "error")


def test_cub_by_class_id(shared, real):
    """The mistake that drops ESZSL from 59% to 3%: vectors of allclasses_names, taken by id."""
    cub = thinned(real(shared("xlsa17/CUB")))
    by_id = ClassTable(np.sort(cub.semantics.classes), cub.semantics.vectors)
    assert "semantics-order" in codes(replace(cub, semantics=by_id, images=None), "error")


def test_cub_labels_by_class_id(shared, real):
    cub = thinned(real(shared("xlsa17/CUB")))
    place = cub.semantics.positions(cub.y)
    y = np.sort(cub.semantics.classes)[place]
    assert "labels-folders" in codes(replace(cub, y=y), "error")


def test_too_few_classes_for_the_test_of_order_is_said(small):
    assert "semantics-order-untested" in codes(small, "info")


def test_constant_columns(made):
    vectors = made.semantics.vectors.copy()
    vectors[:, 3] = 0.5
    assert "constant-columns" in codes(with_vectors(made, vectors), "warning")


def test_near_duplicate_columns(made):
    vectors = made.semantics.vectors.copy()
    vectors[:, 4] = 2 * vectors[:, 3] + 1e-7 * vectors[:, 5]
    assert "duplicate-columns" in codes(with_vectors(made, vectors), "warning")


def test_classes_with_identical_vectors(made):
    vectors = made.semantics.vectors.copy()
    unseen, seen = (
        made.semantics.positions(c[:1])[0] for c in (made.unseen_classes, made.seen_classes)
    )
    vectors[unseen] = vectors[seen]
    assert "identical-classes" in codes(with_vectors(made, vectors), "error")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(made, value):
    X = made.X.copy()
    X[7, 2] = value
    report = audit(replace(made, X=X))
    found = next(f for f in report.errors if f.code == "not-finite")
    assert "1 rows of X hold NaN or infinity: 7." in found.message


def test_zero_rows(made):
    X = made.X.copy()
    X[7] = 0
    assert "zero-rows" in codes(replace(made, X=X), "warning")


def test_zero_class_vectors_and_marks_for_missing_values(made):
    vectors = made.semantics.vectors.copy()
    vectors[0] = 0
    assert "zero-vectors" in codes(with_vectors(made, vectors), "warning")
    vectors[0, :3] = -1
    assert "missing-mark" in codes(with_vectors(made, vectors), "warning")


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("part", ["test_seen", "test_unseen"])
@pytest.mark.parametrize(
    "scale",
    [
        unit,
        lambda rows: rows * 5,
        lambda rows: rows / 255,
        lambda rows: (rows - rows.mean(axis=0)) / rows.std(axis=0),
        lambda rows: rows + 3 * rows.std(),
    ],
    ids=["unit length", "five-fold", "pixels", "standardised", "moved"],
)
def test_train_and_test_normalised_differently(made, part, scale):
    X = made.X.copy()
    X[made.train] = 10 * X[made.train] if scale is unit else X[made.train]
    X[getattr(made, part)] = scale(X[getattr(made, part)])
    assert "normalised-differently" in codes(replace(made, X=X), "error")


def test_unit_length_on_one_side_only(made):
    X = made.X / np.median(np.linalg.norm(made.X, axis=1))
    X[made.train] = unit(X[made.train])
    assert "normalised-differently" in codes(replace(made, X=X), "error")


def test_the_same_scaling_throughout_is_sound(made):
    assert "normalised-differently" not in codes(replace(made, X=unit(made.X)))


def test_a_path_and_a_lazy_array(made, tmp_path):
    convert(made, tmp_path / "m.npz", "npz")
    assert audit(tmp_path / "m.npz").findings == audit(made).findings

"""Each metric against a naive loop, and its errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unseen import ESZSL, metrics
from unseen.datasets import load_letters_to_digits

SEEN = ("a", "b", "c")
CLASSES = np.array(["a", "b", "c", "x", "y"])


@st.composite
def problems(draw):
    """True labels, with seen and unseen among them, and scores that often tie."""
    rows = draw(st.integers(2, 25))
    true = ["a", "x", *draw(st.lists(st.sampled_from(CLASSES.tolist()), min_size=rows, max_size=rows))]
    values = st.integers(0, 4)
    scores = draw(st.lists(st.tuples(*[values] * 5), min_size=len(true), max_size=len(true)))
    return np.array(true), np.array(scores, dtype=float)


def naive_per_class(true, pred):
    accuracies = []
    for c in sorted(set(true)):
        own = [p == c for t, p in zip(true, pred, strict=True) if t == c]
        accuracies.append(sum(own) / len(own))
    return sum(accuracies) / len(accuracies)


@given(problems())
def test_accuracies_agree_with_loops(problem):
    true, scores = problem
    pred = CLASSES[scores.argmax(axis=1)]
    assert metrics.per_class_accuracy(true, pred) == pytest.approx(naive_per_class(true, pred))
    assert metrics.per_image_accuracy(true, pred) == pytest.approx(np.mean(true == pred))
    by_class = metrics.accuracy_by_class(true, pred)
    assert list(by_class) == sorted(set(true))
    assert np.mean(list(by_class.values())) == pytest.approx(naive_per_class(true, pred))


@given(problems())
def test_harmonic_mean_agrees_with_its_parts(problem):
    true, scores = problem
    pred = CLASSES[scores.argmax(axis=1)]
    seen = np.isin(true, SEEN)
    s, u = naive_per_class(true[seen], pred[seen]), naive_per_class(true[~seen], pred[~seen])
    found = metrics.seen_unseen_harmonic(true, pred, SEEN)
    assert found == pytest.approx((s, u, 2 * s * u / (s + u) if s + u else 0))


@given(problems(), st.integers(1, 5))
def test_top_k_agrees_with_a_loop(problem, k):
    true, scores = problem
    hits = [
        sum(v > row[CLASSES.tolist().index(t)] for v in row) < k
        for t, row in zip(true, scores, strict=True)
    ]
    expected = naive_per_class(true, [t if h else "none" for t, h in zip(true, hits, strict=True)])
    assert metrics.top_k_accuracy(true, scores, CLASSES, k=k) == pytest.approx(expected)


def naive_ausuc(true, scores):
    """Sweep γ through every interval between thresholds, and join the points by straight lines."""
    seen = np.isin(true, SEEN)
    switch = scores[:, :3].max(axis=1) - scores[:, 3:].max(axis=1)
    points = np.unique(switch)
    gammas = [points[0] - 1, *(points[1:] + points[:-1]) / 2, points[-1] + 1]
    curve = []
    for gamma in gammas:
        pred = CLASSES[(scores - gamma * np.isin(CLASSES, SEEN)).argmax(axis=1)]
        curve.append(
            (naive_per_class(true[~seen], pred[~seen]), naive_per_class(true[seen], pred[seen]))
        )
    return sum((u1 - u0) * (s0 + s1) / 2 for (u0, s0), (u1, s1) in itertools.pairwise(curve))


@settings(max_examples=200)
@given(problems())
def test_ausuc_agrees_with_a_sweep(problem):
    true, scores = problem
    assert metrics.ausuc(true, scores, CLASSES, SEEN) == pytest.approx(naive_ausuc(true, scores))


@given(problems(), st.floats(-3, 3))
def test_ausuc_does_not_depend_on_a_bias_of_seen_classes(problem, bias):
    true, scores = problem
    moved = scores + 0.25 * round(4 * bias) * np.isin(CLASSES, SEEN)
    base = metrics.ausuc(true, scores, CLASSES, SEEN)
    assert metrics.ausuc(true, moved, CLASSES, SEEN) == pytest.approx(base)


@given(problems(), st.permutations(range(5)))
def test_the_order_of_rows_and_columns_does_not_matter(problem, order):
    true, scores = problem
    rng = np.random.default_rng(0)
    scores = scores + rng.uniform(0, 0.1, scores.shape)  # no ties
    rows = rng.permutation(len(true))
    for metric in (
        lambda t, s, c: metrics.ausuc(t, s, c, SEEN),
        lambda t, s, c: metrics.top_k_accuracy(t, s, c, k=2),
    ):
        shuffled = metric(true[rows], scores[rows][:, order], CLASSES[list(order)])
        assert shuffled == pytest.approx(metric(true, scores, CLASSES))


@given(problems())
def test_confusion_agrees_with_a_loop(problem):
    true, scores = problem
    pred = CLASSES[scores.argmax(axis=1)]
    table = metrics.confusion(true, pred, CLASSES)
    for i, t in enumerate(CLASSES):
        for j, p in enumerate(CLASSES):
            assert table.counts[i, j] == np.sum((true == t) & (pred == p))
    assert set(metrics.confusion(true, pred).classes) == set(true) | set(pred)


def test_score_of_an_estimator_is_the_same_number():
    data = load_letters_to_digits()
    model = ESZSL(data.semantics, gamma=1.0, lam=1.0).fit(data.X[data.train], data.y[data.train])
    X, y = data.X[data.test_unseen], data.y[data.test_unseen]
    predicted = model.predict(X)
    assert metrics.per_class_accuracy(y, predicted) == pytest.approx(model.score(X, y))
    top_1 = metrics.top_k_accuracy(y, model.decision_function(X), model.classes_, k=1)
    assert top_1 == pytest.approx(model.score(X, y))


@pytest.mark.parametrize(
    ("true", "pred"),
    [
        (np.array(["a", None, "b"], dtype=object), ["a", "b", "a"]),
        (np.array([0, -1, 1]), np.array([0, 1, 0])),
        (np.array([0.0, np.nan, 1.0]), np.array([0, 1, 0])),
    ],
)
def test_rows_without_a_label_are_left_out(true, pred):
    assert metrics.per_class_accuracy(true, pred) == 0.5
    assert metrics.confusion(true, pred).counts.sum() == 2


@pytest.mark.parametrize(("true", "pred"), [(["a", "b"], ["a", "a"]), ([0, 1], [0, 0])])
def test_predictions_may_come_as_objects(true, pred):
    assert metrics.per_class_accuracy(true, np.array(pred, dtype=object)) == 0.5


def test_two_candidates_may_come_as_one_column():
    assert metrics.top_k_accuracy(["a", "b"], [-1.0, 2.0], ["a", "b"], k=1) == 1.0


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match="strings but y_pred holds numbers: they cannot"):
        metrics.per_class_accuracy(["1", "2"], [1, 2])
    with pytest.raises(ValueError, match="a prediction for every row"):
        metrics.per_class_accuracy(["a", "b"], np.array(["a", None], dtype=object))
    with pytest.raises(ValueError, match="nothing to measure"):
        metrics.per_class_accuracy([-1, -1], [1, 2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        metrics.per_class_accuracy(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="no unseen class"):
        metrics.seen_unseen_harmonic(["a", "b"], ["a", "b"], ["a", "b"])
    with pytest.raises(ValueError, match="no seen class"):
        metrics.seen_unseen_harmonic(["a", "b"], ["a", "b"], ["z"])
    with pytest.raises(ValueError, match="leave out b"):
        metrics.confusion(["a", "b"], ["a", "b"], ["a"])


def test_bad_scores_are_refused():
    with pytest.raises(ValueError, match="one column for each of the 2 classes"):
        metrics.top_k_accuracy(["a"], [[1.0, 2.0, 3.0]], ["a", "b"])
    with pytest.raises(ValueError, match="row 0, class b"):
        metrics.top_k_accuracy(["a"], [[1.0, np.nan]], ["a", "b"])
    with pytest.raises(ValueError, match="no column for the class 'z'"):
        metrics.top_k_accuracy(["z"], [[1.0, 2.0]], ["a", "b"])
    with pytest.raises(ValueError, match="'k' of top_k_accuracy"):
        metrics.top_k_accuracy(["a"], [[1.0, 2.0]], ["a", "b"], k=0)
    with pytest.raises(ValueError, match="y_true holds no unseen class"):
        metrics.ausuc(["a", "b"], [[1.0, 2.0]] * 2, ["a", "b"], ["a", "b"])


@given(problems(), st.integers(1, 12))
def test_calibration_agrees_with_loops(problem, bins):
    true, scores = problem
    P = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = metrics.reliability(true, P, CLASSES, bins)
    pred, confidence = CLASSES[P.argmax(axis=1)], P.max(axis=1)
    error = 0.0
    for b in range(bins):
        own = [i for i, c in enumerate(confidence) if min(int(c * bins), bins - 1) == b]
        if own:
            gap = np.mean(confidence[own]) - np.mean(pred[own] == true[own])
            error += len(own) / len(true) * abs(gap)
    assert found.error == pytest.approx(error)
    assert metrics.expected_calibration_error(true, P, CLASSES, bins) == found.error
    one_hot = (CLASSES[None, :] == true[:, None]).astype(float)
    assert metrics.brier_score(true, P, CLASSES) == pytest.approx(
        ((P - one_hot) ** 2).sum(axis=1).mean()
    )
    assert metrics.set_coverage(true, P >= 0.2, CLASSES) == pytest.approx(
        (P >= 0.2)[one_hot > 0].mean()
    )


def test_rows_of_other_classes_count_as_wrong():
    P = [[0.9, 0.1], [0.8, 0.2]]
    assert metrics.expected_calibration_error(["z", "a"], P, ["a", "b"], 1) == pytest.approx(0.35)
    assert metrics.brier_score(["z"], [[1.0, 0.0]], ["a", "b"]) == pytest.approx(2.0)
    assert metrics.set_coverage(["z"], [[True, True]], ["a", "b"]) == 0.0


def test_unsure_is_a_probability_of_error():
    P = np.array([[0.9, 0.1], [0.89, 0.11], [0.5, 0.5]])
    assert metrics.unsure(P).tolist() == [False, True, True]
    assert metrics.unsure(P.max(axis=1), 0.5).tolist() == [False, False, False]
    with pytest.raises(ValueError, match=r"The 'error' of unsure must be a number in \[0, 1\]. Got 2"):
        metrics.unsure(P, 2)


def test_one_score_among_probabilities_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        metrics.brier_score(["a", "b"], [[0.5, 0.5], [3.0, 0.0]], ["a", "b"])


def test_messages_of_probabilities():
    with pytest.raises(ValueError, match=r"one column for each of the 2 classes. Got shape"):
        metrics.brier_score(["a"], [[1.0]], ["a", "b"])
    with pytest.raises(ValueError, match=r"between 0 and 1. Give what predict_proba returns"):
        metrics.brier_score(["a"], [[3.0, -1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="y_true holds no label"):
        metrics.brier_score([-1], [[0.5, 0.5]], [1, 2])
    with pytest.raises(ValueError, match=r"'bins' of reliability must be an integer >= 1. Got 0"):
        metrics.reliability(["a"], [[0.5, 0.5]], ["a", "b"], bins=0)

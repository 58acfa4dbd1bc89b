"""Probabilities with a column for "none of these", and what an observer of the rounds sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from toys import make_toy
from unseen import DataError
from unseen.labelling import PoolData, Task, check_strangers, fit
from unseen.labelling.pool_probabilities import joint_probabilities, prediction_sets
from unseen.semantics import ClassTable


@pytest.fixture(scope="module")
def data():
    """Six classes to find, and rows of seen classes among their rows."""
    toy = make_toy(seed=3, seen=18, unseen=6)
    held = toy.train[::7][: len(toy.unseen) // 4]
    train = np.setdiff1d(toy.train, held)
    pool = np.concatenate([toy.unseen, held])
    names = sorted({str(c) for c in toy.y[toy.unseen]})
    return PoolData(
        "toy",
        "numbers",
        toy.X[train],
        toy.y[train],
        toy.X[pool],
        [],
        Path("toy"),
        ClassTable.of(toy.semantics),
        names,
        [str(c) for c in toy.y[pool]],
        texts=[],
        text_rows=list(range(len(pool))),
    )


def test_joint_probabilities_add_up_and_answer_as_called():
    P = np.array([[0.9, 0.1], [0.6, 0.4], [0.5, 0.5]])
    strangers, called = np.array([0.2, 0.9, 0.3]), np.array([False, False, True])
    joint = joint_probabilities(P, strangers, called)
    np.testing.assert_allclose(joint.sum(axis=1), 1)
    assert joint.argmax(axis=1).tolist() == [0, 0, 2]
    np.testing.assert_allclose(joint[0], [0.72, 0.08, 0.2])


@pytest.mark.parametrize("method", ["SelfPacedPrototypes", "ESZSL"])
def test_the_last_column_is_the_label_of_strangers(data, method):
    fitted = fit(Task(data, method, strangers=0.2, unknown="other"))
    assert fitted.classes == [*sorted(data.candidates), "other"]
    assert fitted.probabilities.shape == (len(data.pool), 7)
    np.testing.assert_allclose(fitted.probabilities.sum(axis=1), 1)
    strange = np.array([label not in data.candidates for label in data.truth])
    called = fitted.predicted == "other"
    assert called[strange].mean() > 0.7
    assert called[~strange].mean() < 0.1
    labels = fitted.labels()
    assert labels.by_class["other"] == called[strange].mean()
    assert labels.candidates == sorted(data.candidates)
    assert labels.counts["other"] == called.sum()
    assert labels.accuracy == pytest.approx(fitted.accuracy())
    assert labels.reliability is not None
    assert labels.reliability.error < 0.3


def test_rows_that_a_person_calls_strangers_are_left_out_and_answered_so(data):
    row = int(np.flatnonzero([label in data.candidates for label in data.truth])[0])
    given = {row: "other", row + 1: data.truth[row + 1]}
    seen = []
    task = Task(data, corrections=given, strangers="auto", unknown="other")
    fitted = fit(task, lambda number, P: seen.append(P))
    assert {P.shape for P in seen} == {fitted.probabilities.shape}
    assert all(P[row].argmax() == 6 for P in seen)
    assert fitted.predicted[row] == "other"
    assert fitted.strangers[row] == 1
    assert fitted.strangers[row + 1] == 0
    assert len(fitted.rounds) == len(data.pool)
    later = fitted.corrected({row: data.truth[row]})
    assert later.predicted[row] == data.truth[row]
    assert later.strangers[row] == 0


def test_prediction_sets_hold_the_answer(data):
    fitted = fit(Task(data, strangers=0.2))
    sets = prediction_sets(fitted.model, fitted.probabilities, fitted.strangers, 0.9)
    rows = np.arange(len(sets))
    assert sets[rows, fitted.probabilities.argmax(axis=1)].all()
    larger = prediction_sets(fitted.model, fitted.probabilities, fitted.strangers, 0.99)
    assert (larger >= sets).all()
    answers = fitted.labels(0.9).answers
    assert all(answer.set[0] == answer.label for answer in answers)


def test_a_candidate_cannot_be_the_label_of_strangers(data):
    with pytest.raises(DataError, match=r"is the name of a candidate.*Choose another label"):
        Task(data, strangers="auto", unknown=data.candidates[0])


@pytest.mark.parametrize(
    ("method", "strangers", "remedy"),
    [
        ("SelfPacedPrototypes", 0.1, "use SharedSpacePrototypes and give a share of"),
        ("SharedSpacePrototypes", "auto", "Say which share of the items does, as 0.1"),
    ],
)
def test_too_few_labelled_classes_are_refused_before_anything_is_computed(method, strangers, remedy):
    message = rf"at least 10 classes, and there are 4.*{remedy}"
    with pytest.raises(DataError, match=message):
        check_strangers(method, strangers, 4)
    check_strangers("SharedSpacePrototypes", 0.1, 0)
    check_strangers(method, strangers, 10)
    check_strangers(method, None, 0)

"""Temperature and transport against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax

from unseen.statistics.held_out import fit_calibration, fit_temperature
from unseen.statistics.transport import balance


def test_temperature_recovers_the_scale_of_the_scores() -> None:
    random = np.random.default_rng(0)
    logits = random.normal(size=(20_000, 5)) * 2
    codes = np.array([random.choice(5, p=np.exp(row)) for row in log_softmax(logits, axis=1)])
    for scale in (0.01, 1.0, 300.0):
        assert fit_temperature(logits * scale, codes) == pytest.approx(scale, rel=0.1)


def test_temperature_of_separable_and_of_constant_scores() -> None:
    assert 0 < fit_temperature(np.eye(3)[[0, 1, 2, 0]], np.array([0, 1, 2, 0])) < 1
    assert fit_temperature(np.ones((4, 3)), np.array([0, 1, 2, 0])) == 1.0


def test_balance_meets_the_prior_and_keeps_odds() -> None:
    random = np.random.default_rng(0)
    log_p = log_softmax(random.normal(size=(200, 4)) + np.array([2, 0, 0, -1]), axis=1)
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    moved = balance(log_p, prior, 1.0, max_iter=2000)
    np.testing.assert_allclose(np.exp(logsumexp(moved, axis=0)) / 200, prior, atol=1e-4)
    odds = moved - log_p - (moved - log_p)[:, :1]  # one bias a class, the same for every row
    assert np.ptp(odds, axis=0).max() < 1e-9
    np.testing.assert_array_equal(balance(log_p, prior, 0.0), log_p)
    half = np.exp(logsumexp(balance(log_p, prior, 0.5), axis=0)) / 200
    start = np.exp(logsumexp(log_p, axis=0)) / 200
    assert (np.abs(half - prior) < np.abs(start - prior)).all()


def test_calibration_finds_the_temperature_and_the_share_of_wrong_names() -> None:
    random = np.random.default_rng(0)
    temperature, doubt = 0.5, 0.3
    answers = []
    for _ in range(6):
        scores = random.normal(size=(4000, 5))
        true = np.array([random.choice(5, p=p) for p in softmax(scores / temperature, axis=1)])
        wrong = random.random(len(true)) < doubt
        answers.append((scores, np.where(wrong, random.integers(5, size=len(true)), true)))
    found = fit_calibration(answers)
    assert found.temperature == pytest.approx(temperature, rel=0.1)
    assert found.doubt == pytest.approx(doubt, abs=0.03)


def test_confidence_without_knowledge_is_doubted() -> None:
    """Half of the classes bear a wrong name, and their rows are as sure as the others or surer."""
    random = np.random.default_rng(0)
    answers = []
    for _ in range(4):
        codes = np.repeat(np.arange(10), 40)
        named = np.where(codes < 5, codes, 5 + (codes - 4) % 5)  # classes 5 to 9 change their names
        scores = random.normal(size=(400, 10)) * 0.3
        scores[np.arange(400), named] += np.where(codes < 5, 2.0, 4.0)
        answers.append((scores, codes))
    found = fit_calibration(answers)
    for scores, _ in answers:
        P = (1 - found.doubt) * softmax(scores / found.temperature, axis=1) + found.doubt / 10
        assert P.max(axis=1).mean() == pytest.approx(0.5, abs=0.05)
        assert P.max(axis=1).max() < 0.6

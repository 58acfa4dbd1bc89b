"""Methods that the paper names and that came late: each against an oracle of its own."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg

from toys import make_toy
from unseen import (
    ESZSL,
    TMV,
    TMVHLP,
    DataEnlargement,
    FastTraining,
    ImportanceWeighting,
    LearnedAttributes,
    SemanticManifold,
)
from unseen.exceptions import DataError
from unseen.experiments import registry
from unseen.inductive.learned_attributes import designed_attributes
from unseen.inductive.semantic_manifold import absorption
from unseen.transductive.importance_weighting import density_ratio

SHARED = Path(os.environ.get("UNSEEN_DATA", Path(__file__).parents[2] / "shared" / "data"))
toy = make_toy()
X, y = toy.X[toy.train], toy.y[toy.train]


@pytest.mark.claim("SemanticManifold", "A k-nearest-neighbour graph")
@pytest.mark.claim("SemanticManifold", "Whether an unseen class")
def test_absorption_is_where_a_walk_ends():
    random = np.random.default_rng(0)
    seen, candidates = random.normal(size=(6, 3)), random.normal(size=(4, 3))
    B = absorption(seen, candidates, 2, 0.5)
    assert B.sum(axis=1) == pytest.approx(1)
    # the chain itself, step by step
    squares = ((seen[:, None] - seen) ** 2).sum(axis=2)
    unit = squares.mean() * 0.5
    np.fill_diagonal(squares, np.inf)
    for row in squares:
        row[row > np.sort(row)[1]] = np.inf
    out = ((seen[:, None] - candidates) ** 2).sum(axis=2)
    weights = np.exp(-np.concatenate([squares, out], axis=1) / unit)
    chain = np.zeros((10, 10))
    chain[:6] = weights / weights.sum(axis=1, keepdims=True)
    chain[6:, 6:] = np.eye(4)
    ended = np.linalg.matrix_power(chain, 4096)[:6, 6:]
    np.testing.assert_allclose(B, ended, atol=1e-4)


@pytest.mark.claim("SemanticManifold", "Its preprint's abstract")
def test_the_manifold_scores_where_the_walk_of_a_row_ends():
    model = SemanticManifold(toy.semantics, ridge=0.3, width=0.3).fit(X, y)
    rows = toy.X[toy.unseen][:5]
    table = model._table()
    candidates = table.vectors[table.positions(np.unique(toy.y[toy.unseen]))]
    B = absorption(model.seen_vectors_, candidates, 5, 0.3)
    for row, scores in zip(rows, model.decision_function(rows), strict=True):
        look = np.exp(row @ model.coef_ + model.intercept_)
        ends = sum(p * B[k] for k, p in enumerate(look / look.sum()))
        np.testing.assert_allclose(np.exp(scores), ends, atol=1e-4)


@pytest.mark.claim("LearnedAttributes", "A category-attribute matrix")
def test_designed_attributes_are_the_best_orthogonal_ones():
    random = np.random.default_rng(1)
    means = random.normal(size=(9, 4))
    A = designed_attributes(means, 3, 0.5) / 3  # AᵀA = I
    np.testing.assert_allclose(A.T @ A, np.eye(3), atol=1e-9)
    whole = designed_attributes(means, 9, 0.5) / 3
    assert np.abs(whole.T @ whole - np.eye(9)).max() < 1e-9
    np.testing.assert_allclose(whole[:, :3], A)
    assert np.abs(A.sum(axis=0)).max() < 1e-6  # apart: each attribute splits the classes


@pytest.mark.claim("ImportanceWeighting", "Seen rows weighted")
def test_density_ratio_finds_the_rows_like_the_pool():
    random = np.random.default_rng(2)
    rows = random.normal(size=(400, 2)) * 2
    pool = random.normal(size=(300, 2)) * 0.5 + [2.0, 0.0]
    first, later = (density_ratio(rows, pool, n, 50) for n in (1, 60))
    assert later.mean() == pytest.approx(1, abs=1e-6)
    near = ((rows - [2.0, 0.0]) ** 2).sum(axis=1) < 0.5
    assert later[near].mean() > 3 * later[~near].mean()
    assert later[near].mean() > first[near].mean()


@pytest.mark.claim("ImportanceWeighting", "Its multi-task embedding")
def test_importance_weighting_is_the_estimator_with_weights():
    whole, labels = toy.transductive()
    model = ImportanceWeighting(ESZSL(toy.semantics, gamma=1.0, lam=1.0)).fit(whole, labels)
    for code in range(12):
        assert model.importance_[y == y[30 * code]].mean() == pytest.approx(1)
    naive = ESZSL(toy.semantics, gamma=1.0, lam=1.0).fit(X, y, sample_weight=model.importance_)
    scores = naive.decision_function(toy.X[toy.unseen])
    np.testing.assert_allclose(model.decision_function(toy.X[toy.unseen]), scores, atol=1e-8)
    plain = ImportanceWeighting(ESZSL(toy.semantics), strength=0.0).fit(whole, labels)
    assert (plain.importance_ == 1).all()
    with pytest.raises(ValueError, match=r"'strength' parameter .* must be a number in \[0, 1\]"):
        ImportanceWeighting(ESZSL(toy.semantics), strength=2.0).fit(whole, labels)


def test_data_enlargement_is_a_fit_on_all_rows():
    few = np.isin(y, np.unique(y)[:6])
    unseen = np.unique(toy.y[toy.unseen]).tolist()
    inner = ESZSL(toy.semantics, unseen, gamma=1.0, lam=1.0)
    model = DataEnlargement(inner, auxiliary=(X[~few], y[~few])).fit(X[few], y[few])
    whole = ESZSL(toy.semantics, unseen, gamma=1.0, lam=1.0).fit(X, y)
    rows = toy.X[toy.unseen]
    np.testing.assert_allclose(model.decision_function(rows), whole.decision_function(rows), atol=1e-8)
    assert len(model.enlarged_classes_) == 12
    assert len(model.seen_classes_) == 6
    alone = DataEnlargement(inner).fit(X[few], y[few])
    np.testing.assert_allclose(
        alone.decision_function(rows), inner.fit(X[few], y[few]).decision_function(rows)
    )
    with pytest.raises(ValueError, match="'auxiliary' parameter of DataEnlargement must be rows of 20"):
        DataEnlargement(inner, auxiliary=(X[:, :3], y)).fit(X, y)


@pytest.mark.claim("TMV", "Views correlated over the pool")
def test_tmv_is_tmvhlp_without_a_graph():
    whole, labels = toy.transductive()
    first = TMV(toy.semantics).fit(whole, labels)
    second = TMVHLP(toy.semantics, graph="none", rounds=1).fit(whole, labels)
    np.testing.assert_array_equal(first.transduction_, second.transduction_)


@pytest.mark.parametrize("method", [SemanticManifold, LearnedAttributes])
def test_they_learn(method):
    model = method(toy.semantics).fit(X, y)
    assert model.score(toy.X[toy.unseen], toy.y[toy.unseen]) > 0.5
    fast = FastTraining(method(toy.semantics)).fit(X, y)
    assert fast.score(toy.X[toy.unseen], toy.y[toy.unseen]) > 0.4
    few = method(toy.semantics, **({"attributes": 3} if method is LearnedAttributes else {}))
    assert np.isfinite(few.fit(X, y).decision_function(X)).all()


def test_a_standard_split_is_found_where_it_is_known(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNSEEN_DATA", raising=False)
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "none"))
    for place in ("CUB", "SUN"):
        folder = tmp_path / "xlsa17" / place
        folder.mkdir(parents=True)
        for name in ("att_splits.mat", "res101.mat", "testclasses.txt"):
            (folder / name).touch()
    assert sorted(registry.find_real(tmp_path)) == ["CUB", "CUB:SS", "SUN"]


@pytest.mark.parametrize(("name", "rows"), [("CUB", (8855, 2933)), ("AWA1", (24295, 6180))])
def test_a_standard_split_is_not_the_list_in_the_folder(name, rows):
    """xlsa17's ``testclasses.txt`` is the proposed split; the paper states these numbers of rows."""
    if not (SHARED / "xlsa17" / name).is_dir():
        pytest.skip(f"needs {SHARED / 'xlsa17' / name}")
    data = registry.load(f"{name}:SS", SHARED)
    assert (len(data.train), len(data.test_unseen)) == rows
    proposed = (SHARED / "xlsa17" / name / "testclasses.txt").read_text().split()
    assert set(data.unseen_classes.tolist()) != set(proposed)


def test_eigenvectors_belong_to_the_stated_matrix():
    means = np.random.default_rng(4).normal(size=(7, 3))
    only_apart = designed_attributes(means, 6, 0.0) / np.sqrt(7)
    J = np.eye(7) - 1 / 7
    np.testing.assert_allclose(linalg.norm(J @ only_apart - only_apart), 0, atol=1e-9)


def test_word_vectors_stand_for_attributes_or_beside_them(tmp_path):
    data = registry.load("letters")
    lines = [f"{label} {i}.0 1.0 0.5" for i, label in enumerate(data.semantics.classes.tolist())]
    file = tmp_path / "glove.txt"
    file.write_text("\n".join(lines) + "\n")
    by_words = registry.load(f"letters+words={file}")
    assert by_words.semantics.vectors.shape[1] == 3
    assert by_words.X.shape == data.X.shape
    both = registry.load(f"letters+both={file}")
    assert both.semantics.vectors.shape[1] == 3 + data.semantics.vectors.shape[1]
    names = tuple(f"letters+{kind}={file}" for kind in ("words", "both"))
    assert registry.resolve(names) == names
    keys = {registry.fingerprint(name) for name in (*names, "letters")}
    file.write_text("\n".join(lines[::-1]) + "\n")
    assert len(keys | {registry.fingerprint(names[0])}) == 4
    with pytest.raises(DataError, match="there is no file of word vectors 'none"):
        registry.resolve(("letters+words=none.txt",))

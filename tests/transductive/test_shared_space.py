"""Methods that need no labelled row: rows and class texts in one space. Their contract, and oracles."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import digamma, softmax
from sklearn.base import clone

from estimators import ESTIMATORS, name_of
from unseen import (
    CosineZSL,
    EMDirichlet,
    SharedSpacePrototypes,
    StatA,
    TransCLIP,
    ZLaP,
    load,
)
from unseen.methods import find, select
from unseen.transductive.em_dirichlet import dirichlet_parameters

METHODS = [
    find(name).build()
    for name in select(transductive=True, fast=False)
    if find(name).package == "unseen" and not find(name).estimator.needs_labelled_rows
]
PEERS = [m for m in METHODS if m.published]
WITH_ROUNDS = [m for m in METHODS if "rounds" in m.get_params()]
every = pytest.mark.parametrize("estimator", METHODS, ids=name_of)


class OneSpace(NamedTuple):
    """Rows that lie, with a gap between the modalities, near the text of their class."""

    X: Any
    y: Any
    semantics: dict[str, Any]


def one_space(seed: int = 0, classes: int = 6, p: int = 16, rows: int = 25) -> OneSpace:
    random = np.random.default_rng(seed)
    texts = random.normal(size=(classes, p))
    # The pool knows better than the texts where classes lie.
    means = 0.6 * texts + 0.45 * random.normal(size=(classes, p)) + 0.5 * random.normal(size=p)
    codes = np.repeat(np.arange(classes), rows)
    X = means[codes] + 0.45 * random.normal(size=(len(codes), p))
    order = random.permutation(len(codes))
    names = np.array([f"class {k}" for k in range(classes)])
    return OneSpace(X[order], names[codes[order]], dict(zip(names.tolist(), texts, strict=True)))


SPACE = one_space()


def fitted(estimator: Any, X: Any = SPACE.X, y: Any = None, **changes: Any) -> Any:
    return clone(estimator).set_params(**({"semantics": SPACE.semantics} | changes)).fit(X, y)


def unit(X: Any) -> Any:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def nearest_text(X: Any, semantics: dict[str, Any] = SPACE.semantics) -> Any:
    vectors = unit(np.array(list(semantics.values())))
    return np.array(list(semantics))[(unit(X) @ vectors.T).argmax(axis=1)]


def accuracy(model: Any, rows: Any = slice(None)) -> float:
    return float((model.transduction_[rows] == SPACE.y[rows]).mean())


# ---------------------------------------------------------------------------- with and without labels


def test_every_method_is_here():
    assert {name_of(m) for m in METHODS} == {
        "CosineZSL",
        "EMDirichlet",
        "SharedSpacePrototypes",
        "StatA",
        "TransCLIP",
        "ZLaP",
    }


@every
def test_no_label_is_needed_and_the_start_is_the_nearest_text(estimator):
    model = fitted(estimator)
    np.testing.assert_array_equal(model.start_, nearest_text(SPACE.X))
    assert len(model.seen_classes_) == 0
    assert set(model.classes_) == set(SPACE.semantics)
    # EMDirichlet prefers few classes: six out of six is against its assumption.
    floor = 0.5 if name_of(estimator) == "EMDirichlet" else 0.85
    assert accuracy(model) > floor
    assert model.predict_proba(SPACE.X).shape == (len(SPACE.X), 6)
    np.testing.assert_allclose(model.predict_proba(SPACE.X).sum(axis=1), 1, rtol=1e-6)
    assert "none" in model.calibration_


@every
def test_missing_labels_in_every_notation_are_no_labels(estimator):
    want = fitted(estimator).transduction_
    for y in (
        np.full(len(SPACE.X), None, dtype=object),
        [None] * len(SPACE.X),
        np.full(len(SPACE.X), np.nan),
    ):
        np.testing.assert_array_equal(fitted(estimator, y=y).transduction_, want)
    numbers = dict(enumerate(SPACE.semantics.values()))
    model = fitted(estimator, y=np.full(len(SPACE.X), -1), semantics=numbers)
    np.testing.assert_array_equal(np.array(list(SPACE.semantics))[model.transduction_], want)


@every
def test_labels_are_kept_and_do_not_hurt(estimator):
    random = np.random.default_rng(1)
    for labelled in (
        random.random(len(SPACE.X)) < 0.3,
        (SPACE.y == "class 2") & (random.random(150) < 0.4),
    ):
        y = np.where(labelled, SPACE.y, None)
        model, without = fitted(estimator, y=y), fitted(estimator, SPACE.X[~labelled])
        np.testing.assert_array_equal(model.transduction_[labelled], SPACE.y[labelled])
        np.testing.assert_array_equal(model.start_[labelled], SPACE.y[labelled])
        alone = float((without.transduction_ == SPACE.y[~labelled]).mean())
        assert accuracy(model, ~labelled) >= alone - 0.01


@every
def test_labelled_rows_of_other_classes_are_no_trouble(estimator):
    candidates = [c for c in SPACE.semantics if c not in ("class 1", "class 4")]
    others = ~np.isin(SPACE.y, candidates)
    model = fitted(estimator, y=np.where(others, SPACE.y, None), candidates=candidates)
    assert list(model.classes_) == candidates
    assert set(model.transduction_[~others]) <= set(candidates)
    without = fitted(estimator, SPACE.X[~others], candidates=candidates)
    alone = float((without.transduction_ == SPACE.y[~others]).mean())
    assert accuracy(model, ~others) >= alone - 0.02


@every
def test_labelled_rows_alone_leave_an_empty_pool(estimator):
    model = fitted(estimator, y=SPACE.y)
    np.testing.assert_array_equal(model.transduction_, SPACE.y)
    np.testing.assert_array_equal(model.predict(SPACE.X), nearest_text(SPACE.X))


# ---------------------------------------------------------------------------- what does not matter


@every
def test_the_order_of_rows_does_not_matter(estimator):
    order = np.random.default_rng(2).permutation(len(SPACE.X))
    want = fitted(estimator).transduction_[order]
    np.testing.assert_array_equal(fitted(estimator, SPACE.X[order]).transduction_, want)


@every
def test_the_order_and_the_names_of_classes_do_not_matter(estimator):
    want = fitted(estimator).transduction_
    turned = dict(reversed(list(SPACE.semantics.items())))
    np.testing.assert_array_equal(fitted(estimator, semantics=turned).transduction_, want)
    names = {c: f"{9 - k} {c[::-1]}" for k, c in enumerate(SPACE.semantics)}
    renamed = {names[c]: v for c, v in SPACE.semantics.items()}
    found = fitted(estimator, semantics=renamed).transduction_
    np.testing.assert_array_equal(found, np.array([names[c] for c in want]))


@every
def test_precision_and_length_of_rows_do_not_matter(estimator):
    model = fitted(estimator)
    single = fitted(estimator, SPACE.X.astype(np.float32))
    assert (single.transduction_ == model.transduction_).mean() > 0.98
    assert single.decision_function(SPACE.X.astype(np.float32)).dtype == np.float32
    assert model.decision_function(SPACE.X).dtype == np.float64
    longer = fitted(estimator, SPACE.X * 7)
    assert (longer.transduction_ == model.transduction_).mean() > 0.99


@every
def test_several_vectors_of_a_class_count_by_their_mean_direction(estimator):
    random = np.random.default_rng(3)
    several = {
        c: v + 0.2 * random.normal(size=(k + 1, 16)) for k, (c, v) in enumerate(SPACE.semantics.items())
    }
    means = {c: unit(v).mean(axis=0) for c, v in several.items()}
    model, of_means = fitted(estimator, semantics=several), fitted(estimator, semantics=means)
    np.testing.assert_array_equal(model.start_, nearest_text(SPACE.X, means))
    np.testing.assert_array_equal(model.transduction_, of_means.transduction_)


@every
def test_fitting_leaves_its_input_alone_and_repeats_itself(estimator):
    X = SPACE.X.copy()
    model = fitted(estimator, X)
    np.testing.assert_array_equal(X, SPACE.X)
    first = model.predict_proba(X)
    np.testing.assert_array_equal(model.fit(X).predict_proba(X), first)
    np.testing.assert_allclose(model.predict_proba(X[5:9]), first[5:9], atol=1e-9)


# ---------------------------------------------------------------------------- what is refused


@every
def test_wrong_input_is_refused(estimator):
    name = name_of(estimator)
    with pytest.raises(
        ValueError, match=f"{name} needs features and semantics of one space, and X has 9"
    ):
        fitted(estimator, SPACE.X[:, :9])
    with pytest.raises(ValueError, match=r"'semantics' is None\. Give the embedding of a text"):
        clone(estimator).fit(SPACE.X)
    with pytest.raises(ValueError, match="semantics has no vector for 1 class"):
        fitted(estimator, y=["class 0", "nobody", *[None] * 148])
    for value in (0, -1, "large") if "scale" in estimator.get_params() else ():
        with pytest.raises(
            ValueError, match=f"The 'scale' parameter of {name} must be 'auto' or a number"
        ):
            fitted(estimator, scale=value)
    for value in (-1, 1.5) if "rounds" in estimator.get_params() else ():
        with pytest.raises(
            ValueError, match=f"The 'rounds' parameter of {name} must be an integer >= 0"
        ):
            fitted(estimator, rounds=value)


@pytest.mark.parametrize(
    ("estimator", "told"),
    [
        (TransCLIP(text_weight=-1), "The 'text_weight' parameter of TransCLIP must be a number >= 0"),
        (StatA(anchor=-1), "The 'anchor' parameter of StatA must be a number >= 0"),
        (ZLaP(propagation=1.0), r"The 'propagation' parameter of ZLaP must be a number in \[0, 1\)"),
        (ZLaP(neighbours=0), "The 'neighbours' parameter of ZLaP must be an integer >= 1"),
        (EMDirichlet(effective_classes=0), "The 'effective_classes' parameter of EMDirichlet must be"),
        (SharedSpacePrototypes(neighbours=-1), "The 'neighbours' parameter of SharedSpacePrototypes"),
        (SharedSpacePrototypes(class_prior="even"), "must be 'auto' or 'uniform'"),
    ],
)
def test_parameters_are_checked(estimator, told):
    with pytest.raises(ValueError, match=told):
        fitted(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_methods_that_need_labels_name_the_one_that_does_not(estimator):
    y = np.full(len(SPACE.X), None, dtype=object)
    model = clone(estimator).set_params(semantics=SPACE.semantics)
    with pytest.raises(
        ValueError, match="in one space, fit SharedSpacePrototypes, which needs no labelled"
    ):
        model.fit(SPACE.X, y)
    with pytest.raises(ValueError, match=r"Label rows of another class\.$"):
        model.fit(SPACE.X[:, :9], y)
    with pytest.raises(ValueError, match=r"y is None. Give labels; or, .* fit SharedSpacePrototypes"):
        model.fit(SPACE.X)


# ---------------------------------------------------------------------------- rounds, known rows


@pytest.mark.parametrize("estimator", WITH_ROUNDS, ids=name_of)
def test_without_rounds_the_answer_is_the_start(estimator):
    model = fitted(estimator, rounds=0)
    np.testing.assert_array_equal(model.transduction_, model.start_)
    np.testing.assert_array_equal(model.predict(SPACE.X), model.start_)
    assert model.history_ == []


@every
def test_an_observer_sees_the_start_and_every_round(estimator):
    seen = []

    def observe(number, probabilities):
        seen.append(number)
        assert probabilities.shape == (len(SPACE.X), 6)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
        with pytest.raises(ValueError, match="read-only"):
            probabilities[:] = 0

    model = clone(estimator).set_params(semantics=SPACE.semantics)
    model.fit(SPACE.X, observer=observe)
    assert seen == list(range(len(seen)))
    assert len(model.history_) == max(len(seen) - 1, 0)
    assert bool(seen) == (name_of(estimator) != "CosineZSL")
    if seen:
        assert ((model.confidence_ > 0) & (model.confidence_ <= 1 + 1e-6)).all()


def test_known_rows_are_certain():
    known = {3: "class 5", 40: "class 0", 77: "class 1"}
    model = SharedSpacePrototypes(SPACE.semantics).fit(SPACE.X, known=known)
    assert [model.transduction_[row] for row in known] == list(known.values())
    assert (model.labelled_round_[list(known)] == 0).all()


@pytest.mark.parametrize("estimator", [CosineZSL(), *PEERS], ids=name_of)
def test_methods_that_cannot_learn_from_known_rows_refuse_them(estimator):
    with pytest.raises(ValueError, match=r"cannot learn from known rows.*takes_known=True"):
        clone(estimator).set_params(semantics=SPACE.semantics).fit(SPACE.X, known={0: "class 0"})


def test_diagnostics_say_what_changed():
    model = SharedSpacePrototypes(SPACE.semantics).fit(SPACE.X)
    changed = model.transduction_ != model.start_
    assert model.diagnostics_["changed"] == pytest.approx(changed.mean())
    assert model.diagnostics_["sureness"] == pytest.approx(model.confidence_[changed].mean())
    assert model.diagnostics_["slope"] > 0


# ---------------------------------------------------------------------------- after fit


@every
def test_new_rows_are_answered_and_classes_may_join(estimator):
    again = one_space(rows=20)._replace(semantics=SPACE.semantics)
    model = fitted(estimator)
    right = (model.predict(again.X) == again.y).mean()
    floor = 0.5 if name_of(estimator) == "EMDirichlet" else 0.8
    assert right > floor
    larger = dict(SPACE.semantics) | {"newcomer": -np.ones(16)}
    model.set_params(semantics=larger)
    assert model.predict(-np.ones((2, 16))).tolist() == ["newcomer"] * 2
    model.set_params(candidates=["class 3", "class 0"])
    assert set(model.predict(again.X)) == {"class 3", "class 0"}
    with pytest.raises(ValueError, match="semantics now has 3 columns"):
        model.set_params(semantics={"class 0": [1.0, 0, 0], "class 3": [0, 1.0, 0]}).predict(SPACE.X)


@every
def test_a_model_comes_back_from_its_file(estimator, tmp_path):
    model = fitted(estimator)
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert type(again) is type(model)
    assert set(vars(again)) == set(vars(model))
    np.testing.assert_array_equal(again.predict_proba(SPACE.X), model.predict_proba(SPACE.X))
    np.testing.assert_array_equal(again.transduction_, model.transduction_)
    np.testing.assert_array_equal(again.start_, model.start_)
    assert repr(again.history_) == repr(model.history_)
    assert not hasattr(clone(again), "transduction_")


# ---------------------------------------------------------------------------- batches


def test_one_batch_is_a_fit():
    model, whole = SharedSpacePrototypes(SPACE.semantics), fitted(SharedSpacePrototypes())
    model.partial_fit(SPACE.X)
    np.testing.assert_array_equal(model.transduction_, whole.transduction_)
    np.testing.assert_array_equal(model.predict_proba(SPACE.X), whole.predict_proba(SPACE.X))


def _numbers(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, (list, tuple)):
        return sum(_numbers(v) for v in value)
    return sum(_numbers(v) for v in vars(value).values()) if hasattr(value, "__dict__") else 1


def test_batches_add_up_and_memory_stays():
    model, sizes = SharedSpacePrototypes(SPACE.semantics, rounds=3), []
    for batch in range(6):
        more = one_space()  # the same classes, other rows
        random = np.random.default_rng(batch)
        X = more.X[:50] + 0.1 * random.normal(size=(50, 16))
        model.partial_fit(X)
        assert model.transduction_.shape == (50,)
        model.history_ = []
        sizes.append(_numbers(model))
    assert len(set(sizes)) == 1
    assert model._seen_sums.rows == pytest.approx(300)


def test_batches_with_one_class_each_are_not_lost():
    model = SharedSpacePrototypes(SPACE.semantics)
    right = []
    for name in SPACE.semantics:
        rows = SPACE.y == name
        model.partial_fit(SPACE.X[rows])
        right.append((model.transduction_ == name).mean() - (model.start_ == name).mean())
    assert np.mean(right) > -0.02
    assert (model.predict(SPACE.X) == SPACE.y).mean() >= (nearest_text(SPACE.X) == SPACE.y).mean()


# ---------------------------------------------------------------------------- peers, by naive loops


def _first(scale: float) -> tuple[Any, Any, Any, Any]:
    X, T = unit(SPACE.X), unit(np.array(list(SPACE.semantics.values())))
    C = X @ X.T
    np.fill_diagonal(C, -np.inf)
    W = np.zeros_like(C)
    for i in range(len(X)):
        for j in np.argsort(-C[i])[:3]:
            W[i, j] = max(C[i, j], 0)
    return X, T, W, softmax(scale * X @ T.T, axis=1)


def _distances(X: Any, means: Any, variances: Any) -> Any:
    classes = list(zip(means, variances, strict=True))
    return np.array([[-0.5 * (((x - m) ** 2) / v).sum() for m, v in classes] for x in X])


def _sweeps(z: Any, first: Any, density: Any, W: Any) -> Any:
    for _ in range(5):
        z = softmax(np.log(first) + (density + 50 / 6 * (W.T @ z + W @ z)) / 50, axis=1)
    return z


@pytest.mark.claim("TransCLIP", "rounds")
@pytest.mark.claim("TransCLIP", "text_weight")
def test_transclip_is_the_naive_loop():
    X, _, W, first = _first(20.0)
    means = np.array(
        [unit(sum(first[i, k] * X[i] for i in np.argsort(-first[:, k])[:8])[None])[0] for k in range(6)]
    )
    variances, z = np.full((6, 16), 1 / 16), first
    for _ in range(2):
        z = _sweeps(z, first, _distances(X, means, variances), W)
        means = unit(z.T @ X)
        own = sum(z[i, k] * (X[i] - means[k]) ** 2 for i in range(len(X)) for k in range(6)) / len(X)
        variances = np.tile(own, (6, 1))
    z = _sweeps(z, first, _distances(X, means, variances), W)
    model = TransCLIP(SPACE.semantics, rounds=2).fit(SPACE.X)
    np.testing.assert_allclose(model._gaussians.means, means, atol=1e-9)
    np.testing.assert_allclose(model._gaussians.variances, own, atol=1e-9)
    np.testing.assert_allclose(model.confidence_, z.max(axis=1), atol=1e-9)


@pytest.mark.parametrize("determinant", [True, False])
@pytest.mark.claim("StatA", "determinant")
@pytest.mark.claim("StatA", "rounds")
def test_stata_is_the_naive_loop(determinant):
    X, T, W, first = _first(20.0)

    def density(means, variances):
        return _distances(X, means, variances) - determinant * 0.5 * np.log(variances).sum(axis=1)

    anchor = sum(first[i, k] * (X[i] - T[k]) ** 2 for i in range(len(X)) for k in range(6)) / len(X)
    means, variances, z = T, np.tile(anchor, (6, 1)), first
    for _ in range(2):
        z = _sweeps(z, first, density(means, variances), W)
        count = np.bincount(z.argmax(axis=1), minlength=6)
        beta = (count / (count + 1.0))[:, None]
        means = unit(beta * unit(z.T @ X) + (1 - beta) * T)
        own = np.array(
            [
                sum(z[i, k] * (X[i] - means[k]) ** 2 for i in range(len(X))) / z[:, k].sum()
                for k in range(6)
            ]
        )
        variances = beta * own + (1 - beta) * (anchor + (T - means) ** 2)
    z = _sweeps(z, first, density(means, variances), W)
    model = StatA(SPACE.semantics, rounds=2, determinant=determinant).fit(SPACE.X)
    np.testing.assert_allclose(model._gaussians.variances, variances, atol=1e-9)
    np.testing.assert_allclose(model.confidence_, z.max(axis=1), atol=1e-9)


@pytest.mark.claim("ZLaP", "propagation")
def test_zlap_solves_the_linear_system():
    X, T = unit(SPACE.X), unit(np.array(list(SPACE.semantics.values())))
    W = np.zeros((6 + len(X), 6 + len(X)))
    C = X @ X.T
    np.fill_diagonal(C, -np.inf)
    for i in range(len(X)):
        for k in np.argsort(-(X[i] @ T.T))[:5]:
            W[6 + i, k] = max(X[i] @ T[k], 0) ** 5
        for j in np.argsort(-C[i])[:4]:
            W[6 + i, 6 + j] = max(C[i, j], 0)
    W += W.T
    root = 1 / np.sqrt(W.sum(axis=1))
    Z = np.linalg.inv(np.eye(len(W)) - 0.3 * root[:, None] * W * root)[6:, :6]
    model = ZLaP(SPACE.semantics).fit(SPACE.X)
    np.testing.assert_array_equal(
        model.transduction_, np.array(list(SPACE.semantics))[Z.argmax(axis=1)]
    )
    np.testing.assert_allclose(model.confidence_, Z.max(axis=1) / Z.sum(axis=1), atol=1e-6)


def test_dirichlet_parameters_are_recovered_and_stationary():
    random = np.random.default_rng(0)
    true = np.array([[2.0, 5.0, 1.0], [0.7, 0.7, 3.0]])
    means = np.array([np.log(random.dirichlet(a, 4000)).mean(axis=0) for a in true])
    found = dirichlet_parameters(means, np.ones((2, 3)), 1000)
    np.testing.assert_allclose(found, true, rtol=0.1)
    slope = digamma(found.sum(axis=1))[:, None] - digamma(found) + means
    np.testing.assert_allclose(slope, 0, atol=1e-3)


@pytest.mark.claim("EMDirichlet", "rounds")
def test_em_dirichlet_finds_the_classes_that_are_there():
    """Three of the candidates, as the paper's tasks have it: the others are left alone."""
    space = one_space(seed=4, classes=20)
    there = np.isin(space.y, ["class 1", "class 7", "class 12"])
    for hard in (False, True):
        model = EMDirichlet(space.semantics, effective_classes=3, hard=hard).fit(space.X[there])
        assert (model.transduction_ == space.y[there]).mean() > 0.9
        assert len(set(model.transduction_)) < 10


@pytest.mark.parametrize("estimator", PEERS, ids=name_of)
def test_as_published_has_the_settings_of_the_authors(estimator):
    model = type(estimator).as_published(SPACE.semantics, candidates=["class 0", "class 1"])
    assert type(model) is type(estimator)
    assert model.candidates == ["class 0", "class 1"]
    assert model.semantics is SPACE.semantics
    scales = {"TransCLIP": 100, "StatA": 100, "EMDirichlet": 30}
    assert getattr(model, "scale", None) == scales.get(name_of(estimator), "auto")
    own = set(model.get_params()) - {"semantics", "candidates", "scale", "determinant"}
    assert own
    assert getattr(model, "determinant", False) is False
    assert {key: model.get_params()[key] for key in own} == {
        key: estimator.get_params()[key] for key in own
    }

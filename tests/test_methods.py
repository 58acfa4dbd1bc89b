"""The catalogue: what is in it, how a method is built, what other packages may add."""

from __future__ import annotations

import importlib.metadata
import warnings

import pytest

import unseen
from unseen import ESZSL, SJE, DataError, FastTraining, inductive, methods, transductive
from unseen.base import ZeroShotClassifier
from unseen.experiments import registry

SEMANTICS = {"cat": [1.0, 0.0], "dog": [0.0, 1.0], "fox": [1.0, 1.0]}
NO_METHODS = {
    "CalibratedStacking",
    "DataEnlargement",
    "NoneOfThese",
    "SelfPaced",
    "TransductiveClassifier",
}
"""Estimators around another one, which need more than data to be run by name, and a base class."""


def test_every_estimator_is_a_method_with_a_citation():
    own = [
        name
        for package in (inductive, transductive)
        for name in package.__all__
        if issubclass(getattr(package, name), ZeroShotClassifier)
    ]
    assert set(own) - NO_METHODS == set(methods.select(fast=False))
    for name in methods.select(fast=False):
        method = methods.find(name)
        assert method.estimator is getattr(unseen, name)
        assert method.transductive == (name in transductive.__all__)
        citation = str(method.citation)
        assert method.citation.title in citation
        assert str(method.citation.year) in citation


def test_a_subclass_does_not_claim_the_paper_of_its_base():
    class Variant(ESZSL):
        pass

    assert methods.Method("Variant", Variant).citation is None
    assert methods.Method("Variant", Variant, fast=True).table_name == "Fast-Variant"


def test_the_lists_that_refusals_point_at():
    without_known = {"UDA", "WDVSc", "CosineZSL", "EMDirichlet", "StatA", "TransCLIP", "ZLaP"}
    without_known.add("ImportanceWeighting")  # weighs labelled rows, and labels no row of the pool
    known = set(methods.select(transductive=True, fast=False)) - without_known
    assert set(methods.select(takes_known=True, fast=False)) == known
    assert {"SelfPacedPrototypes", "SharedSpacePrototypes", "TASTE"} <= known
    in_chunks = {"ASTE", "ESZSL", "SelfPacedPrototypes", "TASTE"}
    assert set(methods.select(takes_chunks=True, fast=False)) == in_chunks
    assert methods.select(takes_chunks=True, fast=True) == methods.select(fast=True)


def test_candidates_and_seeds_are_set_in_one_way():
    for name in methods.catalogue():
        method = methods.find(name)
        model = method.build(SEMANTICS, candidates=["fox"], random_state=7)
        assert isinstance(model, FastTraining) == method.fast
        assert model.get_params()["candidates"] == ["fox"]
        assert model._parameters()[1] == ["fox"]
        seeds = [v for k, v in model.get_params().items() if k.endswith("random_state")]
        assert set(seeds) <= {7}
        untouched = method.build(SEMANTICS)
        # Without labelled rows no class is seen, and "all" says what is meant.
        default = "unseen" if method.estimator.needs_labelled_rows else "all"
        assert untouched._parameters()[1] == default
    assert methods.find("Fast-SJE").build(random_state=7).estimator.random_state == 7
    assert methods.find("SJE").build().random_state == SJE().random_state


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("EZSL", r"no method 'EZSL'\. Near names: ESZSL"),
        ("fast-taste", r"Near names: Fast-TASTE"),
        ("???", r"no method '\?\?\?'\. Known: DAP, .*Fast-TASTE\."),
    ],
)
def test_an_unknown_name_is_refused_with_near_names(name, told):
    with pytest.raises(DataError, match=told):
        methods.find(name)


def test_bench_also_names_its_measurements():
    with pytest.raises(DataError, match="Near names: audit"):
        registry.method("audits")


# ---------------------------------------------------------------------------- other packages


class _Distribution:
    name = "their-package"


def asked_with(monkeypatch, **points):
    """Return the catalogue and its warnings, with these entry points installed."""
    given = []
    for name, value in points.items():
        point = importlib.metadata.EntryPoint(name, value, methods.ENTRY_POINT_GROUP)
        given.append(point._for(_Distribution()))
    monkeypatch.setattr(methods, "entry_points", lambda group: given)
    methods.catalogue.cache_clear()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            return methods.catalogue(), [str(w.message) for w in caught]
    finally:
        methods.catalogue.cache_clear()


def test_another_package_adds_a_method_and_its_fast_form(monkeypatch):
    known, told = asked_with(monkeypatch, Theirs="unseen.inductive.eszsl:ESZSL")
    assert told == []
    assert known["Theirs"] == methods.Method("Theirs", ESZSL, package="their-package")
    assert known["Fast-Theirs"].build(SEMANTICS).estimator.semantics == SEMANTICS


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("Gone", "no_such_module:Method", "No module named 'no_such_module'"),
        ("Absent", "unseen.inductive.eszsl:Nothing", "has no attribute 'Nothing'"),
        ("ESZSL", "unseen.inductive.aste:ASTE", "unseen has a method of this name"),
        ("two-words", "unseen.inductive.aste:ASTE", "letters, digits and underscores"),
        ("Foreign", "sklearn.linear_model:Ridge", "is no subclass of unseen.base.ZeroShotClassifier"),
        ("Function", "unseen.persistence:load", "is no subclass"),
    ],
)
def test_a_broken_entry_point_is_left_out_with_a_warning(monkeypatch, name, value, reason):
    before = list(methods.catalogue())
    known, told = asked_with(monkeypatch, **{name: value})
    assert list(known) == before
    assert len(told) == 1
    assert told[0].startswith(f"The method {name!r} of the package 'their-package' is left out: ")
    assert reason in told[0]

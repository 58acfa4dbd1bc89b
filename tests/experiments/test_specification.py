"""Specifications and plans: what is read, what is refused, what is in a plan."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from unseen.exceptions import DataError
from unseen.experiments import (
    Cell,
    Experiment,
    Specification,
    make_plan,
    paper_specification,
    plan,
    read,
    registry,
)
from unseen.experiments.specification import PRESETS, derive_seed, parse
from unseen.methods import catalogue

GOOD = '[[experiment]]\nname = "a"\ndatasets = ["letters"]\nmethods = ["ESZSL"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name =", "mine: is not TOML"),
        ("nmae = 'x'", "mine: unknown key 'nmae'"),
        ("", r"has no \[\[experiment\]\]"),
        (GOOD + 'metods = ["x"]', "experiment 1: unknown key 'metods'"),
        ('[[experiment]]\nmethods = ["ESZSL"]', "experiment 1: 'datasets' is missing"),
        (GOOD.replace('["ESZSL"]', '"ESZSL"'), "'methods' must be a list of strings"),
        (GOOD.replace('["ESZSL"]', "[]"), "'methods' is empty"),
        (GOOD + "trials = 0", "'trials' must be an integer >= 1. Got 0"),
        (
            GOOD + 'settings = ["both"]',
            "must be among zsl, gzsl, gzsl known, gzsl offset, unlabelled, .* by class. Got 'both'",
        ),
        (GOOD + "shares = [2]", "'shares' must lie between 0 and 1"),
        (GOOD + "C = [0]", "'C' must be positive"),
        (GOOD + "exact_once = 1", "'exact_once' must be true or false. Got 1"),
        (GOOD + 'preset = "best"', "'preset' must be among default, published, printed. Got 'best'"),
        (GOOD + "parameters = 3", "'parameters' must be a table of names and values. Got 3"),
        (GOOD + "parameters = { C = 2000-01-01 }", "the parameter 'C' must be a number, a string"),
        (GOOD + GOOD, "two experiments are called 'a'"),
    ],
)
def test_faults_are_named(text, message):
    with pytest.raises(DataError, match=message):
        parse(text, "mine", "mine")


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        ("parameters = { mu = 0.0 }", "ESZSL has no parameter 'mu'. It has: candidates, gamma"),
        ('preset = "printed"\nmethods = ["SAE"]', "prints no settings for SAE: it quotes"),
        ('preset = "published"\nmethods = ["SelfPacedPrototypes"]', "has no published form"),
    ],
)
def test_what_cannot_be_built_is_said_before_any_fit(addition, message):
    text = GOOD.replace('methods = ["ESZSL"]\n', "") if "methods" in addition else GOOD
    with pytest.raises(DataError, match=message):
        make_plan(parse(text + addition, "mine", "mine"))


def test_parameters_and_presets_are_part_of_the_key():
    texts = ("", 'preset = "published"', "parameters = { gamma = 1.0 }", "parameters = { gamma = 2.0 }")
    cells = [make_plan(parse(GOOD + text, "mine", "mine")).cells[0] for text in texts]
    assert len({cell.key for cell in cells}) == 4
    assert cells[2].label == "letters · ESZSL · trial 0 · gamma=1.0"
    again = Cell(**json.loads(json.dumps(cells[2].to_dict())))
    assert (again.key, hash(again)) == (cells[2].key, hash(cells[2]))
    model = registry.configured("ESZSL", None, 0, form=("default", cells[2].parameters))
    assert model.gamma == 1.0


def test_unreadable_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.toml: cannot be read"):
        read(tmp_path / "none.toml")


@pytest.mark.parametrize("budget", ["quick", "real", "full"])
def test_paper_specification_names_known_methods(budget):
    wanted = {m for e in paper_specification(budget).experiments for m in e.methods}
    assert wanted <= {*catalogue(), *registry.MEASUREMENTS}
    assert {"audit", "A-distance", "TASTE", "Fast-TASTE"} <= wanted
    with pytest.raises(DataError, match="budget must be one of quick, real, full"):
        paper_specification("huge")


def test_the_full_budget_has_five_trials_of_everything():
    experiments = paper_specification("full").experiments
    measured = [e for e in experiments if not set(e.methods) <= set(registry.MEASUREMENTS)]
    assert {e.trials for e in measured} == {5}
    ran = {preset: {m for e in measured if e.preset == preset for m in e.methods} for preset in PRESETS}
    tables = [m for m in catalogue().values() if not m.fast and m.package == "unseen"]
    without_labels = {"EMDirichlet", "TransCLIP", "ZLaP", "StatA"}  # other settings, other tables
    published = {m.name for m in tables if m.estimator.published} - without_labels
    assert published <= ran["published"]
    assert published <= ran["default"]


def test_exact_once_plans_one_trial_of_what_no_trial_changes():
    text = GOOD + "trials = 3\nexact_once = true\nshares = [0.5, 1.0]"
    text = text.replace('["ESZSL"]', '["ESZSL", "SJE", "Fast-ESZSL"]')
    cells = make_plan(parse(text, "mine", "mine")).cells
    trials = Counter((c.method, c.share) for c in cells)
    assert trials["ESZSL", 1.0] == trials["Fast-ESZSL", 1.0] == 1
    assert trials["ESZSL", 0.5] == trials["SJE", 0.5] == trials["SJE", 1.0] == 3


def test_seeds_come_from_names_alone():
    assert derive_seed("letters", "trial", 0) == 877758852
    cells = make_plan(parse(GOOD + "trials = 2", "mine", "mine")).cells
    assert [c.seed for c in cells] == [derive_seed("letters", "trial", t) for t in (0, 1)]


def test_a_cell_is_in_a_plan_once(specification):
    plan = make_plan(specification)
    assert len(set(plan.keys)) == len(plan.keys)
    doubled = Specification("twice", specification.experiments * 2)
    assert make_plan(doubled).keys == plan.keys


def test_inductive_methods_have_one_prior():
    both = Experiment("p", ("letters",), ("ESZSL", "TASTE"), priors=("uniform", "known"))
    cells = make_plan(Specification("p", (both,))).cells
    assert [(c.method, c.prior) for c in cells] == [
        ("ESZSL", "default"),
        ("TASTE", "uniform"),
        ("TASTE", "known"),
    ]


def test_unknown_names_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNSEEN_DATA", str(tmp_path))
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="no data set 'CUP'"):
        make_plan(Specification("x", (Experiment("x", ("CUP",), ("ESZSL",)),)))
    with pytest.raises(DataError, match=r"no method 'EZSL'\. Near names: ESZSL"):
        make_plan(Specification("x", (Experiment("x", ("letters",), ("EZSL",)),)))
    real = Specification("x", (Experiment("x", ("letters", "real"), ("ESZSL",)),))
    assert {c.dataset for c in make_plan(real).cells} == {"letters"}


def test_real_data_is_found_with_its_standard_split(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNSEEN_DATA", raising=False)
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "none"))
    for name, files in {"AWA1": ("res101.mat",), "SUN": (), "CUB": ("res101.mat",)}.items():
        folder = tmp_path / "xlsa17" / name
        folder.mkdir(parents=True)
        for file in ("att_splits.mat", "binaryAtt_splits.mat", *files):
            (folder / file).touch()
    assert sorted(registry.find_real(tmp_path)) == ["AWA1", "AWA1:SS", "CUB", "CUB:SS"]


def test_changed_data_is_another_cell(tmp_path):
    path = tmp_path / "data.npz"
    path.write_bytes(b"one")
    first = registry.fingerprint(str(path))
    path.write_bytes(b"two")
    assert registry.fingerprint(str(path)) != first


def test_changed_code_is_another_cell(monkeypatch):
    before = Cell("letters", "ESZSL").key
    assert Cell("letters", "ESZSL").key == before
    monkeypatch.setattr(plan, "code_digest", lambda: "another")
    assert Cell("letters", "ESZSL").key != before


def test_narrowing(specification):
    fewer = specification.narrowed(("letters",), ("TASTE",), 1)
    assert {m for e in fewer.experiments for m in e.methods} == {"TASTE"}
    assert {e.trials for e in fewer.experiments} == {1}
    with pytest.raises(DataError, match="no experiment of 'tiny' uses Nothing"):
        specification.narrowed(methods=("Nothing",))

"""Published forms: what they set, where it is known from, and the documents that list it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from unseen import ESZSL, TASTE, SelfPacedPrototypes
from unseen.exceptions import DataError
from unseen.methods import catalogue, find
from unseen.published import CODE, SOURCES, PublishedChoice

ROOT = Path(__file__).parents[1]
METHODS = [m for m in catalogue().values() if not m.fast and m.package == "unseen"]
OURS = {"CosineZSL", "PrototypePropagation", "SelfPacedPrototypes", "SharedSpacePrototypes"}
PUBLISHED = [m for m in METHODS if m.name not in OURS]


@pytest.mark.parametrize("method", PUBLISHED, ids=lambda m: m.name)
def test_every_choice_is_set_and_has_a_source(method):
    choices = vars(method.estimator).get("published")
    assert choices, f"{method.name} lists no choice of its authors"
    model = method.estimator.as_published({"a": [1.0], "b": [2.0]})
    for choice in choices:
        assert choice.source in SOURCES
        assert choice.note.endswith(".")
        assert str(choice).split(":")[0] in method.estimator.__doc__.replace("\n", " ")
        if choice.parameter:
            assert getattr(model, choice.parameter) == choice.value


def test_ours_have_no_published_form():
    assert {m.name for m in METHODS if m.estimator.published is None} == OURS
    with pytest.raises(ValueError, match="SelfPacedPrototypes has no published form"):
        SelfPacedPrototypes.as_published()
    with pytest.raises(DataError, match="SelfPacedPrototypes has no published form"):
        find("SelfPacedPrototypes").build(published=True)


def test_changes_come_on_top():
    model = TASTE.as_published(candidates=["a"], C=3.0)
    assert (model.C, model.candidates, model.selection) == (3.0, ["a"], "threshold")
    assert ESZSL.as_published().candidates == "unseen"


def test_the_fast_form_starts_at_eszsl():
    assert find("Fast-ASTE").build(published=True).estimator.init == "eszsl"
    assert find("ASTE").build(published=True).init == "normal"
    with pytest.raises(DataError, match=r"ESZSL has no parameter 'mu'\. It has: .*gamma"):
        find("ESZSL").build(parameters={"mu": 1.0})


def test_a_source_must_be_known():
    with pytest.raises(ValueError, match="source must be one of paper, code, not verified"):
        PublishedChoice("C", 1.0, "hearsay", "Somebody said so.")


NAMES_A_PROGRAM = re.compile(r"[\w-]+/[\w.-]+|\w+\.(py|m|txt)\b|README|SynC_fast|\bCLIP's own")


@pytest.mark.parametrize("method", PUBLISHED, ids=lambda m: m.name)
def test_what_code_says_names_the_program(method):
    notes = [c.note for c in method.estimator.published if c.source == CODE]
    assert not notes or any(NAMES_A_PROGRAM.search(note) for note in notes), notes


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("published_forms", ROOT / "tools/published_forms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("method", PUBLISHED, ids=lambda m: m.name)
def test_every_sentence_is_held_by_a_test(tool, method):
    choices = method.estimator.published
    held = {str(choice): tool.tests_of(method.name, choice) for choice in choices}
    assert any(held.values()), f"no test is marked claim({method.name!r}, …)"
    bare = [str(c) for c in choices if not c.parameter and not held[str(c)]]
    assert not bare, f"no test is marked with the first words of: {bare}"


def test_every_mark_names_a_line_of_the_guide(tool):
    published = {m.name: m.estimator.published for m in PUBLISHED}
    for (method, words), tests in tool.claims().items():
        named = [c for c in published[method] if tool.holds(c, words)]
        assert len(named) == 1, f"{tests}: claim({method!r}, {words!r}) names {len(named)} lines"


def test_the_guide_lists_the_same(tool):
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run python tools/published_forms.py"

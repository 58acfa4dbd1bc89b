"""What the studio does, without its page."""

from __future__ import annotations

import asyncio
import csv
import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from fastapi import HTTPException

import unseen
from pictures import COLOURS, NOBODY_LABELLED, write_attributes, write_pictures
from texts import Bags, write_classes, write_texts
from toys import make_toy
from unseen.exceptions import DataError
from unseen.labelling import PoolData, Task, fit
from unseen.methods import DEFAULT, DEFAULT_FOR_TEXTS, catalogue, find
from unseen.metrics import unsure
from unseen.semantics import ClassTable
from unseen.serving.studio import gallery_html, overview_html, pool_html
from unseen.serving.studio.app import Library
from unseen.serving.studio.data_sources import embedded, photographs, texts
from unseen.serving.studio.live_session import LEAST_TO_REVIEW
from unseen.serving.studio.outcomes import NONE_OF_THESE, Snapshot, compare, learn
from unseen.serving.studio.roots import Roots
from unseen.serving.studio.sessions import SessionStore, Source
from unseen.serving.studio.studio_downloads import DOWNLOADS, write_labels, write_model, write_page

TELL_ROUNDS = {"SelfPacedPrototypes", "TASTE", "Fast-TASTE", "SMS", "MaxMarginSSL"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The toy, with a name for the picture of each row; there is no picture."""
    toy = make_toy()
    root = tmp_path_factory.mktemp("toy")
    truth = [str(label) for label in toy.y[toy.unseen]]
    return PoolData(
        "toy",
        "20 numbers",
        toy.X[toy.train],
        toy.y[toy.train],
        toy.X[toy.unseen],
        [root / f"{row}.png" for row in range(len(toy.unseen))],
        root,
        ClassTable.of(toy.semantics),
        sorted(set(truth)),
        truth,
    )


def by_labelled_rows(wanted):
    return [name for name in catalogue() if find(name).estimator.needs_labelled_rows is wanted]


@pytest.mark.parametrize("name", by_labelled_rows(False))
def test_a_method_of_one_space_is_refused_for_pictures_and_attributes(data, name):
    with pytest.raises(ValueError, match="needs features and semantics of one space"):
        learn(data, name)


@pytest.mark.parametrize("name", by_labelled_rows(True))
def test_every_method_learns_and_continues_from_corrections(data, name):
    rounds = []
    first = learn(data, name, on_round=rounds.append)
    assert rounds == first.history
    assert rounds or name not in TELL_ROUNDS
    truth = np.array(data.truth)
    given = {row: data.candidates[(row + 1) % 4] for row in (0, 40, 80)}
    again = learn(data, name, given)
    found = np.array(again.classes)[again.result.labels]
    assert {row: found[row] for row in given} == given
    assert all(again.result.confidence[row] == 1 for row in given)
    rest = np.setdiff1d(np.arange(len(truth)), list(given))
    before = np.array(first.classes)[first.result.labels]
    if first.fitted.rounds is not None:  # the others learn from the pool for the first time now
        assert (found[rest] == before[rest]).mean() > 0.9, "three labels do not upset the others"
    assert again.fitted.accuracy() == pytest.approx(
        np.mean([(found[rest] == truth[rest])[truth[rest] == c].mean() for c in data.candidates])
    )


def test_strangers_are_looked_for_if_asked_and_have_a_gallery(data, library):
    """A quarter of the pool belongs to a class that is no candidate."""
    candidates = data.candidates[:-1]
    asked = replace(data, candidates=candidates, truth=[])
    live = library.open(library.sessions.new(Source(strangers=True), [DEFAULT]).identity)
    live._use(asked)
    asyncio.run(live.run())
    assert live.problem == ""
    outcome = live.results[0]
    assert outcome.classes == [*candidates, NONE_OF_THESE]
    html = gallery_html.classes_html(live, DEFAULT, outcome.result, None, outcome.classes)
    assert 'aria-label="none of these"' in html
    called = np.flatnonzero(outcome.result.labels == len(candidates)).tolist()
    answers = {row: answer for row, _, _, answer in shown(library, live, html)}
    assert sorted(answers) == list(range(len(data.pool)))
    assert sorted(row for row in answers if answers[row].startswith("none of these")) == called
    assert called, "those of the class that is no candidate"
    for snapshot in outcome.history:
        assert live.columns(DEFAULT, snapshot) == outcome.classes
    expected = fit(Task(asked, DEFAULT, strangers="auto")).probabilities
    np.testing.assert_array_equal(outcome.result.probabilities, expected)


def test_no_label_of_the_pool_reaches_a_fit(data):
    """The truth may say anything: labels do not change."""
    lies = PoolData(**{**vars(data), "truth": data.truth[::-1]})
    for name in (DEFAULT, "TASTE"):
        one, other = learn(data, name), learn(lies, name)
        np.testing.assert_array_equal(one.result.probabilities, other.result.probabilities)


def test_snapshots_tell_who_joined():
    first = Snapshot.after(None, 0, np.array([[0.9, 0.1], [0.45, 0.55], [0.3, 0.4]]))
    assert first.joined.tolist() == [True, True, False]
    second = Snapshot.after(first, 1, np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]))
    assert second.joined.tolist() == [False, True, True]
    assert (second.trusted, second.covered) == (3, 2)


def test_rounds_are_kept_as_a_table():
    first = Snapshot.after(None, 0, np.array([[0.9, 0.1], [0.45, 0.55], [0.6, 0.4], [0.4, 0.4]]))
    second = Snapshot.after(first, 1, np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.4]]))
    going = pool_html.rounds_html([first], None, 4, 0, 0)
    assert "<caption>Round by round</caption>" in going
    assert re.findall(r'aria-current="true" aria-label="([^"]*)"', going) == ["start"]
    done = pool_html.rounds_html([first, second], second, 4, None, 2)
    assert "<caption>Round by round, with 2 labels of yours</caption>" in done
    assert re.findall(r'aria-label="([^"]*)"', done) == ["start", "round 1", "result"]
    assert re.findall(r'aria-current="true" aria-label="([^"]*)"', done) == ["result"]
    lines = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', done)
    assert {name: re.findall("<td>(.*?)</td>", cells) for name, cells in lines} == {
        "joined": ["3", "2", "–"],
        "trusted": ["3", "3", "3"],
        "classes": ["2", "2", "2"],
        "sure": ["61%", "70%", "70%"],
    }
    assert pool_html.rounds_html([], second, 4, None, 0) == "", "a method without rounds has no table"


def test_comparison_puts_sure_differences_first(data):
    one, other = learn(data, "SelfPacedPrototypes"), learn(data, "ESZSL")
    found = compare(one, other)
    differ = one.result.labels != other.result.labels
    assert found.agreement == pytest.approx(1 - differ.mean())
    assert sorted(found.rows) == np.flatnonzero(differ).tolist()
    sure = np.minimum(one.result.confidence, other.result.confidence)[found.rows]
    assert (np.diff(sure) <= 0).all()


def test_downloads(data, tmp_path):
    outcome = learn(data, "TASTE").with_labels({5: data.candidates[0]})
    with write_labels(outcome, tmp_path).open(newline="", encoding="utf-8") as file:
        rows = {row["image"]: row for row in csv.DictReader(file)}
    assert len(rows) == len(data.pool)
    assert (rows["5.png"]["label"], rows["5.png"]["confidence"]) == (data.candidates[0], "1.0000")
    model = unseen.load(write_model(outcome, tmp_path))
    assert model.classes_.tolist() == data.candidates
    page = write_page(outcome, tmp_path).read_text(encoding="utf-8")
    assert "corrected by hand" in page


@pytest.fixture
def library(tmp_path):
    return Library(tmp_path, Roots([tmp_path]), SessionStore(tmp_path / "sessions"))


@pytest.fixture
def live(library, data):
    """A session that has learned."""
    live = library.open(library.sessions.new(Source(), ["ESZSL"]).identity)
    live._use(data)
    asyncio.run(live.run())
    assert live.problem == ""
    return live


def shown(library, live, html):
    """Every picture that the galleries of a page show: row, kinds, item and answer."""
    listed = []
    for count, address in re.findall(r'data-count="(\d+)" data-list="([^"]*)"', html):
        what = re.fullmatch(r"/session/[0-9a-f]{16}/list/(.*)\?[0-9a-f]+", unescape(address))[1]
        pictures = json.loads(library.told(live.session.identity, what).body)
        assert len(pictures) == int(count)
        listed += pictures
    return listed


def test_every_picture_is_in_a_gallery(data, library, live):
    live.give(0, data.candidates[1])
    result = live.results[0].result
    html = gallery_html.classes_html(live, "ESZSL", result, None, data.candidates)
    listed = shown(library, live, html)
    assert sorted(row for row, *_ in listed) == list(range(len(data.pool)))
    assert [(row, answer) for row, kinds, _, answer in listed if kinds == "yours"] == [
        (0, f"{data.candidates[1]}, your label")
    ]
    assert {row for row, kinds, *_ in listed if "unsure" in kinds} == set(
        np.flatnonzero(unsure(result.confidence)).tolist()
    )
    of_round = gallery_html.classes_html(live, "ESZSL", result, 0, data.candidates)
    live.outcomes["ESZSL"].history.append(result)
    assert sorted(row for row, *_ in shown(library, live, of_round)) == list(range(len(data.pool)))


def test_names_of_classes_are_escaped(data, live):
    names = ['<b onclick="x">', *data.candidates[1:]]
    html = gallery_html.classes_html(live, "ESZSL", live.results[0].result, None, names)
    assert "<b " not in html


def test_a_list_has_another_address_when_it_shows_something_else(data, live):

    def addresses():
        result = live.results[0].result
        html = gallery_html.classes_html(live, "ESZSL", result, None, data.candidates)
        return re.findall('data-list="([^"]*)"', html)

    before = addresses()
    assert addresses() == before
    row = int(np.flatnonzero(live.results[0].result.labels == 0)[0])
    live.give(row, data.candidates[1])
    changed = [one != other for one, other in zip(before, addresses(), strict=True)]
    assert changed == [True, True, False, False]


@pytest.mark.parametrize(
    "what",
    ["nothing", "class/ESZSL/result", "class/none/result/0", "class/ESZSL/7/0", "class/ESZSL/x/0"],
)
def test_a_list_that_is_not_there_is_not_found(library, live, what):
    with pytest.raises(HTTPException, match="no such list"):
        library.told(live.session.identity, what)
    with pytest.raises(HTTPException, match="no such list"):
        library.told("0" * 16, what)


def test_what_to_review_comes_least_sure_first(data, live):
    rows = live.rows_to_review
    confidence = live.results[0].result.confidence
    doubtful = int(unsure(confidence).sum())
    assert 0 < doubtful < len(data.pool)
    assert (np.diff(confidence[rows[:doubtful]]) >= 0).all()
    assert unsure(confidence[rows]).sum() == doubtful, "all that are unsure"
    assert len(rows) == max(doubtful, LEAST_TO_REVIEW)
    live.give(rows[0], data.candidates[0])
    assert live.rows_to_review == rows[1:]


def test_the_map_shows_every_row(data, library, live):
    given = json.loads(library.told(live.session.identity, "map").body)
    assert [name for name, _ in given["classes"]] == data.candidates
    rows = {point[4]: point for point in given["points"]}
    assert sorted(rows) == list(range(len(data.pool)))
    doubtful = unsure(live.results[0].result.confidence)
    assert [bool(rows[row][3]) for row in sorted(rows)] == doubtful.tolist()
    assert all(0 <= point[0] <= 1 and 0 <= point[1] <= 1 for point in rows.values())
    live.give(0, data.candidates[3])
    again = json.loads(library.told(live.session.identity, "map").body)
    moved = {point[4]: point for point in again["points"]}
    assert moved[0][2] == 3
    assert all(moved[row][:2] == rows[row][:2] for row in rows), "a label moves no point"


def test_colours_stay_when_something_is_none_of_these():
    classes = ["bat", "seal", "rat"]
    colours = [overview_html.colour(place, classes) for place in range(3)]
    more = [*classes, overview_html.NONE_OF_THESE]
    assert [overview_html.colour(place, more) for place in range(3)] == colours
    assert len({*colours, overview_html.colour(3, more)}) == 4


def test_the_map_of_many_rows_shows_some_and_says_so(data, monkeypatch):
    monkeypatch.setattr(overview_html, "MOST_POINTS", 50)
    html = overview_html.map_html(learn(data, "ESZSL"), "/list", "")
    shown_rows = len(overview_html.shown_points(len(data.pool)))
    assert shown_rows <= 50
    assert f"{shown_rows} of {len(data.pool)} are shown." in html


def test_confusions_are_unsure_answers_between_two_classes(data):
    outcome = learn(data, "ESZSL")
    table = overview_html.confusion_html(outcome)
    assert table.count('scope="row"') == len(data.candidates)
    listed = []
    for pair, count in re.findall(r'data-pair="([^"]*)".*?>(\d+)</button>', table):
        one, other = map(int, pair.split(","))
        rows = overview_html.rows_between(outcome, one, other)
        assert len(rows) == int(count)
        order = np.argsort(-outcome.result.probabilities[rows], axis=1)
        assert {tuple(line) for line in order[:, :2].tolist()} == {(one, other)}
        listed += rows
    assert sorted(listed) == np.flatnonzero(unsure(outcome.result.confidence)).tolist()
    certain = outcome.with_labels(dict.fromkeys(listed, data.candidates[0]))
    assert "No answer is unsure." in overview_html.confusion_html(certain)


def test_a_picture_that_is_gone_is_a_card_with_its_name(data, library):
    card = library.picture(library.add(data), 3)
    assert card.media_type == "image/svg+xml"
    assert "3.png cannot be shown" in card.body.decode()


def test_embedded_data(tmp_path):
    data = embedded(tmp_path)
    assert len(data.pool) == len(data.paths) == len(data.truth) == 1797
    assert data.candidates == list("0123456789")
    assert all(path.stat().st_size for path in data.paths[::100])
    assert not set(data.y.tolist()) & set(data.candidates)


def test_photographs_in_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    seen = [name for name in COLOURS if name not in NOBODY_LABELLED]
    write_pictures(tmp_path / "seen", seen)
    write_pictures(tmp_path / "new", NOBODY_LABELLED)
    table = write_attributes(tmp_path / "classes.csv")
    told = []
    data = photographs(
        tmp_path / "seen",
        tmp_path / "new",
        table,
        backbone="colours",
        on_progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (66, 66)
    assert sorted(data.candidates) == sorted(NOBODY_LABELLED)
    assert data.truth == []
    outcome = learn(data, "ESZSL")
    assert outcome.fitted.accuracy() is None
    rows = outcome.fitted.labels().answers
    assert np.mean([row.item.startswith(row.label) for row in rows]) > 0.6
    assert unseen.load(write_model(outcome, tmp_path)).origin_["backbone"] == "colours"
    trial = photographs(tmp_path / "seen", None, table, held_out="red,blue", backbone="colours")
    assert sorted(set(trial.truth)) == ["blue", "red"]
    with pytest.raises(DataError, match="no such folder"):
        photographs(tmp_path / "absent", None, table, held_out="red")


def test_texts_are_learned_shown_and_downloaded(tmp_path, monkeypatch):
    monkeypatch.setattr("unseen.features.text_encoder", lambda name="minilm": Bags())
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    data = texts(write_texts(tmp_path / "t.csv"), write_classes(tmp_path / "c.csv"))
    outcome = learn(data, DEFAULT_FOR_TEXTS)
    assert outcome.history
    library = Library(tmp_path, Roots([tmp_path]), SessionStore(tmp_path / "sessions"))
    card = library.picture(library.add(data), 3)
    assert card.media_type == "image/svg+xml"
    assert data.texts[3].split()[0] in card.body.decode()
    given = next(name for name in data.candidates if name != outcome.fitted.predicted[3])
    again = learn(data, DEFAULT_FOR_TEXTS, {3: given})
    assert again.fitted.predicted[3] == given
    for write in DOWNLOADS.values():
        assert write(again, tmp_path).stat().st_size > 0
    assert "Words that mark it" in write_page(again, tmp_path).read_text()

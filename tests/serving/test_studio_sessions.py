"""Sessions of the studio on disk: nothing that was confirmed is lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import numpy as np
import pytest

from pictures import COLOURS, NOBODY_LABELLED, write_attributes, write_pictures
from texts import Bags, write_classes, write_texts
from unseen import labelling
from unseen.exceptions import DataError
from unseen.labelling import Task, fit
from unseen.serving.studio import sessions
from unseen.serving.studio.app import Library
from unseen.serving.studio.class_table import (
    check_html,
    class_names,
    save_table,
    seen_classes,
    table_text,
    with_class,
)
from unseen.serving.studio.data_sources import read_source
from unseen.serving.studio.dropped_items import Dropped, places_of
from unseen.serving.studio.folder_browser import entries
from unseen.serving.studio.live_session import LiveSession, Stopped
from unseen.serving.studio.method_choice import DEFAULT, explanation, groups_for
from unseen.serving.studio.outcomes import NONE_OF_THESE
from unseen.serving.studio.roots import Roots
from unseen.serving.studio.sessions import PHOTOGRAPHS, TEXTS, Session, SessionStore, Source
from unseen.serving.studio.studio_downloads import write_labels

SEEN = [name for name in COLOURS if name not in NOBODY_LABELLED]


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    write_pictures(tmp_path / "seen", SEEN)
    write_pictures(tmp_path / "new", NOBODY_LABELLED)
    write_attributes(tmp_path / "classes.csv")
    return Library(tmp_path, Roots([tmp_path]), SessionStore(tmp_path / "sessions"))


def source(tmp_path):
    return Source(
        PHOTOGRAPHS, str(tmp_path / "seen"), str(tmp_path / "new"), str(tmp_path / "classes.csv"),
        backbone="colours",
    )  # fmt: skip


@pytest.fixture
def live(library, tmp_path):
    session = library.sessions.new(source(tmp_path), [DEFAULT])
    opened = library.open(session.identity)
    asyncio.run(opened.run())
    assert opened.problem == ""
    return opened


def test_a_session_is_read_back_as_it_was(library, tmp_path):
    session = library.sessions.new(source(tmp_path), ["ASTE"], "Füchse")
    session.give("a/1.png", "fox")
    session.give("a/1.png", NONE_OF_THESE)
    library.sessions.save(session)
    assert library.sessions.load(session.identity) == session
    assert [found.name for found in library.sessions.recent()] == ["Füchse"]
    library.sessions.remove(session)
    assert library.sessions.recent() == []
    with pytest.raises(DataError, match="no such session"):
        library.sessions.load(session.identity)


@pytest.mark.parametrize("name", ["../../etc", "a" * 16, "", "0123456789abcdeg"])
def test_no_path_can_be_asked_for(library, name):
    with pytest.raises(DataError, match="no such session"):
        library.open(name)


def test_a_damaged_session_is_not_listed_and_says_why(library, tmp_path):
    session = library.sessions.new(source(tmp_path), ["ASTE"])
    path = library.sessions.place(session.identity) / "session.json"
    for content in ("", "{}", '{"format": 99}'):
        path.write_text(content)
        assert library.sessions.recent() == []
        with pytest.raises(DataError):
            library.sessions.load(session.identity)


def _rewritten(library, session, **changes):
    path = library.sessions.place(session.identity) / "session.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8")


@pytest.mark.parametrize(
    "changes",
    [
        {"changed": "yesterday"},
        {"identity": "../../etc"},
        {"identity": "0" * 16},
        {"labels": {"a.png": 3}},
        {"labels": ["a.png"]},
        {"learned_with": {"a.png": None}},
        {"undo": [["a.png"]]},
        {"undo": [[None, "fox"]]},
        {"methods": "ESZSL"},
        {"source": {"kind": "program"}},
        {"source": {"seen": 3}},
        {"source": ["/etc"]},
    ],
    ids=str,
)
def test_a_forged_session_is_refused_whole_and_the_others_are_listed(library, changes):
    forged, good = (library.sessions.new(Source(), ["ESZSL"]) for _ in range(2))
    _rewritten(library, forged, **changes)
    with pytest.raises(DataError, match="session"):
        library.sessions.load(forged.identity)
    assert [session.identity for session in library.sessions.recent()] == [good.identity]


def test_a_session_of_another_user_or_without_end_is_not_read(library, monkeypatch):
    session = library.sessions.new(Source(), ["ESZSL"])
    place = library.sessions.place(session.identity)
    assert place.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(sessions, "MOST_BYTES", 10)
    with pytest.raises(DataError, match="more than the limit"):
        library.sessions.load(session.identity)
    monkeypatch.undo()
    monkeypatch.setattr(os, "getuid", lambda: place.stat().st_uid + 1)
    with pytest.raises(DataError, match="no such session"):
        library.sessions.load(session.identity)


@pytest.mark.parametrize(
    "named",
    [
        {"kind": "photographs", "seen": "/etc", "pool": "/etc"},
        {"kind": "photographs", "seen": ".", "pool": ".", "backbone": "onnx:/etc/passwd"},
        {"kind": "photographs", "seen": ".", "held_out": "/etc/names.txt"},
        {"kind": "texts", "pool": "/etc/passwd"},
        {"kind": "texts", "pool": "x.csv", "classes": "sessions/../../../etc/passwd"},
        {"kind": "texts", "pool": "x.csv", "seen": "/etc/passwd"},
    ],
    ids=str,
)
def test_what_a_session_names_is_confined(library, named, tmp_path):
    """Someone may have changed the file of a session; relative paths lie below the root here."""
    inside = {
        key: str(tmp_path / value)
        for key, value in named.items()
        if key in ("seen", "pool", "classes") and not value.startswith("/")
    }
    session = library.sessions.new(Source(), ["ESZSL"])
    _rewritten(library, session, source={**named, **inside})
    source = library.sessions.load(session.identity).source
    with pytest.raises(DataError, match="lies outside the folders"):
        read_source(source, library, lambda *_: None)


def test_every_step_can_be_taken_back(library):
    session = Session("0" * 16, "s", Source(), ["ASTE"])
    session.give("1", "fox")
    session.give("2", "bat")
    session.give("1", "seal")
    session.give("2", None)
    assert session.labels == {"1": "seal"}
    steps = [(session.take_back(), dict(session.labels)) for _ in range(5)]
    assert steps == [
        ("2", {"1": "seal", "2": "bat"}),
        ("1", {"2": "bat", "1": "fox"}),
        ("2", {"1": "fox"}),
        ("1", {}),
        (None, {}),
    ]


@pytest.mark.parametrize("confirmed", range(1, 21))
def test_a_kill_at_any_moment_loses_no_confirmed_label(tmp_path, confirmed):
    """A process labels without a pause and says so; it is killed in the middle of the next label."""
    store = SessionStore(tmp_path)
    session = store.new(Source(), ["ASTE"])
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            for number in range(10_000):
                session.give(f"{number}.png", "fox")
                store.save(session)
                os.write(writing, b".")
        finally:
            os._exit(1)
    os.close(writing)
    told = 0
    while told < confirmed:
        told += len(os.read(reading, confirmed - told))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := len(os.read(reading, 100)):
        told += more
    os.close(reading)
    kept = SessionStore(tmp_path).load(session.identity).labels
    assert set(kept) >= {f"{number}.png" for number in range(told)}


@pytest.mark.parametrize("method", [DEFAULT, "ESZSL"])
def test_labels_of_the_studio_are_those_of_the_command_line_with_the_same_corrections(
    live, tmp_path, method
):
    live.session.methods = [method]
    data = live.data
    for row in range(10):
        live.give(row, data.candidates[row % len(data.candidates)])
    asyncio.run(live.run())
    written = write_labels(live.results[0], tmp_path)
    prepared = labelling.prepare(
        tmp_path / "seen", unlabelled=tmp_path / "new", classes=tmp_path / "classes.csv"
    )
    from unseen.features import backbone

    again = labelling.extract(prepared, backbone("colours"), None)
    expected = fit(Task(again, method, corrections=live.marked)).labels()
    expected.write(tmp_path / "expected.csv")
    assert written.read_bytes() == (tmp_path / "expected.csv").read_bytes()


@pytest.mark.parametrize("method", [DEFAULT, "ESZSL"])
def test_opened_again_it_shows_the_result_of_before_and_the_labels_since(live, library, method):
    live.session.methods = [method]
    live.give(0, "white")
    asyncio.run(live.run())
    live.give(1, "purple")
    again = LiveSession(SessionStore(library.sessions.folder).load(live.session.identity), library)
    asyncio.run(again.run(again=False))
    assert again.marked == {0: "white", 1: "purple"}
    np.testing.assert_array_equal(
        again.results[0].result.probabilities, live.results[0].result.probabilities
    )
    assert (library.sessions.place(live.session.identity) / f"labels-{method}.csv").is_file()


def test_what_is_none_of_these_is_left_out_until_it_is_taken_back(live, tmp_path):
    first = live.results[0]
    live.give(3, NONE_OF_THESE)
    assert live.results[0].classes == [*first.classes, NONE_OF_THESE], "it is shown at once"
    asyncio.run(live.run())
    result = live.results[0]
    assert (result.result.labels == 3).tolist() == [row == 3 for row in range(18)]
    assert all(len(line) == 18 for line in (result.result.joined, result.history[0].labels))
    others = np.arange(18) != 3
    alone = fit(Task(live.data.without([3]))).probabilities
    np.testing.assert_array_equal(result.result.probabilities[others][:, :3], alone)
    written = write_labels(result, tmp_path).read_text()
    assert f"{live.data.items[3]},{NONE_OF_THESE},1.0000," in written
    live.give(3, None)
    asyncio.run(live.run())
    np.testing.assert_array_equal(live.results[0].result.probabilities, first.result.probabilities)


def test_labels_of_pictures_that_are_gone_do_no_harm(live):
    live.session.give("gone.png", NONE_OF_THESE)
    live.session.give("gone-too.png", "white")
    asyncio.run(live.run())
    assert live.problem == ""
    assert live.marked == {}


def test_what_changed_is_said(live):
    assert live.changed_rows == []
    asyncio.run(live.run())
    assert live.earlier is not None
    assert live.changed_rows == [], "the same labels make the same result"


def test_stopped_it_keeps_the_last_result(live, monkeypatch):
    before = live.outcomes

    def stopped(*arguments):
        raise Stopped

    monkeypatch.setattr("unseen.serving.studio.live_session.learn", stopped)
    asyncio.run(live.run())
    assert live.outcomes is before
    assert "Stopped" in live.problem
    assert not live.work.going


def test_a_fault_is_told_and_keeps_the_last_result(live, monkeypatch):
    before = live.outcomes

    def faulty(*arguments):
        raise TypeError("one argument too many")

    monkeypatch.setattr("unseen.serving.studio.live_session.learn", faulty)
    asyncio.run(live.run())
    assert live.outcomes is before
    assert live.problem == "This failed, and should not have: TypeError: one argument too many"
    assert not live.work.going


def test_reading_can_be_stopped(library, tmp_path, monkeypatch):
    opened = library.open(library.sessions.new(source(tmp_path), [DEFAULT]).identity)
    show = opened._show

    def stop_soon(text, share):
        show(text, share)
        opened.stop()

    monkeypatch.setattr(opened, "_show", stop_soon)
    asyncio.run(opened.run())
    assert "Stopped" in opened.problem
    assert opened.outcomes == {}


def test_the_class_table_is_shown_added_to_and_checked(library, tmp_path):
    asked = source(tmp_path)
    text = table_text(library, asked)
    assert text.startswith("class,redness,greenness,blueness\nred,")
    with pytest.raises(DataError, match="has a class 'red' already"):
        with_class(text, "red", "", "pink")
    with pytest.raises(DataError, match="Say which class has such attributes"):
        with_class(text, "teal", "", "")
    longer = with_class(text, "teal", "", "cyan")
    path = save_table(longer, library)
    assert save_table(longer, library) == path
    html = check_html(path, SEEN)
    assert "<td>teal</td><td>to find</td><td>cyan</td>" in html
    described = with_class("class\nfox\n", "bat", "flies at night", "")
    assert described.splitlines() == ["class,description", "fox,", "bat,flies at night"]
    names = table_text(library, Source(PHOTOGRAPHS, asked.seen))
    assert names.splitlines()[:2] == ["class,description", '"blue",'.replace('"', "")]


def test_the_classes_of_texts_are_shown_added_to_and_checked(library, tmp_path, monkeypatch):
    monkeypatch.setattr("unseen.features.text_encoder", lambda name="minilm": Bags())
    pool, classes = write_texts(tmp_path / "t.csv"), write_classes(tmp_path / "c.csv")
    asked = Source(TEXTS, "", str(pool), str(classes))
    text = table_text(library, asked)
    assert text.startswith("class,description\nrefund,money back")
    longer = with_class(text, "invoice", "money bill payment due", "")
    assert class_names(longer) == ["refund", "parcel", "login", "invoice"]
    html = check_html(save_table(longer, library), [], texts=True)
    assert "<td>invoice</td><td>to find</td><td>refund</td>" in html
    examples = with_class("name,example,example2\nrefund,a,b\n", "login", "I forgot it", "")
    assert examples.splitlines()[-1] == "login,I forgot it,"
    seen = write_texts(tmp_path / "s.csv", column="label")
    assert seen_classes(library, Source(TEXTS, str(seen), str(pool))) == ["login", "parcel", "refund"]
    assert table_text(library, Source(TEXTS, str(seen), str(pool))).splitlines()[:2] == [
        "class,description",
        "login,",
    ]
    with pytest.raises(DataError, match="no column 'class'; columns are kind, words"):
        class_names("kind,words\nfox,red\n")
    with pytest.raises(DataError, match="The table is empty"):
        class_names("")


def test_what_is_dropped_is_found_by_its_name_and_content(tmp_path):
    roots = Roots([tmp_path / "home"])
    for place in ("home/a/photos", "home/b/photos", "home/c/photos", "outside/photos"):
        (tmp_path / place).mkdir(parents=True)
    for place in ("home/a", "home/b", "outside"):
        (tmp_path / place / "photos" / "1.jpg").write_bytes(b"jpeg")
    (tmp_path / "home" / "classes.csv").write_bytes(b"class\n")
    (tmp_path / "home" / "a" / "classes.csv").write_bytes(b"longer\n\n")
    photos = Dropped.told({"name": "photos", "folder": True, "names": ["1.jpg"], "size": 0})
    home = tmp_path / "home"
    assert places_of(photos, roots) == [home / "a" / "photos", home / "b" / "photos"]
    assert places_of(photos, roots, [home / "b"])[0] == home / "b" / "photos"
    table = Dropped.told({"name": "classes.csv", "folder": False, "names": [], "size": 6})
    assert places_of(table, roots) == [home / "classes.csv"]
    assert places_of(Dropped("home", True, ("a", "b")), roots) == [home]
    with pytest.raises(DataError, match=r"no such folder was found in .*home, the folders that"):
        places_of(Dropped("elsewhere", True), roots)


@pytest.mark.parametrize(
    "content",
    [
        None,
        "photos",
        {"name": "photos"},
        {"name": "../photos", "folder": True, "names": [], "size": 0},
        {"name": "photos", "folder": True, "names": ["../../etc/passwd"], "size": 0},
        {"name": "photos", "folder": True, "names": [3], "size": 0},
        {"name": "photos", "folder": True, "names": [], "size": "1"},
    ],
)
def test_a_drop_that_is_none_is_refused(content):
    with pytest.raises(DataError, match="Drop a folder or a file"):
        Dropped.told(content)


def test_the_browser_of_folders_lists_no_hidden_ones(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("t.csv", "t.exe", ".t.csv"):
        (tmp_path / name).touch()
    assert entries(tmp_path, (".csv",)) == (["b"], ["t.csv"])
    assert Roots([tmp_path]).holds(tmp_path / "b")
    assert not Roots([tmp_path / "b"]).holds(tmp_path)


def test_methods_are_grouped_and_explained_in_one_line():
    pictures, texts = groups_for(False), groups_for(True)
    assert [len(names) > 0 for names in texts.values()] == [True] * 4
    assert len(pictures) == 3, "methods that need texts are not offered for pictures"
    for names in texts.values():
        for name in names:
            told = explanation(name)
            assert told
            assert "\n" not in told
    assert explanation(DEFAULT).startswith("Recommended: ")

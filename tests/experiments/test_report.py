"""The report as a reader's browser gets it, and the two commands."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from unseen.cli import app
from unseen.experiments import paper, write_report
from unseen.experiments.results import MEASURES

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "link", "img", "br", "wbr", "hr", "input"}


class Page(HTMLParser):
    """Checks nesting, and gathers identifiers, addresses and the cells of tables."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.addresses, self.cells = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        self.addresses += [found[k] for k in ("href", "src", "xlink:href") if k in found]
        if tag == "td":
            self.cells.append((found, []))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open[-2:]:
            self.cells[-1][1].append(data)


@pytest.fixture(scope="module")
def written(finished, tmp_path_factory):
    plan, store = finished
    out = tmp_path_factory.mktemp("report")
    return write_report(store, out, plan.keys, "A <small> run", "unseen bench --cell")


@pytest.fixture(scope="module")
def page(written):
    return Page(written[0].read_text(encoding="utf-8"))


def test_files_are_written(written):
    names = [p.name for p in written]
    assert names[0] == "report.html"
    assert {"table_2.csv", "table_2.json", "table_2.tex", "fig_4.svg", "fig_4.json"} <= set(names)
    assert all(p.stat().st_size for p in written)


def test_page_is_well_formed_and_needs_no_network(page, written):
    text = written[0].read_text(encoding="utf-8")
    assert len(set(page.ids)) == len(page.ids)
    assert all(a.startswith(("#", "data:")) for a in page.addresses)
    assert {a[1:] for a in page.addresses if a.startswith("#")} <= set(page.ids)
    assert not re.search(r"(src|href)=[\"']https?:|@import|url\(https?:", text)
    assert "A &lt;small&gt; run" in text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text
    assert "$" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)


def test_every_number_of_the_page_traces_to_its_rows(page, finished):
    _, store = finished
    rows = {r.key: r for r in store.rows()}
    published = {p.mean for t in ("II", "III", "IV") for p in paper.accuracies(t)}
    published |= {v for line in paper.times() for v in (line.without, line.with_ft, line.ratio)}
    traced = 0
    for found, text in page.cells:
        if "data-value" not in found:
            continue
        value = float(found["data-value"])
        if "data-keys" not in found:
            assert value in published, text
            continue
        own = [rows[key] for key in found["data-keys"].split()]
        source = found["data-source"]
        if source.startswith("mean "):
            measure, _, minus = source.removeprefix("mean ").partition(" minus ")
            assert value == pytest.approx(
                np.mean([MEASURES[measure](r) for r in own]) - float(minus or 0)
            )
        elif source == "history":
            known = [v for line in own[0].history for v in line.values() if v is not None]
            assert any(value == pytest.approx(s * v) for v in known for s in (1, 100))
        else:
            assert source == "ratio seconds"
        traced += 1
    assert traced > 150


def test_page_tells_in_words_and_warns(written):
    text = written[0].read_text(encoding="utf-8")
    assert "paired bootstrap over classes" in text
    assert "not comparable: simulated data" in text
    assert "unseen bench --cell" in text


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_loads_and_sorts_it(written, tmp_path):
    probe = """<script>
      window.addEventListener("error", e => document.body.dataset.error = e.message);
      const table = document.querySelector("#table_2 + div table");
      const column = () => [...table.tBodies[0].rows].map(r => Number(r.cells[2].dataset.value));
      table.tHead.rows[0].cells[2].querySelector("button").click();
      document.body.dataset.falling = JSON.stringify(column());
      table.tHead.rows[0].cells[2].querySelector("button").click();
      document.body.dataset.rising = JSON.stringify(column());
      parent.postMessage({wide: document.documentElement.scrollWidth, ...document.body.dataset}, "*");
    </script></body>"""
    text = written[0].read_text(encoding="utf-8").replace("</body>", probe)
    text = re.sub(r"<meta http-equiv=.*\n", "", text)  # it would stop the probe, as it should
    (tmp_path / "copy.html").write_text(text, encoding="utf-8")
    (tmp_path / "phone.html").write_text(
        '<!DOCTYPE html><title>wait</title><iframe src="copy.html" width="390" height="800"></iframe>'
        '<pre></pre><script>addEventListener("message", e => '
        'document.querySelector("pre").textContent = JSON.stringify(e.data));</script>'
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}"]
    options += ["--enable-logging=stderr", "--virtual-time-budget=4000", "--dump-dom"]
    command = [CHROMIUM, *options, (tmp_path / "phone.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    console = [line for line in done.stderr.split("\n") if "CONSOLE" in line]
    assert console == []
    told = json.loads(re.search(r"<pre>(.*)</pre>", done.stdout)[1])
    falling, rising = json.loads(told["falling"]), json.loads(told["rising"])
    assert falling == sorted(falling, reverse=True)
    assert rising == sorted(rising)
    assert "error" not in told
    assert told["wide"] <= 390, "the page scrolls sideways on a phone"


SPEC = '[[experiment]]\ndatasets = ["simulated-aPY@0.02x16"]\nmethods = ["ESZSL", "Fast-ESZSL"]\n'


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(SPEC)
    runner = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"})
    return lambda *a: runner.invoke(app, list(a))


def test_bench_runs_resumes_and_reports(invoke, tmp_path):
    first = invoke("bench", "mine.toml", "--jobs", "1", "--json")
    assert first.exit_code == 0, first.output
    told = json.loads(first.stdout)
    assert (told["cells"], told["run_now"], told["failed"]) == (2, 2, 0)
    assert (tmp_path / told["report"]).is_file()
    again = invoke("bench", "mine.toml", "--jobs", "1")
    assert "2 cells, 0 run now" in again.stdout
    more = invoke("bench", "mine.toml", "--seeds", "2", "--methods", "ESZSL", "--jobs", "1")
    assert "2 cells, 1 run now" in more.stdout
    key = told["results"][0]["key"]
    same = invoke("bench", "--cell", key)
    assert same.stdout.strip().endswith(": the same")
    written = invoke("report", "--json")
    assert "out/bench/report.html" in json.loads(written.stdout)["files"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench"], "Give a specification file, or --paper"),
        (["bench", "mine.toml", "--paper"], "and not both"),
        (["bench", "mine.toml", "--datasets", "nothing"], "no data set 'nothing'"),
        (["report", "--out", "empty"], "no such store"),
        (["bench", "--cell", "abc"], "no such store"),
    ],
)
def test_commands_refuse(invoke, arguments, message):
    result = invoke(*arguments)
    assert result.exit_code != 0
    assert message in str(result.exception)

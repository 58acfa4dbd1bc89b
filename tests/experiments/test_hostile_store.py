"""A store of results that somebody else made: nothing in it runs in the browser of the reader."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess

import pytest

from unseen.experiments import write_report
from unseen.experiments.result_store import Store
from unseen.reporting.html_page import html_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
RUN = "document.documentElement.dataset.ran=1"
TAG = f"""'"><script>{RUN}</script><img src=x onerror="{RUN}">$x$"""
PICTURE = f'data:image/png;base64,AAAA" onerror="{RUN}'
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy".*\n')


@pytest.fixture(scope="module")
def hostile_report(finished, tmp_path_factory):
    """A report of a finished run, in whose store every text became a piece of script."""
    _, store = finished
    folder = tmp_path_factory.mktemp("hostile")
    with sqlite3.connect(folder / "results.sqlite") as copy:
        store._database.backup(copy)
        for number, (key, metrics) in enumerate(
            copy.execute("select key, metrics from cells").fetchall()
        ):
            found = json.loads(metrics)
            wrong = {"true": TAG, "predicted": TAG, "confidence": 0.9, "row": TAG, "picture": ""}
            found["hardest"] = [wrong, {**wrong, "picture": PICTURE}, {**wrong, "picture": TAG}]
            found["warnings"] = [TAG]
            for finding in found.get("findings", ()):
                finding.update(dict.fromkeys(finding, TAG))
            copy.execute(
                "update cells set key=?, dataset=dataset||?, data_hash=?, features=?, versions=?,"
                " error=?, finished=?, metrics=? where key=?",
                (
                    f"{TAG}{number}",
                    TAG,
                    TAG,
                    TAG,
                    json.dumps({TAG: TAG}),
                    TAG,
                    TAG,
                    json.dumps(found),
                    key,
                ),
            )
    copy.close()
    with Store(folder / "results.sqlite") as changed:
        return write_report(changed, folder / "report", None, TAG, TAG)


def _dom(page, folder):
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'user'}"]
    command = [CHROMIUM, *options, "--virtual-time-budget=4000", "--dump-dom", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


def test_no_piece_of_script_is_left_whole(hostile_report):
    for path in hostile_report:
        if path.suffix in (".html", ".svg"):
            text = path.read_text(encoding="utf-8")
            assert f"<script>{RUN}" not in text, path.name
            assert not re.search(r'<[^>]*\sonerror="', text), path.name
    assert POLICY.search(hostile_report[0].read_text(encoding="utf-8"))


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("policy", [True, False], ids=["with policy", "escaping alone"])
def test_no_script_runs_in_a_browser(hostile_report, tmp_path, policy):
    text = hostile_report[0].read_text(encoding="utf-8")
    page = tmp_path / "report.html"
    page.write_text(text if policy else POLICY.sub("", text), encoding="utf-8")
    shown = _dom(page, tmp_path)
    assert "data-ran" not in shown
    assert "Hardest rows" in shown


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_the_policy_alone_stops_a_script(tmp_path):
    """A sink that somebody forgets to escape is not enough; without the policy it would be."""
    text = html_page(title="", subtitle="", contents={}, body=f"<p>{TAG}</p>", footer="")
    ran = {}
    for name, content in {"with": text, "without": POLICY.sub("", text)}.items():
        page = tmp_path / f"{name}.html"
        page.write_text(content, encoding="utf-8")
        ran[name] = "data-ran" in _dom(page, tmp_path)
    assert ran == {"with": False, "without": True}


def test_tables_hold_no_formulas(hostile_report):
    tables = [path for path in hostile_report if path.suffix == ".csv"]
    assert tables
    for path in tables:
        assert not re.search(r'(^|,)"?[=@]', path.read_text(encoding="utf-8"), re.M)

"""The study of reviewed rows runs on the embedded letters, and draws its figure."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_curves_of_letters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import review_curves

    monkeypatch.setattr(review_curves, "COUNTS", (5,))
    monkeypatch.setattr(review_curves, "RANDOM_DRAWS", 1)
    picture = tmp_path / "review.png"
    review_curves.main(["--datasets", "letters", "--rows", "8", "--out", str(picture)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all("% with 0, 5 labels" in line for line in lines)
    assert picture.read_bytes().startswith(b"\x89PNG")

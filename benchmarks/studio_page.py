"""The studio's page of thousands of pictures in Chromium: when it is painted, and what it holds.

    python benchmarks/studio_page.py [--pictures 5000] [--repeat 3] [--photographs FOLDER]

It writes pictures of colours, or takes the photographs of a folder over and over, learns their classes
in a studio of its own, loads the page of the result several times and prints, in seconds since the
navigation began: the first contentful paint, when the answer is whole, when the first thumbnails are
decoded, and when the result can be used. Then it scrolls from top to bottom and back, and prints
the most elements and the memory of the page. Needs playwright and chromium. Seconds depend on the
machine: the tests assert sizes, not times.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "serving")]

TIMES = """() => ({
  paint: performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000,
  answer: performance.getEntriesByType('navigation')[0].responseEnd / 1000,
  thumbnails: window.thumbnailsAt / 1000, result: window.resultAt / 1000})"""
WATCH = """
const look = () => {
  const shown = [...document.querySelectorAll('.tile img')];
  if (!window.resultAt && document.querySelector('[aria-label^="Labels (CSV),"]'))
    window.resultAt = performance.now();
  if (shown.length && shown.some((one) => one.complete && one.naturalWidth))
    window.thumbnailsAt = performance.now();
  if (!window.resultAt || !window.thumbnailsAt) requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
NEXT_FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
SCROLL_STEPS = 60


def _take(photographs: Path, folder: Path, count: int) -> None:
    """Put photographs in the place of the pictures to label, each as often as needed."""
    files = [path for path in sorted(photographs.rglob("*")) if path.is_file()]
    for number, path in enumerate(sorted(folder.iterdir())[:count]):
        chosen = files[number % len(files)]
        path.unlink()
        shutil.copyfile(chosen, path.with_name(f"{path.stem}-{chosen.name}"))


def measured(pictures: int, repeat: int, photographs: Path | None) -> None:
    """Measure a page of so many pictures, and print what was found."""
    from playwright.sync_api import sync_playwright
    from studio_browser import CHROMIUM, name_folders, opened, result_is_there, studio
    from test_studio_journey import write_thousands

    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        write_thousands(folder, pictures)
        if photographs is not None:
            _take(photographs, folder / "new", pictures)
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--enable-precise-memory-info"]
        )
        with studio(folder) as running, opened(browser, running.url) as page:
            name_folders(page, folder)
            page.get_by_role("button", name="Learn").click()
            result_is_there(page)
            page.add_init_script(WATCH)
            loads = []
            for _ in range(repeat):
                page.reload()
                page.wait_for_function("window.thumbnailsAt && window.resultAt")
                loads.append(page.evaluate(TIMES))
            for name in loads[0]:
                seconds = [load[name] for load in loads]
                print(
                    f"{name:12} median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s"
                )
            _scroll(page)
        browser.close()


def _scroll(page: Any) -> None:
    """Scroll down and up; print the most elements and the memory of the page."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def memory() -> dict[str, float]:
        session.send("HeapProfiler.collectGarbage")
        found = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
        return {"heap": found["JSHeapUsedSize"] / 1e6, "nodes": found["Nodes"]}

    before, most, tiles = memory(), 0, 0
    height = page.evaluate("document.body.scrollHeight")
    for step in [*range(SCROLL_STEPS + 1), *reversed(range(SCROLL_STEPS))]:
        page.evaluate("top => scrollTo(0, top)", height * step / SCROLL_STEPS)
        page.evaluate(NEXT_FRAME)
        most = max(most, page.evaluate("document.querySelectorAll('*').length"))
        tiles = max(tiles, page.locator(".tile").count())
    after = memory()
    print(f"scrolling    {height:,} pixels, most elements {most:,}, most tiles {tiles:,}")
    print(f"heap         {before['heap']:.1f} MB before, {after['heap']:.1f} MB after scrolling")
    print(f"nodes        {before['nodes']:,.0f} before, {after['nodes']:,.0f} after")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pictures", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--photographs", type=Path)
    asked = parser.parse_args()
    measured(asked.pictures, asked.repeat, asked.photographs)


if __name__ == "__main__":
    main()

"""Write the numbers of the documents anew: what docs/numbers.toml lists.

    python benchmarks/docs_numbers.py            # constants, the demo's figures and picture: seconds
    python benchmarks/docs_numbers.py --check    # change nothing, name what is stale
    python benchmarks/docs_numbers.py --slow --only pools-taste    # a table of minutes

A constant is a number in a sentence that the code decides; a figure is one that ``unseen demo``
measures. In the listing, ``{}`` stands for the number. A table stands between two comments in its page,
``<!-- numbers: NAME; code DIGEST; answers DIGEST -->`` and ``<!-- end: NAME -->``, and is what its
command prints. The first digest is that of the code that it was measured with. The second is that of
the golden answers of its methods at that time: code may change without a change of answers, but a
table whose methods answer otherwise than when it was measured is stale, and the site is not built with
it. Tables marked ``edited`` are put together by hand from several runs: the script prints their command
and leaves them alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from unseen.experiments.code_digest import code_digest

ROOT = Path(__file__).parents[1]
LISTING = ROOT / "docs" / "numbers.toml"
PICTURE = ROOT / "docs" / "img" / "demo.png"
GOLDEN = ROOT / "tests" / "golden" / "answers.json.xz"
NUMBER = r"[−+-]?\d[\d,]*(?:\.\d+)?|[a-z]+"
WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
TOLERANCE = 0.3
"""Points by which the accuracy of the demo may differ between machines: five digits of 1,797."""


class Number(NamedTuple):
    """A place in a page with the number that belongs there."""

    file: Path
    text: str
    value: str
    tolerance: float = 0.0

    def pattern(self) -> re.Pattern[str]:
        """Return what finds the place; a space matches the end of a line too."""
        before, after = (
            re.sub(r"(?:\\ )+", r"\\s+", re.escape(part)) for part in self.text.split("{}")
        )
        return re.compile(f"({before})({NUMBER})({after})")

    def fault(self, page: str) -> str | None:
        """Say what is wrong with the place in the page, if anything is."""
        present = [match.group(2) for match in self.pattern().finditer(page)]
        name = self.file.relative_to(ROOT)
        if not present:
            return f"{name}: no place reads {self.text!r}"
        wrong = [text for text in present if not self.agrees(text)]
        return f"{name}: {self.text!r} has {wrong[0]}, the code {self.value}" if wrong else None

    def agrees(self, text: str) -> bool:
        """Tell whether a number in the page is the right one, within the tolerance."""
        if not self.tolerance or text == self.value:
            return text == self.value
        return abs(float(text) - float(self.value)) <= self.tolerance


def listing() -> dict[str, list[dict[str, Any]]]:
    """Read what docs/numbers.toml lists."""
    return tomllib.loads(LISTING.read_text(encoding="utf-8"))


def constants() -> Iterator[Number]:
    """Yield every number that the code decides."""
    for entry in listing()["constant"]:
        value = written(pkgutil.resolve_name(entry["value"]), entry.get("as", "g"))
        yield Number(ROOT / entry["file"], entry["text"], value)


def written(value: float, form: str) -> str:
    """Return a number as a page has it: by a format, in percent, or as a word.

    >>> written(3000, ","), written(0.002, "percent"), written(6, "word")
    ('3,000', '0.2', 'six')
    """
    if form == "word":
        return WORDS[int(value)]
    text = format(100 * value, "g") if form == "percent" else format(value, form)
    return text.replace("-", "−")


class Demo(NamedTuple):
    """What ``unseen demo`` measured: accuracies in percent by method and column, and its picture."""

    accuracy: dict[tuple[str, str], float]
    picture: Path

    def numbers(self) -> Iterator[Number]:
        """Yield every number of the pages that the demo measures."""
        for entry in listing()["demo"]:
            value = f"{self.accuracy[entry['method'], entry['column']]:.1f}"
            yield Number(ROOT / entry["file"], entry["text"], value, TOLERANCE)

    def fault_of_picture(self) -> str | None:
        """Say how the title of the picture in the documents differs from the demo's, if it does."""
        ours, theirs = (title_of(path) for path in (PICTURE, self.picture))
        split = re.compile(r"(.*?)([\d.]+)%$")
        (name, text), (other_name, other) = (
            split.fullmatch(title).groups() for title in (ours, theirs)
        )
        if name == other_name and abs(float(text) - float(other)) <= TOLERANCE:
            return None
        return f"{PICTURE.relative_to(ROOT)}: its title is {ours!r}, the demo's {theirs!r}"


def run_demo(folder: Path) -> Demo:
    """Run the demo into a folder."""
    command = [sys.executable, "-m", "unseen", "demo", "--out", str(folder), "--json"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    accuracy = {
        (result["method"], column): 100 * value
        for result in json.loads(printed)["results"]
        for column, value in result.items()
        if isinstance(value, float)
    }
    return Demo(accuracy, folder / "digits.png")


def title_of(picture: Path) -> str:
    """Return the title that a PNG carries."""
    with Image.open(picture) as image:
        return str(image.info.get("Title", "0%"))


@cache
def golden_labels() -> dict[str, str]:
    """Return, for every estimator, the labels that it gives the golden slices, as text."""
    slices = json.loads(lzma.decompress(GOLDEN.read_bytes()))["slices"]
    labels: dict[str, list[Any]] = {}
    for name, recorded in sorted(slices.items()):
        for estimator, answer in recorded["answers"].items():
            labels.setdefault(estimator, []).append(
                [name, answer["labels"], answer.get("transduction")]
            )
    return {estimator: json.dumps(answers) for estimator, answers in labels.items()}


def answers_digest(methods: list[str]) -> str:
    """Return a digest of the golden answers of some methods; ``none`` if none of them is recorded."""
    recorded = [golden_labels()[method] for method in methods if method in golden_labels()]
    return hashlib.sha256("\n".join(recorded).encode()).hexdigest()[:12] if recorded else "none"


class Table(NamedTuple):
    """A table in a page, between its two comments, and what the results say about it."""

    name: str
    file: Path
    command: str
    edited: bool = False
    topic: str = "accuracy"
    title: str = ""

    def pattern(self) -> re.Pattern[str]:
        """Return what finds the table: the digests of code and answers, and the lines between."""
        first = rf"<!-- numbers: {re.escape(self.name)}; code (\w+)(?:; answers (\w+))? -->\n"
        return re.compile(rf"{first}(.*?)\n<!-- end: {re.escape(self.name)} -->", re.S)

    def parts(self) -> tuple[str, str, str]:
        """Return the digest of the code, that of the answers, and the lines of the table."""
        matches = self.pattern().findall(self.file.read_text(encoding="utf-8"))
        if len(matches) != 1:
            raise ValueError(f"{self.file.relative_to(ROOT)}: {len(matches)} tables {self.name!r}.")
        code, answers, lines = matches[0]
        return str(code), str(answers), str(lines)

    def code(self) -> str:
        """Return the digest of the code that the table was measured with."""
        return self.parts()[0]

    def methods(self) -> list[str]:
        """Return the methods that the table is about, by its lines, its columns or its command."""
        text = self.parts()[2] + " " + self.command
        return sorted(name for name in golden_labels() if re.search(rf"(?<!\w){name}(?!\w|\()", text))

    def stale(self) -> str | None:
        """Say that methods of the table answer otherwise than when it was measured, if they do.

        Times do not depend on answers: they carry the digest of their code alone.
        """
        answers = self.parts()[1]
        if self.topic == "speed" or answers == answers_digest(self.methods()):
            return None
        return (
            f"{self.file.relative_to(ROOT)}: the answers of methods in the table {self.name!r} have"
            f" changed since it was measured. Measure it again: {self.command}"
        )

    def measure(self) -> None:
        """Run the command and put what it prints into the page."""
        words = [sys.executable if word == "python" else word for word in shlex.split(self.command)]
        printed = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
        self.write(printed, code_digest())

    def write(self, printed: str, digest: str) -> None:
        """Put a table into the page, with the digests of its code and of its methods' answers."""

        def put(answers: str) -> None:
            head = f"<!-- numbers: {self.name}; code {digest}; answers {answers} -->"
            block = f"{head}\n{printed.strip()}\n<!-- end: {self.name} -->"
            page = self.file.read_text(encoding="utf-8")
            self.file.write_text(self.pattern().sub(lambda _: block, page), encoding="utf-8")

        put("none")
        put(answers_digest(self.methods()))


def tables() -> list[Table]:
    """Return every table that takes minutes."""
    return [Table(**entry | {"file": ROOT / entry["file"]}) for entry in listing()["table"]]


def faults(numbers: Iterator[Number]) -> list[str]:
    """Return what is stale among numbers of pages."""
    checked = (number.fault(number.file.read_text(encoding="utf-8")) for number in numbers)
    return [fault for fault in checked if fault]


def write(numbers: Iterator[Number]) -> None:
    """Put numbers into their pages where they are not what they should be."""
    for number in numbers:
        page = number.file.read_text(encoding="utf-8")
        fault = number.fault(page)
        if fault:
            print(fault)
            new = number.pattern().sub(lambda m, value=number.value: m[1] + value + m[3], page)
            number.file.write_text(new, encoding="utf-8")


def main() -> None:
    """Write or check the quick numbers; with ``--slow``, measure tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the tables")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        demo = run_demo(Path(folder))
        if not options.check:
            write(constants())
            write(demo.numbers())
            shutil.copy(demo.picture, PICTURE)
        left = faults(constants()) + faults(demo.numbers())
        left += filter(None, [demo.fault_of_picture()])
    for table in tables():
        asked = options.slow and (not options.only or table.name in options.only)
        if asked and not table.edited and not options.check:
            print(f"{table.name}: {table.command}", flush=True)
            table.measure()
        elif table.stale():
            left.append(str(table.stale()))
        elif table.code() != code_digest():
            print(f"{table.name}: measured with code {table.code()}, by: {table.command}")
    if left:
        sys.exit("\n".join(left))


if __name__ == "__main__":
    main()

"""The kinds of write that are killed: what is there before, what is written, and what must be found."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path

from power_loss import MARK


class Scene(ABC):
    """A kind of write: what is there before, what is written, and what must be found afterwards."""

    confirms_power_loss = True
    """Whether what is confirmed is on the disk."""

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Make the state before."""

    @abstractmethod
    def write(self, folder: Path) -> None:
        """Write, and confirm."""

    @abstractmethod
    def check(self, folder: Path, confirmed: int) -> None:
        """Look at what is there after a crash, and go on from it."""


def confirm(folder: Path) -> None:
    """Note that one more thing is confirmed."""
    handle = os.open(folder / MARK, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, b"x")
    os.close(handle)


class SaveModel(Scene):
    """``model.save`` over an older model."""

    def __init__(self) -> None:
        from toys import make_toy
        from unseen import ESZSL

        toy = make_toy()
        self.model = ESZSL(toy.semantics).fit(toy.X[toy.train], toy.y[toy.train])

    def prepare(self, folder: Path) -> None:
        self.model.set_params(candidates="unseen").save(folder / "m.safetensors")

    def write(self, folder: Path) -> None:
        self.model.set_params(candidates="all").save(folder / "m.safetensors")
        confirm(folder)

    def check(self, folder: Path, confirmed: int) -> None:
        from unseen import load

        found = load(folder / "m.safetensors").candidates
        assert found in (("all",) if confirmed else ("all", "unseen")), found
        self.write(folder)


class AddClass(SaveModel):
    """A class that a client adds."""

    def write(self, folder: Path) -> None:
        from unseen.serving.keeper import Keeper, NewClass

        Keeper(folder / "m.safetensors").add(NewClass("owl", vector=[0.5] * 8))
        confirm(folder)

    def check(self, folder: Path, confirmed: int) -> None:
        from unseen import load
        from unseen.serving.keeper import Keeper, NewClass

        path = folder / "m.safetensors"
        assert "owl" in load(path).classes_.tolist() or not confirmed
        Keeper(path).add(NewClass("elk", vector=[0.5] * 8))


class Label(Scene):
    """``labels.csv`` and the report of ``unseen label``, over older ones."""

    def _labels(self, label: str):  # type: ignore[no-untyped-def]
        from unseen.labelling import Answer, Labels

        answers = [Answer(f"{i}.png", label, 0.9, "bat", None) for i in range(500)]
        return Labels(answers, ["fox", "owl"], Path("nowhere"))

    def prepare(self, folder: Path) -> None:
        self._labels("fox").write(folder / "labels.csv")

    def write(self, folder: Path) -> None:
        from unseen.reporting.html_page import write_text

        self._labels("owl").write(folder / "labels.csv")
        confirm(folder)
        write_text(folder / "report.html", "<p>report</p>" * 1000)
        confirm(folder)

    def check(self, folder: Path, confirmed: int) -> None:
        lines = (folder / "labels.csv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 501
        assert {line.split(",")[1] for line in lines[1:]} <= ({"owl"} if confirmed else {"owl", "fox"})
        report = folder / "report.html"
        assert len(report.read_text()) == 13000 if report.exists() else confirmed < 2


class Extract(Scene):
    """Features of photographs, kept for the next time; a power loss may cost some of them."""

    confirms_power_loss = False

    def prepare(self, folder: Path) -> None:
        from pictures import Colours, write_pictures
        from unseen.features import FeatureStore, extract

        self.paths = write_pictures(folder.parent / "photographs", ("red", "blue"), 6)
        with FeatureStore(folder / "cache") as store:
            extract(self.paths[:2], Colours(), store, batch_size=2)

    def write(self, folder: Path) -> None:
        from pictures import Colours
        from unseen.features import FeatureStore, extract

        with FeatureStore(folder / "cache") as store:
            extract(self.paths, Colours(), store, batch_size=2, on_progress=lambda _: confirm(folder))

    def check(self, folder: Path, confirmed: int) -> None:
        import numpy as np

        from pictures import Colours
        from unseen.features import FeatureStore, extract

        with FeatureStore(folder / "cache") as store:
            again = extract(self.paths, Colours(), store, batch_size=2)
        np.testing.assert_array_equal(again.X, extract(self.paths, Colours()).X)


class Bench(Scene):
    """Cells of ``unseen bench``, one transaction each."""

    def _cells(self):  # type: ignore[no-untyped-def]
        from unseen.experiments.plan import Cell

        return [Cell("letters", "ESZSL", trial=trial) for trial in range(4)]

    def prepare(self, folder: Path) -> None:
        from unseen.experiments.execute import Outcome
        from unseen.experiments.result_store import Store

        with Store(folder / "results.sqlite") as store:
            store.write(self._cells()[0], Outcome("done", metrics={"accuracy": 0.5}))

    def write(self, folder: Path) -> None:
        from unseen.experiments.execute import Outcome
        from unseen.experiments.result_store import Store

        with Store(folder / "results.sqlite") as store:
            for cell in self._cells()[1:]:
                store.write(cell, Outcome("done", metrics={"accuracy": 0.5}))
                confirm(folder)

    def check(self, folder: Path, confirmed: int) -> None:
        from unseen.experiments.result_store import Store

        with Store(folder / "results.sqlite") as store:
            rows = store.rows()
        assert {row.accuracy for row in rows} == {0.5}
        assert {cell.key for cell in self._cells()[: 1 + confirmed]} <= {row.key for row in rows}
        self.write(folder)


class Careless(SaveModel):
    """A write in place, without a sync: the attack must find that it loses models."""

    def write(self, folder: Path) -> None:
        from unseen.persistence.model_files import to_bytes

        (folder / "m.safetensors").write_bytes(to_bytes(self.model.set_params(candidates="all")))
        confirm(folder)


SCENES = {"save": SaveModel, "add-class": AddClass, "label": Label, "extract": Extract, "bench": Bench}
CONTROLS = {"careless": Careless}

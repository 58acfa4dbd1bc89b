"""A small part of `make attack`: the saved corpus, and a few mutations and forgeries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutated_files import CORPUS, attack, attack_folder, corpus, folders, formats, read_or_refuse

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGALRM")
FORMATS, FOLDERS = formats(), folders()


@pytest.mark.parametrize("name", FORMATS)
def test_the_corpus_is_read_or_refused(name, tmp_path):
    made = FORMATS[name]
    sound, *others = (Path(shutil.copy(path, tmp_path)) for path in corpus(name, made))
    made.read(sound)
    for path in others:
        read_or_refuse(made, path)


def test_every_saved_file_belongs_to_a_format():
    known = {path for name, made in FORMATS.items() for path in corpus(name, made)}
    assert set(CORPUS.iterdir()) == known


@pytest.mark.parametrize("name", FORMATS)
def test_mutated_files(name):
    attack(name, 15, seed=1)


@pytest.mark.parametrize("name", FOLDERS)
def test_mutated_folders(name):
    attack_folder(name, 10, seed=1)


def test_forged_models():
    path = os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE.parent)])
    command = [sys.executable, str(HERE / "forged_models.py"), "--count", "60", "--seed", "1"]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True)

"""Small texts made on the spot, and an encoder that counts their words."""

from __future__ import annotations

import zlib

import numpy as np

CLASSES = {
    "refund": "money back refund payment",
    "parcel": "parcel delivery late post",
    "login": "password account login reset",
}
OTHER_WORDS = ["please", "today", "my", "the", "again", "could", "help", "you", "with"]


class Bags:
    """Every word is a direction, and a text their sum. ``seen`` counts what went through."""

    name = "bags"
    identity = "bags | 1"
    prompt = "{}"
    width = 48

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, texts):
        self.seen += len(texts)
        vectors = np.zeros((len(texts), self.width), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                rng = np.random.default_rng(zlib.crc32(word.encode()))
                vectors[row] += rng.normal(size=self.width)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def topics(each=30, seed=0):
    """Return (text, class): two words of the class among others."""
    rng = np.random.default_rng(seed)
    rows = []
    for name, words in CLASSES.items():
        for _ in range(each):
            chosen = [*rng.choice(words.split(), 3), *rng.choice(OTHER_WORDS, 2)]
            rows.append((" ".join(rng.permutation(chosen)), name))
    return rows


def write_texts(path, rows=None, column="topic"):
    lines = [f"{text},{label}" for text, label in (rows if rows is not None else topics())]
    path.write_text(f"text,{column}\n" + "\n".join(lines) + "\n")
    return path


def write_classes(path):
    lines = [f"{name},{words}" for name, words in CLASSES.items()]
    path.write_text("class,description\n" + "\n".join(lines) + "\n")
    return path

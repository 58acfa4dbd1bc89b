"""The words that mark a class: those that its texts use more than other texts do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

MOST_WORDS = 20_000
"""The commonest words; rarer ones mark nothing."""
CERTAIN = 2.0
"""Standard errors by which the log-odds of a word must exceed zero."""
PRIOR_TEXTS = 10.0
"""Texts that the word's share in all texts counts for beside the texts of a class."""


def marking_words(
    texts: Sequence[str], labels: Sequence[str], classes: Sequence[str], most: int = 6
) -> dict[str, list[str]]:
    """Return the words of each class with the largest log-odds, in units of their standard error.

    A word counts once a text. With a = texts of the class that have it and n = texts of the class, the
    log-odds are log((a + αq) / (n − a + α(1 − q))), where q is the share of all texts that have the
    word, less the same of all other texts, b of which have it; the variance is 1/(a + αq) + 1/(b + αq)
    (Monroe, Colaresi and Quinn, 2008).

    Examples
    --------
    >>> texts = ["refund my order", "refund please", "late parcel", "parcel lost", "refund it"] * 3
    >>> marking_words(texts, ["money", "money", "post", "post", "money"] * 3, ["money", "post"], 1)
    {'money': ['refund'], 'post': ['parcel']}
    """
    words_of: dict[str, list[str]] = {name: [] for name in classes}
    try:
        reader = CountVectorizer(binary=True, max_features=MOST_WORDS, dtype=np.float64)
        counts = reader.fit_transform(texts)
    except ValueError:  # no text has a word of two letters
        return words_of
    names = reader.get_feature_names_out()
    place = {name: k for k, name in enumerate(classes)}
    rows = np.array([place[label] for label in labels])
    member = sparse.csr_matrix((np.ones(len(rows)), (rows, np.arange(len(rows)))))
    member.resize(len(classes), len(rows))
    total = counts.sum(axis=0).A1
    share = (total + 0.5) / (len(rows) + 1)  # between 0 and 1, also for a word of all texts
    for k, name in enumerate(classes):
        size = int((rows == k).sum())
        if size in (0, len(rows)):
            continue
        inside = (member[[k]] @ counts).toarray()[0]
        prior = PRIOR_TEXTS * share
        here, there = inside + prior, total - inside + prior
        without_here = size - inside + PRIOR_TEXTS - prior
        without_there = len(rows) - size - (total - inside) + PRIOR_TEXTS - prior
        log_odds = np.log(here / without_here) - np.log(there / without_there)
        certainty = log_odds / np.sqrt(1 / here + 1 / there)
        order = np.argsort(-certainty, kind="stable")[:most]
        words_of[name] = [str(names[i]) for i in order if certainty[i] > CERTAIN]
    return words_of

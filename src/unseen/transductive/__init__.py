"""Transductive methods: they learn from unlabelled rows too. One paper, one file."""

from unseen.transductive.rounds import Round
from unseen.transductive.selection import (
    BalancedSelection,
    Selection,
    SelectionStrategy,
    ThresholdSelection,
)
from unseen.transductive.self_paced import SelfPaced
from unseen.transductive.taste import TASTE

__all__ = [
    "TASTE",
    "BalancedSelection",
    "Round",
    "Selection",
    "SelectionStrategy",
    "SelfPaced",
    "ThresholdSelection",
]

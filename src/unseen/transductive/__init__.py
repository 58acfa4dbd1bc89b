"""Transductive methods: they learn from unlabelled rows too. One paper, one file."""

from unseen.transductive.prototypes import PrototypeRound, SelfPacedPrototypes
from unseen.transductive.rounds import Round
from unseen.transductive.selection import (
    AgreementSelection,
    BalancedSelection,
    Selection,
    SelectionStrategy,
    ThresholdSelection,
)
from unseen.transductive.self_paced import SelfPaced
from unseen.transductive.taste import TASTE
from unseen.transductive.whitening import WithinClassWhitening

__all__ = [
    "TASTE",
    "AgreementSelection",
    "BalancedSelection",
    "PrototypeRound",
    "Round",
    "Selection",
    "SelectionStrategy",
    "SelfPaced",
    "SelfPacedPrototypes",
    "ThresholdSelection",
    "WithinClassWhitening",
]

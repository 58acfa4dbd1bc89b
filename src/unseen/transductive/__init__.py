"""Transductive methods: they learn from unlabelled rows too. One paper, one file."""

from unseen.transductive._pool import TransductiveClassifier
from unseen.transductive.bidilel import BiDiLEL
from unseen.transductive.clustering import SemiSupervisedClustering
from unseen.transductive.cosine import CosineZSL
from unseen.transductive.max_margin import MaxMarginSSL
from unseen.transductive.propagation import PrototypePropagation
from unseen.transductive.rkt import RKT
from unseen.transductive.rounds import Round
from unseen.transductive.selection import (
    AgreementSelection,
    BalancedSelection,
    Selection,
    SelectionStrategy,
    ThresholdSelection,
)
from unseen.transductive.self_paced import SelfPaced
from unseen.transductive.self_paced_prototypes import PrototypeRound, SelfPacedPrototypes
from unseen.transductive.shared_space_prototypes import SharedRound, SharedSpacePrototypes
from unseen.transductive.sms import SMS
from unseen.transductive.taste import TASTE
from unseen.transductive.tmvhlp import TMVHLP
from unseen.transductive.uda import UDA
from unseen.transductive.wdvsc import WDVSc
from unseen.transductive.within_class_whitening import WithinClassWhitening

__all__ = [
    "RKT",
    "SMS",
    "TASTE",
    "TMVHLP",
    "UDA",
    "AgreementSelection",
    "BalancedSelection",
    "BiDiLEL",
    "CosineZSL",
    "MaxMarginSSL",
    "PrototypePropagation",
    "PrototypeRound",
    "Round",
    "Selection",
    "SelectionStrategy",
    "SelfPaced",
    "SelfPacedPrototypes",
    "SemiSupervisedClustering",
    "SharedRound",
    "SharedSpacePrototypes",
    "ThresholdSelection",
    "TransductiveClassifier",
    "WDVSc",
    "WithinClassWhitening",
]

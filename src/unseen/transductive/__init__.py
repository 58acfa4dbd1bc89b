"""Transductive methods: they learn from unlabelled rows too. One paper, one file."""

from unseen.transductive._pool import TransductiveClassifier
from unseen.transductive._shared_space import SharedRound
from unseen.transductive.bidilel import BiDiLEL
from unseen.transductive.clustering import SemiSupervisedClustering
from unseen.transductive.cosine import CosineZSL
from unseen.transductive.em_dirichlet import EMDirichlet
from unseen.transductive.importance_weighting import ImportanceWeighting
from unseen.transductive.max_margin import MaxMarginSSL
from unseen.transductive.none_of_these import NoneOfThese
from unseen.transductive.propagation import PrototypePropagation
from unseen.transductive.prototype_classifier import PrototypeRound
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
from unseen.transductive.self_paced_prototypes import SelfPacedPrototypes
from unseen.transductive.shared_space_prototypes import SharedSpacePrototypes
from unseen.transductive.sms import SMS
from unseen.transductive.stata import StatA
from unseen.transductive.taste import TASTE
from unseen.transductive.tmv import TMV
from unseen.transductive.tmvhlp import TMVHLP
from unseen.transductive.transclip import TransCLIP
from unseen.transductive.uda import UDA
from unseen.transductive.wdvsc import WDVSc
from unseen.transductive.within_class_whitening import WithinClassWhitening
from unseen.transductive.zlap import ZLaP

__all__ = [
    "RKT",
    "SMS",
    "TASTE",
    "TMV",
    "TMVHLP",
    "UDA",
    "AgreementSelection",
    "BalancedSelection",
    "BiDiLEL",
    "CosineZSL",
    "EMDirichlet",
    "ImportanceWeighting",
    "MaxMarginSSL",
    "NoneOfThese",
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
    "StatA",
    "ThresholdSelection",
    "TransCLIP",
    "TransductiveClassifier",
    "WDVSc",
    "WithinClassWhitening",
    "ZLaP",
]

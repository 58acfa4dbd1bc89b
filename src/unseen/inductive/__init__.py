"""Inductive methods: they learn from labelled rows alone. One paper, one file."""

from unseen.inductive.ale import ALE
from unseen.inductive.aste import ASTE
from unseen.inductive.calibrated_stacking import CalibratedStacking
from unseen.inductive.cmt import CMT
from unseen.inductive.dap import DAP
from unseen.inductive.data_enlargement import DataEnlargement
from unseen.inductive.devise import DeViSE
from unseen.inductive.eszsl import ESZSL
from unseen.inductive.hat import HAT
from unseen.inductive.iap import IAP
from unseen.inductive.jlse import JLSE
from unseen.inductive.kdica import KDICA
from unseen.inductive.latem import LatEm
from unseen.inductive.learned_attributes import LearnedAttributes
from unseen.inductive.linear_regression import LinearRegressionZSL
from unseen.inductive.metric_zsl import MetricZSL
from unseen.inductive.prototype_ridge import PrototypeRidge
from unseen.inductive.sae import SAE
from unseen.inductive.semantic_manifold import SemanticManifold
from unseen.inductive.sje import SJE
from unseen.inductive.sse import SSE
from unseen.inductive.sync import SynC

__all__ = [
    "ALE",
    "ASTE",
    "CMT",
    "DAP",
    "ESZSL",
    "HAT",
    "IAP",
    "JLSE",
    "KDICA",
    "SAE",
    "SJE",
    "SSE",
    "CalibratedStacking",
    "DataEnlargement",
    "DeViSE",
    "LatEm",
    "LearnedAttributes",
    "LinearRegressionZSL",
    "MetricZSL",
    "PrototypeRidge",
    "SemanticManifold",
    "SynC",
]

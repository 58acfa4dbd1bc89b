"""Pictures and words → vectors. Nothing here is imported with ``unseen``; see the extras.

>>> from unseen.features import backbone, extract                 # doctest: +SKIP
>>> extract(["fox.jpg"], backbone("efficientnet-lite0")).X.shape  # doctest: +SKIP
(1, 1280)
"""

from unseen.features.backbones import DEFAULT as DEFAULT_BACKBONE
from unseen.features.backbones import Backbone, backbone, backbones, register_backbone
from unseen.features.downloads import allow_downloads
from unseen.features.extraction import Broken, Extraction, Progress, extract
from unseen.features.feature_store import FeatureStore
from unseen.features.separation import Separation, separation
from unseen.features.word_files import read_words
from unseen.features.words import Words, describe, mix, words

__all__ = [
    "DEFAULT_BACKBONE",
    "Backbone",
    "Broken",
    "Extraction",
    "FeatureStore",
    "Progress",
    "Separation",
    "Words",
    "allow_downloads",
    "backbone",
    "backbones",
    "describe",
    "extract",
    "mix",
    "read_words",
    "register_backbone",
    "separation",
    "words",
]

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
from unseen.features.image_text_model import ImageTextModel, has_texts, image_text_model
from unseen.features.separation import Separation, separation
from unseen.features.text_extraction import EncodedTexts, StoredEncoder, encode_texts, text_encoder
from unseen.features.word_files import read_words
from unseen.features.words import TextEncoder, Words, describe, mix, readable, words

__all__ = [
    "DEFAULT_BACKBONE",
    "Backbone",
    "Broken",
    "EncodedTexts",
    "Extraction",
    "FeatureStore",
    "ImageTextModel",
    "Progress",
    "Separation",
    "StoredEncoder",
    "TextEncoder",
    "Words",
    "allow_downloads",
    "backbone",
    "backbones",
    "describe",
    "encode_texts",
    "extract",
    "has_texts",
    "image_text_model",
    "mix",
    "read_words",
    "readable",
    "register_backbone",
    "separation",
    "text_encoder",
    "words",
]

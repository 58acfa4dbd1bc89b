"""Inductive methods: they learn from labelled rows alone. One paper, one file."""

from unseen.inductive.ale import ALE
from unseen.inductive.aste import ASTE
from unseen.inductive.devise import DeViSE
from unseen.inductive.eszsl import ESZSL
from unseen.inductive.latem import LatEm
from unseen.inductive.prototype_ridge import PrototypeRidge
from unseen.inductive.sje import SJE

__all__ = ["ALE", "ASTE", "ESZSL", "SJE", "DeViSE", "LatEm", "PrototypeRidge"]

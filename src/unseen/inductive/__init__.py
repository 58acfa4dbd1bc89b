"""Inductive methods: they learn from labelled rows alone. One paper, one file."""

from unseen.inductive.aste import ASTE
from unseen.inductive.eszsl import ESZSL
from unseen.inductive.prototype_ridge import PrototypeRidge
from unseen.inductive.sje import SJE

__all__ = ["ASTE", "ESZSL", "SJE", "PrototypeRidge"]

"""Predictions over HTTP, and a page for people who would rather look than read. Extra ``serve``.

>>> from unseen.serving import Limits, Service                        # doctest: +SKIP
>>> app = Service("animals.safetensors", limits=Limits()).app          # doctest: +SKIP
"""

from unseen.serving.keeper import Keeper
from unseen.serving.limits import Limits
from unseen.serving.service import Service

__all__ = ["Keeper", "Limits", "Service"]

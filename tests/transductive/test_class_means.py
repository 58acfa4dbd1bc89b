"""Which methods FastTraining may go around."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from estimators import ESTIMATORS, name_of
from toys import make_toy
from unseen import FastTraining, SelfPaced
from unseen.experiments.registry import METHODS
from unseen.transductive._pool import TransductiveClassifier

TOY = make_toy()
X, Y = TOY.transductive()
POOL_METHODS = [m for m in ESTIMATORS if isinstance(m, TransductiveClassifier)]


@pytest.mark.parametrize("model", [m for m in POOL_METHODS if not m.takes_class_means], ids=name_of)
def test_fast_training_refuses_methods_that_would_ignore_class_means(model):
    fast = FastTraining(clone(model), semantics=TOY.semantics)
    message = rf"{type(model).__name__} learns from all rows.*no fast form.*takes_class_means=True\)"
    for outer in (fast, SelfPaced(fast)):
        with pytest.raises(ValueError, match=message):
            outer.fit(X, Y)


def test_the_registry_offers_fast_forms_of_methods_that_take_class_means():
    fast = {name.removeprefix("Fast-") for name in METHODS if name.startswith("Fast-")}
    plain = {name: m.build for name, m in METHODS.items() if not name.startswith("Fast-")}
    assert fast == {name for name, build in plain.items() if build.takes_class_means}
    assert {n for n in fast if METHODS[n].transductive} == {"TASTE"}

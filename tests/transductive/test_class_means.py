"""Which methods FastTraining may go around."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from estimators import ESTIMATORS, name_of
from toys import make_toy
from unseen import FastTraining, SelfPaced
from unseen.methods import find, select
from unseen.transductive import TransductiveClassifier

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


def test_methods_that_take_class_means_have_a_fast_form():
    able = select(takes_class_means=True)
    assert [find(name).plain_name for name in select(fast=True)] == able
    assert all(find(name).estimator.takes_class_means for name in able)
    assert select(fast=True, transductive=True) == ["Fast-TASTE"]

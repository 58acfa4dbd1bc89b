"""From a folder of photographs and descriptions of classes to labels.

:func:`prepare` reads and checks, :func:`extract` computes features, and :func:`fit` labels the pool.
"""

from unseen.labelling.classes import (
    UNUSED_DESCRIPTIONS,
    Given,
    Recipe,
    from_names,
    make_table,
    read_classes,
)
from unseen.labelling.fitting import Fitted, Task, fit
from unseen.labelling.folders import Pictures, gather, read_names
from unseen.labelling.label_page import write_report
from unseen.labelling.labels import Answer, Labels, answers_of
from unseen.labelling.photo_models import (
    add_classes,
    backbone_to_load,
    load_model,
    model_origin,
    predict,
    recipe_of,
    save_model,
)
from unseen.labelling.pool_data import PoolData, extract
from unseen.labelling.preparation import Preparation, prepare

__all__ = [
    "UNUSED_DESCRIPTIONS",
    "Answer",
    "Fitted",
    "Given",
    "Labels",
    "Pictures",
    "PoolData",
    "Preparation",
    "Recipe",
    "Task",
    "add_classes",
    "answers_of",
    "backbone_to_load",
    "extract",
    "fit",
    "from_names",
    "gather",
    "load_model",
    "make_table",
    "model_origin",
    "predict",
    "prepare",
    "read_classes",
    "read_names",
    "recipe_of",
    "save_model",
    "write_report",
]

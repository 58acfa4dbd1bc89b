"""From photographs or texts and descriptions of classes to labels.

:func:`prepare` reads and checks, :func:`extract` computes features, and :func:`fit` labels the pool;
for texts, :func:`prepare_texts` and :func:`extract_texts` take the places of the first two; for
pictures with a model of pictures and texts, :func:`prepare_with_texts` that of the first.
"""

from unseen.labelling.classes import (
    UNUSED_DESCRIPTIONS,
    Given,
    Recipe,
    from_names,
    make_table,
    read_classes,
)
from unseen.labelling.fitting import Fitted, fit
from unseen.labelling.folders import Pictures, gather, read_names
from unseen.labelling.label_page import write_report
from unseen.labelling.labels import Answer, Labels, answers_of
from unseen.labelling.photo_models import (
    add_classes,
    backbone_to_load,
    load_model,
    model_backbone,
    model_origin,
    predict,
    recipe_of,
    save_model,
)
from unseen.labelling.pool_data import PoolData, extract
from unseen.labelling.preparation import Preparation, prepare, prepare_with_texts
from unseen.labelling.reviewing import read_known, rows_to_review, write_known, write_review
from unseen.labelling.task import UNKNOWN, Task, check_strangers
from unseen.labelling.text_files import is_text_file, read_class_texts, read_texts
from unseen.labelling.text_models import model_encoder, of_texts, predict_texts
from unseen.labelling.text_page import write_text_report
from unseen.labelling.text_pool import (
    TextPreparation,
    embedded_texts,
    extract_texts,
    prepare_texts,
    text_class_table,
)

__all__ = [
    "UNKNOWN",
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
    "TextPreparation",
    "add_classes",
    "answers_of",
    "backbone_to_load",
    "check_strangers",
    "embedded_texts",
    "extract",
    "extract_texts",
    "fit",
    "from_names",
    "gather",
    "is_text_file",
    "load_model",
    "make_table",
    "model_backbone",
    "model_encoder",
    "model_origin",
    "of_texts",
    "predict",
    "predict_texts",
    "prepare",
    "prepare_texts",
    "prepare_with_texts",
    "read_class_texts",
    "read_classes",
    "read_known",
    "read_names",
    "read_texts",
    "recipe_of",
    "rows_to_review",
    "save_model",
    "text_class_table",
    "write_known",
    "write_report",
    "write_review",
    "write_text_report",
]

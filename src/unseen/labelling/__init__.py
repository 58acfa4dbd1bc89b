"""From a folder of photographs and descriptions of classes to labels: what the commands call."""

from unseen.labelling.classes import Given, Recipe, from_names, make_table, read_classes
from unseen.labelling.folders import Pictures, gather, read_names
from unseen.labelling.labels import Answer, Labels, answers_of
from unseen.labelling.models import add_classes, load_model, predict, recipe_of, save_model
from unseen.labelling.report import write_report
from unseen.labelling.task import Fitted, Task, fit, label, prepare

__all__ = [
    "Answer",
    "Fitted",
    "Given",
    "Labels",
    "Pictures",
    "Recipe",
    "Task",
    "add_classes",
    "answers_of",
    "fit",
    "from_names",
    "gather",
    "label",
    "load_model",
    "make_table",
    "predict",
    "prepare",
    "read_classes",
    "read_names",
    "recipe_of",
    "save_model",
    "write_report",
]

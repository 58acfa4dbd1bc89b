"""What goes over the wire; OpenAPI is made from these."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = str | int


class Shape(BaseModel):
    """No name beyond those that are listed, no text for a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PredictRequest(Shape):
    """Rows of features, photographs or texts; one of the three."""

    features: Annotated[
        list[list[float]] | None, Field(description="One list of numbers a row, as the model takes.")
    ] = None
    images: Annotated[
        list[str] | None, Field(description="Photographs, each in base64; needs the backbone.")
    ] = None
    texts: Annotated[
        list[str] | None, Field(description="Texts, for a model that was fitted on texts.")
    ] = None


class Prediction(Shape):
    """One answer a row."""

    labels: list[Name]
    probabilities: Annotated[list[list[float]], Field(description="One list a row, as `classes`.")]
    classes: list[Name]
    strangers: Annotated[
        list[float] | None,
        Field(
            description="The probability of each row to belong to none of `classes`; only of a model "
            "that was fitted with a label for such rows."
        ),
    ] = None
    sets: Annotated[
        list[list[Name]] | None,
        Field(description="With `coverage`: the classes that are left, the likeliest first."),
    ] = None


class AddRequest(Shape):
    """A class that the model is to know: by its vector, by its attributes, or in words."""

    name: Name
    vector: list[float] | None = None
    attributes: Annotated[
        dict[str, float] | None, Field(description="Attribute → number; all that the model knows.")
    ] = None
    description: Annotated[
        str | None, Field(max_length=4000, description="For a model that knows words.")
    ] = None


class AddedClass(Shape):
    """What became of it."""

    name: Name
    candidate: Annotated[bool, Field(description="Whether it is now among the answers.")]
    candidates: int


class RemovedClass(Shape):
    """What is left."""

    name: Name
    candidates: int


class ClassEntry(Shape):
    """One class."""

    name: Name
    seen: Annotated[bool, Field(description="Whether it had labelled rows in training.")]
    candidate: Annotated[bool, Field(description="Whether it is among the answers.")]


class ClassList(Shape):
    """The table of classes."""

    classes: list[ClassEntry]
    columns: Annotated[int, Field(description="The length of a class vector; 0 if there is none.")]
    attributes: Annotated[list[str] | None, Field(description="What the columns mean.")]


class Health(Shape):
    """What is served."""

    status: str
    version: str
    model: str
    features: Annotated[int, Field(description="Numbers of a row.")]
    candidates: int
    images: Annotated[bool, Field(description="Whether photographs are taken.")]
    texts: Annotated[bool, Field(description="Whether texts are taken.")]


class Fault(Shape):
    """What was wrong, and what to do."""

    detail: str

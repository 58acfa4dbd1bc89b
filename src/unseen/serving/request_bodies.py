"""Requests in, answers out: bodies read and checked, refusals with a sentence, JSON written."""

from __future__ import annotations

import base64
import binascii
from typing import NoReturn, TypeVar

import numpy as np
import orjson
from fastapi import HTTPException, Request, Response
from pydantic import BaseModel, TypeAdapter, ValidationError

from unseen.serving.text_reader import LONGEST_TEXT
from unseen.typing import Array

Body = TypeVar("Body", bound=BaseModel)

LONGEST_DETAIL = 600
"""Characters of a message about a body that cannot be used."""


def refuse(detail: str) -> NoReturn:
    """Answer with 422 and say what is wrong."""
    raise HTTPException(422, detail)


def json_response(content: object, status: int = 200) -> Response:
    """Return an answer as JSON; arrays are written as lists."""
    data = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(data, status, media_type="application/json")


def content_type(request: Request) -> str:
    """Return the content type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_json(request: Request, *others: str) -> None:
    """Refuse a content type that is neither JSON nor one of the others with 415."""
    kind = content_type(request)
    if kind != "application/json":
        wanted = " or ".join(("application/json", *others))
        raise HTTPException(415, f"Send {wanted}. Got {kind[:80] or 'no content type'}.")


def parse_json(body: bytes, schema: TypeAdapter[Body], most_values: int) -> Body:
    """Return the body as its schema; any other body is 422.

    A body with more commas than ``most_values`` is refused before it is parsed: as Python objects its
    values would take sixteen times the memory of the body.
    """
    if body.count(b",") > most_values:
        refuse(f"The body has more than {most_values:,} values. Send fewer rows at a time.")
    try:
        return schema.validate_json(body, strict=True)
    except ValidationError as error:
        refuse(_first_fault(error))


def _first_fault(error: ValidationError) -> str:
    """Say in one sentence what is wrong first, and where."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    more = error.error_count() - 1
    tail = f" (and {more:,} more)" if more else ""
    return f"{where or 'The body'}: {fault['msg']}{tail}."[:LONGEST_DETAIL]


def feature_matrix(rows: list[list[float]], width: int, most: int) -> Array:
    """Return rows of features as a matrix; refuse a wrong count, a wrong width, NaN and infinity."""
    _check_count(len(rows), most)
    for place, row in enumerate(rows):
        _check_row(place, len(row), width)
    X = np.array(rows, dtype=np.float64)
    check_features(X, width, most)
    return X


def check_features(X: Array, width: int, most: int) -> None:
    """Refuse a matrix of a wrong count or width, and one with NaN or infinity."""
    _check_count(len(X), most)
    _check_row(0, X.shape[1], width)
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0].tolist()
        refuse(f"Row {row}, column {column} is NaN or infinite. Fill or drop missing values.")


def _check_count(rows: int, most: int) -> None:
    if not 1 <= rows <= most:
        refuse(f"'features' has {rows:,} rows; send 1 to {most:,} at a time.")


def _check_row(place: int, numbers: int, width: int) -> None:
    if numbers != width:
        refuse(f"Row {place} has {numbers:,} numbers, but the model takes {width:,}.")


def decoded_images(images: list[str]) -> list[bytes]:
    """Return the bytes of photographs that were sent in base64."""
    decoded = []
    for place, text in enumerate(images):
        try:
            decoded.append(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError):
            refuse(f"Image {place} is not base64.")
    return decoded


def check_texts(texts: list[str], most: int) -> None:
    """Refuse a wrong count of texts, an empty one, and one that is too long."""
    if not 1 <= len(texts) <= most:
        refuse(f"'texts' has {len(texts):,} texts; send 1 to {most:,} at a time.")
    for place, text in enumerate(texts):
        if not text.strip():
            refuse(f"Text {place} is empty.")
        if len(text) > LONGEST_TEXT:
            refuse(f"Text {place} has {len(text):,} characters; send at most {LONGEST_TEXT:,}.")

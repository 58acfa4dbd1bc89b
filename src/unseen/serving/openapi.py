"""What ``/openapi.json`` says beyond FastAPI's own description: bodies, faults and the token."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI

from unseen.serving.message_schemas import Fault, PredictRequest
from unseen.serving.npy_body import NPY
from unseen.serving.text_reader import LONGEST_TEXT
from unseen.typing import JsonObject

Responses = dict[int | str, JsonObject]

_FAULTS = {
    400: "The client went away, or sent two Host headers.",
    401: "The token is missing or wrong.",
    404: "The model knows no such class.",
    408: "The body was too slow.",
    409: "The class is there already, or cannot be removed.",
    413: "The body is too large.",
    415: "The content type is not one that is taken.",
    421: "The service is not known by that name.",
    422: "The body does not say what it should; ``detail`` says where.",
    503: "All places or all memory are taken, or the model file cannot be used now.",
}


def fault_responses(*codes: int) -> Responses:
    """Return the descriptions of these faults, and of those that any request can meet."""
    every = {421, 401, 503, *codes}
    return {code: {"model": Fault, "description": _FAULTS[code]} for code in sorted(every)}


def body_description(content: dict[str, object]) -> JsonObject:
    """Describe a body by content type → schema; routes read it themselves, which is far faster."""
    schemas = {kind: {"schema": schema} for kind, schema in content.items()}
    return {"requestBody": {"required": True, "content": schemas}}


def rows_description(width: int, most_rows: int, most_images: int, most_texts: int) -> JsonObject:
    """Describe the body of ``/predict``, with the width that the model takes.

    ``most_images`` is 0 where the service takes no photographs, ``most_texts`` where it takes no texts.
    """
    row = {"type": "array", "items": {"type": "number"}, "minItems": width, "maxItems": width}
    schema = PredictRequest.model_json_schema()
    texts = {name: part["description"] for name, part in schema["properties"].items()}
    rows = {"type": "array", "items": row, "minItems": 1, "maxItems": most_rows}
    kinds = {"features": {**rows, "description": texts["features"]}}
    if most_images:
        pictures = {"type": "array", "minItems": 1, "maxItems": most_images}
        text = {"type": "string", "contentEncoding": "base64"}
        kinds["images"] = {**pictures, "items": text, "description": texts["images"]}
    if most_texts:
        items = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
        kinds["texts"] = {
            "type": "array",
            "minItems": 1,
            "maxItems": most_texts,
            "items": items,
            "description": texts["texts"],
        }
    schema |= {"properties": kinds, "minProperties": 1, "maxProperties": 1}
    content: dict[str, object] = {"application/json": schema}
    content[NPY] = {
        "type": "string",
        "format": "binary",
        "description": f"What numpy.save writes: 1 to {most_rows} rows of {width} floats.",
    }
    if most_images:
        content["image/*"] = {"type": "string", "format": "binary"}
    return body_description(content)


def describe_token(api: FastAPI, token: str) -> None:
    """Let the description say that a token is needed, if it is."""
    describe: Callable[[], JsonObject] = api.openapi

    def described() -> JsonObject:
        description = describe()
        if token:
            kinds = description.setdefault("components", {}).setdefault("securitySchemes", {})
            kinds["token"] = {"type": "http", "scheme": "bearer"}
            description["security"] = [{"token": []}]
        return description

    api.openapi = described  # type: ignore[method-assign]

"""The service: ``/predict``, ``/classes``, ``/health`` and ``/metrics``."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import orjson
from fastapi import FastAPI, HTTPException, Request, Response
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.routing import Route

import unseen
from unseen.exceptions import DataError
from unseen.serving.batching import Answered, Batcher
from unseen.serving.gate import Gate
from unseen.serving.keeper import Keeper, KnownClass, NewClass
from unseen.serving.limits import Limits
from unseen.serving.metrics import Metrics
from unseen.serving.shapes import (
    AddedClass,
    AddRequest,
    ClassList,
    Fault,
    Health,
    Prediction,
    PredictRequest,
)
from unseen.serving.vision import Vision
from unseen.typing import Array

Body = TypeVar("Body", bound=BaseModel)
Answer = dict[int | str, dict[str, Any]]

logger = logging.getLogger(__name__)

_FAULTS = {
    400: "The client went away.",
    401: "The token is missing or wrong.",
    408: "The body was too slow.",
    409: "The class is there already.",
    413: "The body is too large.",
    415: "The content type is not one that is taken.",
    421: "The service is not known by that name.",
    422: "The body does not say what it should; ``detail`` says where.",
    503: "All places are taken, or the model file cannot be used now.",
}


def _faults(*codes: int) -> Answer:
    every = {421, 401, 503, *codes}
    return {code: {"model": Fault, "description": _FAULTS[code]} for code in sorted(every)}


class Service:
    """A model behind HTTP.

    Parameters
    ----------
    path : path
        A model file. ``POST /classes`` rewrites it.
    limits : Limits
    token : str
        "" for none.
    hosts : sequence of str
        The names by which it may be addressed; empty for any.
    vision : Vision, optional
        The backbone, for photographs.
    keeper : Keeper, optional
        The model, if it has been read already.

    Attributes
    ----------
    app : ASGI application
    """

    def __init__(
        self,
        path: str | Path,
        limits: Limits | None = None,
        token: str = "",
        hosts: tuple[str, ...] = (),
        vision: Vision | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.keeper = keeper or Keeper(path, self.limits.classes)
        self.metrics = Metrics()
        self._note_classes()
        self.vision = vision
        self._predict_body = TypeAdapter(PredictRequest)
        self._add_body = TypeAdapter(AddRequest)
        self.api = self._routes(token)
        paths = [route.path for route in self.api.routes if hasattr(route, "path")]
        self.app = Gate(self.api, self.limits, self.metrics, paths, token, hosts)

    def _routes(self, token: str) -> FastAPI:
        api = FastAPI(
            title="unseen",
            version=unseen.__version__,
            description="Recognise classes that nobody has labelled.",
            docs_url=None,  # its page would load scripts from another machine
            redoc_url=None,
            redirect_slashes=False,
            lifespan=self._lifespan,
        )
        add = partial(api.add_api_route, response_class=Response)
        add(
            "/predict",
            self.predict,
            methods=["POST"],
            summary="Label rows of features, or photographs",
            responses={200: {"model": Prediction}, **_faults(400, 408, 413, 415, 422)},
            openapi_extra=self._describe_rows(),
        )
        add(
            "/classes",
            self.list_classes,
            methods=["GET"],
            summary="The classes, and among which of them it answers",
            responses={200: {"model": ClassList}, **_faults()},
        )
        add(
            "/classes",
            self.add_class,
            methods=["POST"],
            status_code=201,
            summary="Add a class, without training; the model file has it when this returns",
            responses={201: {"model": AddedClass}, **_faults(400, 408, 409, 413, 415, 422)},
            openapi_extra=_body({"application/json": AddRequest.model_json_schema()}),
        )
        open_to_all: dict[str, Any] = {"security": []} if token else {}
        add(
            "/health",
            self.health,
            methods=["GET"],
            summary="Whether it answers",
            responses={200: {"model": Health}, 421: _faults()[421]},
            openapi_extra=open_to_all,
        )
        add(
            "/metrics",
            self.show_metrics,
            methods=["GET"],
            summary="Numbers for Prometheus",
            responses={
                200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
                **{code: _faults()[code] for code in (401, 421)},
            },
        )
        # The same function before FastAPI's own route, which stays for the description: /predict needs
        # none of its dependencies, and they would take a third of the time.
        api.router.routes.insert(0, Route("/predict", self.predict, methods=["POST"]))
        api.exception_handler(Exception)(_broken)
        _with_token(api, token)
        return api

    def _describe_rows(self) -> dict[str, Any]:
        """Describe the body of ``/predict``, with the width that this model takes."""
        width = self.keeper.features
        row = {"type": "array", "items": {"type": "number"}, "minItems": width, "maxItems": width}
        schema = PredictRequest.model_json_schema()
        texts = {name: part["description"] for name, part in schema["properties"].items()}
        rows = {"type": "array", "items": row, "minItems": 1, "maxItems": self.limits.rows}
        kinds = {"features": {**rows, "description": texts["features"]}}
        if self.vision is not None:
            pictures = {"type": "array", "minItems": 1, "maxItems": self.limits.images}
            text = {"type": "string", "contentEncoding": "base64"}
            kinds["images"] = {**pictures, "items": text, "description": texts["images"]}
        schema |= {"properties": kinds, "minProperties": 1, "maxProperties": 1}
        content = {"application/json": schema}
        if self.vision is not None:
            content["image/*"] = {"type": "string", "format": "binary"}
        return _body(content)

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        limits = self.limits
        self._batcher = Batcher(self.keeper.score, limits.window, limits.batch, self.metrics)
        self._batcher.start()
        yield
        await self._batcher.stop()
        if self.vision is not None:
            self.vision.stop()

    async def predict(self, request: Request) -> Response:
        """Return a label and the probabilities of all candidates for each row."""
        kind = _kind(request)
        if kind.startswith("image/"):
            X = await self._seen([await request.body()])
        else:
            asked = await self._read(request, kind, self._predict_body)
            if (asked.features is None) == (asked.images is None):
                _refuse("Give one of 'features' and 'images'.")
            if asked.features is not None:
                X = self._rows(asked.features)
            else:
                X = await self._seen(_decoded(asked.images or []))
        answer = await self._batcher(X)
        return _json(_prediction(answer))

    async def list_classes(self) -> Response:
        """Return every class of the table, and what is known of it."""
        keeper = self.keeper
        table, seen, among = keeper.table(), keeper.seen(), set(keeper.classes)
        names = list(table) if table is not None else keeper.classes
        told = {
            "classes": [{"name": n, "seen": n in seen, "candidate": n in among} for n in names],
            "columns": 0 if table is None else table.vectors.shape[1],
            "attributes": None if table is None else table.attributes,
        }
        return _json(told)

    async def add_class(self, request: Request) -> Response:
        """Add a class: by its vector, by its attributes, or in words if the model knows words."""
        asked = await self._read(request, _kind(request), self._add_body)
        ways = [asked.vector, asked.attributes, asked.description]
        if asked.vector is not None and len([w for w in ways if w is not None]) > 1:
            _refuse("A class with a 'vector' has neither 'attributes' nor 'description'.")
        new = NewClass(asked.name, asked.vector, asked.attributes, asked.description)
        try:
            await asyncio.to_thread(self.keeper.add, new)
        except KnownClass as error:
            raise HTTPException(409, str(error)) from None
        except ValueError as error:  # DataError is one
            _refuse(str(error))
        except OSError as error:
            raise HTTPException(503, f"The model file cannot be written: {error.strerror}.") from None
        self._note_classes()
        logger.info("added the class %r", asked.name)
        among = self.keeper.classes
        return _json(
            {"name": asked.name, "candidate": asked.name in among, "candidates": len(among)}, 201
        )

    async def health(self) -> Response:
        """Return "ok", and what is served."""
        told = {
            "status": "ok",
            "version": unseen.__version__,
            "model": type(self.keeper.model).__name__,
            "features": self.keeper.features,
            "candidates": len(self.keeper.classes),
            "images": self.vision is not None,
        }
        return _json(told)

    async def show_metrics(self) -> Response:
        """Return all counters as text."""
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(self.metrics.text(), headers={"content-type": kind})

    def _note_classes(self) -> None:
        self.metrics.classes.set(len(self.keeper.classes))
        info = {"version": unseen.__version__, "model": type(self.keeper.model).__name__}
        self.metrics.model.set(1, **info)

    async def _read(self, request: Request, kind: str, shape: TypeAdapter[Body]) -> Body:
        if kind != "application/json":
            raise HTTPException(415, f"Send application/json. Got {kind[:80] or 'no content type'}.")
        try:
            return shape.validate_json(await request.body(), strict=True)
        except ValidationError as error:
            _refuse(_first(error))

    def _rows(self, rows: list[list[float]]) -> Array:
        most, width = self.limits.rows, self.keeper.features
        if not 1 <= len(rows) <= most:
            _refuse(f"'features' has {len(rows):,} rows; send 1 to {most:,} at a time.")
        for place, row in enumerate(rows):
            if len(row) != width:
                _refuse(f"Row {place} has {len(row):,} numbers, but the model takes {width:,}.")
        X = np.array(rows, dtype=np.float64)
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0].tolist()
            _refuse(f"Row {row}, column {column} is NaN or infinite. Fill or drop missing values.")
        return X

    async def _seen(self, pictures: list[bytes]) -> Array:
        if self.vision is None:
            _refuse(
                "This service takes no photographs: its model does not name a backbone, or the "
                'backbone is not installed: pip install "unseen[images]". Send features.'
            )
        if not 1 <= len(pictures) <= self.limits.images:
            _refuse(f"'images' has {len(pictures)} pictures; send 1 to {self.limits.images} at a time.")
        try:
            return await self.vision(pictures)
        except DataError as error:
            _refuse(str(error))


def _kind(request: Request) -> str:
    """Return the content type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _decoded(images: list[str]) -> list[bytes]:
    found = []
    for place, text in enumerate(images):
        try:
            found.append(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError):
            _refuse(f"Image {place} is not base64.")
    return found


def _prediction(answer: Answered) -> dict[str, Any]:
    found = answer.probabilities
    wrong = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(wrong):
        _refuse(f"Row {wrong[0]} has numbers so large that its scores overflow. Check its units.")
    labels = [answer.classes[k] for k in found.argmax(axis=1).tolist()]
    return {
        "labels": labels,
        "probabilities": np.ascontiguousarray(found),
        "classes": answer.classes,
    }


def _json(content: Any, status: int = 200) -> Response:
    data = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(data, status, media_type="application/json")


def _refuse(detail: str) -> NoReturn:
    raise HTTPException(422, detail)


def _first(error: ValidationError) -> str:
    """Say in one sentence what is wrong first, and where."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    more = error.error_count() - 1
    tail = f" (and {more:,} more)" if more else ""
    return f"{where or 'The body'}: {fault['msg']}{tail}."[:600]


async def _broken(request: Request, error: Exception) -> Response:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _json({"detail": "Something went wrong here; the log of the service says what."}, 500)


def _body(content: dict[str, Any]) -> dict[str, Any]:
    """Describe a body for OpenAPI; routes read it themselves, which is several times faster."""
    shapes = {kind: {"schema": schema} for kind, schema in content.items()}
    return {"requestBody": {"required": True, "content": shapes}}


def _with_token(api: FastAPI, token: str) -> None:
    """Let the description say that a token is needed, if it is."""
    describe: Callable[[], dict[str, Any]] = api.openapi

    def described() -> dict[str, Any]:
        found = describe()
        if token:
            kinds = found.setdefault("components", {}).setdefault("securitySchemes", {})
            kinds["token"] = {"type": "http", "scheme": "bearer"}
            found["security"] = [{"token": []}]
        return found

    api.openapi = described  # type: ignore[method-assign]

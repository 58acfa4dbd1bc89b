"""The service: ``/predict``, ``/classes``, ``/health`` and ``/metrics``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import FastAPI, HTTPException, Request, Response
from pydantic import TypeAdapter
from starlette.routing import Route

from unseen.exceptions import DataError, FileBusyError
from unseen.serving.batching import Answered, Batcher
from unseen.serving.gate import Gate
from unseen.serving.keeper import Keeper, KnownClass, NewClass
from unseen.serving.limits import Limits
from unseen.serving.message_schemas import (
    AddedClass,
    AddRequest,
    ClassList,
    Health,
    Prediction,
    PredictRequest,
)
from unseen.serving.openapi import (
    body_description,
    describe_token,
    fault_responses,
    rows_description,
)
from unseen.serving.prometheus import Metrics
from unseen.serving.request_bodies import (
    check_texts,
    content_type,
    decoded_images,
    feature_matrix,
    json_response,
    read_json,
    refuse,
)
from unseen.serving.text_reader import TextReader
from unseen.serving.vision import Vision
from unseen.typing import Array
from unseen.version import __version__, install_command

logger = logging.getLogger(__name__)


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
    reader : TextReader, optional
        The encoder, for texts.
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
        reader: TextReader | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.keeper = keeper or Keeper(path, self.limits.classes)
        self.metrics = Metrics()
        self._note_classes()
        self.vision, self.reader = vision, reader
        self._predict_body = TypeAdapter(PredictRequest)
        self._add_body = TypeAdapter(AddRequest)
        self.api = self._routes(token)
        paths = [route.path for route in self.api.routes if hasattr(route, "path")]
        self.app = Gate(self.api, self.limits, self.metrics, paths, token, hosts)

    def _routes(self, token: str) -> FastAPI:
        limits = self.limits
        most_images = 0 if self.vision is None else limits.images
        most_texts = 0 if self.reader is None else limits.texts
        api = FastAPI(
            title="unseen",
            version=__version__,
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
            summary="Label rows of features, photographs or texts",
            responses={200: {"model": Prediction}, **fault_responses(400, 408, 413, 415, 422)},
            openapi_extra=rows_description(self.keeper.features, limits.rows, most_images, most_texts),
        )
        add(
            "/classes",
            self.list_classes,
            methods=["GET"],
            summary="The classes, and among which of them it answers",
            responses={200: {"model": ClassList}, **fault_responses()},
        )
        add(
            "/classes",
            self.add_class,
            methods=["POST"],
            status_code=201,
            summary="Add a class, without training; the model file has it when this returns",
            responses={201: {"model": AddedClass}, **fault_responses(400, 408, 409, 413, 415, 422)},
            openapi_extra=body_description({"application/json": AddRequest.model_json_schema()}),
        )
        open_to_all: dict[str, Any] = {"security": []} if token else {}
        add(
            "/health",
            self.health,
            methods=["GET"],
            summary="Whether it answers",
            responses={200: {"model": Health}, 421: fault_responses()[421]},
            openapi_extra=open_to_all,
        )
        add(
            "/metrics",
            self.show_metrics,
            methods=["GET"],
            summary="Numbers for Prometheus",
            responses={
                200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
                **{code: fault_responses()[code] for code in (401, 421)},
            },
        )
        # The same function before FastAPI's own route, which stays for the description: /predict needs
        # none of its dependencies, and they would take a third of the time.
        api.router.routes.insert(0, Route("/predict", self.predict, methods=["POST"]))
        api.exception_handler(Exception)(_broken)
        describe_token(api, token)
        return api

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        limits = self.limits
        self._batcher = Batcher(self.keeper.score, limits.window, limits.batch, self.metrics)
        self._batcher.start()
        yield
        await self._batcher.stop()
        for worker in (self.vision, self.reader):
            if worker is not None:
                worker.stop()

    async def predict(self, request: Request) -> Response:
        """Return a label and the probabilities of all candidates for each row."""
        if content_type(request).startswith("image/"):
            X = await self._photo_features([await request.body()])
        else:
            asked = await read_json(request, self._predict_body)
            if [asked.features, asked.images, asked.texts].count(None) != 2:
                refuse("Give one of 'features', 'images' and 'texts'.")
            if asked.features is not None:
                X = feature_matrix(asked.features, self.keeper.features, self.limits.rows)
            elif asked.images is not None:
                X = await self._photo_features(decoded_images(asked.images))
            else:
                X = await self._text_features(asked.texts or [])
        answer = await self._batcher(X)
        return json_response(_prediction(answer))

    async def list_classes(self) -> Response:
        """Return every class of the table, and what is known of it."""
        keeper = self.keeper
        table, seen, among = keeper.table(), keeper.seen(), set(keeper.classes)
        names = list(table) if table is not None else keeper.classes
        content = {
            "classes": [{"name": n, "seen": n in seen, "candidate": n in among} for n in names],
            "columns": 0 if table is None else table.vectors.shape[1],
            "attributes": None if table is None else table.attributes,
        }
        return json_response(content)

    async def add_class(self, request: Request) -> Response:
        """Add a class: by its vector, by its attributes, or in words if the model knows words."""
        asked = await read_json(request, self._add_body)
        ways = [asked.vector, asked.attributes, asked.description]
        if asked.vector is not None and len([w for w in ways if w is not None]) > 1:
            refuse("A class with a 'vector' has neither 'attributes' nor 'description'.")
        new = NewClass(asked.name, asked.vector, asked.attributes, asked.description)
        try:
            await asyncio.to_thread(self.keeper.add, new)
        except KnownClass as error:
            raise HTTPException(409, str(error)) from None
        except FileBusyError:
            raise HTTPException(503, "Another process is writing the model file. Try again.") from None
        except ValueError as error:  # DataError is one
            refuse(str(error))
        except OSError as error:
            raise HTTPException(503, f"The model file cannot be written: {error.strerror}.") from None
        self._note_classes()
        logger.info("added the class %r", asked.name)
        among = self.keeper.classes
        return json_response(
            {"name": asked.name, "candidate": asked.name in among, "candidates": len(among)}, 201
        )

    async def health(self) -> Response:
        """Return "ok", and what is served."""
        content = {
            "status": "ok",
            "version": __version__,
            "model": type(self.keeper.model).__name__,
            "features": self.keeper.features,
            "candidates": len(self.keeper.classes),
            "images": self.vision is not None,
            "texts": self.reader is not None,
        }
        return json_response(content)

    async def show_metrics(self) -> Response:
        """Return all counters as text."""
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(self.metrics.text(), headers={"content-type": kind})

    def _note_classes(self) -> None:
        self.metrics.classes.set(len(self.keeper.classes))
        info = {"version": __version__, "model": type(self.keeper.model).__name__}
        self.metrics.model.set(1, **info)

    async def _photo_features(self, pictures: list[bytes]) -> Array:
        if self.vision is None:
            refuse(
                "This service takes no photographs: its model does not name a backbone, or the "
                f"backbone is not installed: {install_command('images')}. Send features."
            )
        if not 1 <= len(pictures) <= self.limits.images:
            refuse(f"'images' has {len(pictures)} pictures; send 1 to {self.limits.images} at a time.")
        try:
            return await self.vision(pictures)
        except DataError as error:
            refuse(str(error))

    async def _text_features(self, texts: list[str]) -> Array:
        if self.reader is None:
            refuse(
                "This service takes no texts: its model was not fitted on texts, or the encoder is not "
                f"installed: {install_command('text')}. Send features."
            )
        check_texts(texts, self.limits.texts)
        return await self.reader(texts)


def _prediction(answer: Answered) -> dict[str, Any]:
    probabilities = answer.probabilities
    wrong = np.flatnonzero(~np.isfinite(probabilities).all(axis=1))
    if len(wrong):
        refuse(f"Row {wrong[0]} has numbers so large that its scores overflow. Check its units.")
    labels = [answer.classes[k] for k in probabilities.argmax(axis=1).tolist()]
    return {
        "labels": labels,
        "probabilities": np.ascontiguousarray(probabilities),
        "classes": answer.classes,
    }


async def _broken(request: Request, error: Exception) -> Response:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return json_response(
        {"detail": "Something went wrong here; the log of the service says what."}, 500
    )

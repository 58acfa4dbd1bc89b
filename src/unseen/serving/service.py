"""The service: what it does for each route."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import TypeAdapter

from unseen.exceptions import DataError, FileBusyError
from unseen.serving.answers import asked_coverage, prediction
from unseen.serving.batching import Batcher
from unseen.serving.front_page import PAGE_HEADERS, front_page
from unseen.serving.gate import Gate
from unseen.serving.keeper import ClassConflict, ClassRefused, Keeper, NewClass, UnknownClass
from unseen.serving.limits import Limits
from unseen.serving.loop_delay import note_delays
from unseen.serving.memory_budget import SHARE, MemoryBudget, OverBudget
from unseen.serving.message_schemas import AddRequest, PredictRequest
from unseen.serving.npy_body import NPY, npy_matrix
from unseen.serving.prometheus import Metrics
from unseen.serving.request_bodies import (
    check_json,
    check_texts,
    content_type,
    decoded_images,
    feature_matrix,
    json_response,
    parse_json,
    refuse,
)
from unseen.serving.routes import build_api
from unseen.serving.side_thread import SideThread
from unseen.serving.text_reader import LONGEST_TEXT, TextReader
from unseen.serving.vision import Vision
from unseen.typing import Array
from unseen.version import __version__, install_command

logger = logging.getLogger(__name__)

T = TypeVar("T")

FEWEST_VALUES = 10_000
"""A body with so many values is always parsed: it costs little, and what is wrong is said better."""
BYTES_OF_A_PROBABILITY = 8 + 20
"""In an array, and as text in the answer."""
BYTES_BETWEEN_NAMES = 8
"""Quotes and comma around the name of a class in a prediction set, and its place in a list."""


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
        self.api = build_api(self, token)
        self._page = front_page(self.api.openapi(), bool(token))
        paths = [route.path for route in self.api.routes if hasattr(route, "path")]
        self.budget = MemoryBudget(self.limits.memory)
        self.app = Gate(self.api, self.limits, self.metrics, self.budget, paths, token, hosts)

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Start the threads, and end them."""
        limits, self._aside = self.limits, SideThread()
        self._batcher = Batcher(self.keeper.score, limits.window, limits.batch, self.metrics)
        self._batcher.start()
        watching = asyncio.create_task(note_delays(self.metrics.late))
        yield
        watching.cancel()
        await self._batcher.stop()
        for worker in (self._aside, self.vision, self.reader):
            if worker is not None:
                worker.stop()

    async def predict(self, request: Request) -> Response:
        """Return a label and the probabilities of all candidates for each row."""
        coverage = asked_coverage(request)
        body = await request.body()
        if content_type(request).startswith("image/"):
            X = await self._photo_features([body])
        elif content_type(request) == NPY:
            width, most = self.keeper.features, self.limits.rows
            X = await self._aside.run(len(body), npy_matrix, body, width, most)
        else:
            check_json(request, NPY)
            X = await self._json_features(body)
        classes = self.keeper.classes
        answer_bytes = BYTES_OF_A_PROBABILITY * len(X) * len(classes)
        if coverage is not None:
            answer_bytes += len(X) * sum(len(str(name)) + BYTES_BETWEEN_NAMES for name in classes)
        try:
            request.scope[SHARE].add(answer_bytes)
        except OverBudget as error:
            self.metrics.refused.add(reason="memory")
            raise HTTPException(503, error.detail, {"retry-after": "1"}) from None
        answer = await self._batcher(X)
        return await self._aside.run(answer_bytes, prediction, answer, coverage)

    async def _json_features(self, body: bytes) -> Array:
        values = max(2 * self.limits.rows * self.keeper.features, FEWEST_VALUES)
        if self.reader is not None:
            values = max(values, self.limits.texts * LONGEST_TEXT)
        asked = await self._aside.run(len(body), self._parse, body, values)
        if isinstance(asked, np.ndarray):
            return asked
        if asked.images is not None:
            return await self._photo_features(decoded_images(asked.images))
        return await self._text_features(asked.texts or [])

    def _parse(self, body: bytes, values: int) -> Array | PredictRequest:
        """Return rows of features as a matrix at once: as lists they take four times the memory."""
        asked = parse_json(body, self._predict_body, values)
        if [asked.features, asked.images, asked.texts].count(None) != 2:
            refuse("Give one of 'features', 'images' and 'texts'.")
        if asked.features is None:
            return asked
        return feature_matrix(asked.features, self.keeper.features, self.limits.rows)

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
        check_json(request)
        body = await request.body()
        asked = await self._aside.run(len(body), parse_json, body, self._add_body, len(body))
        ways = [asked.vector, asked.attributes, asked.description]
        if asked.vector is not None and len([w for w in ways if w is not None]) > 1:
            refuse("A class with a 'vector' has neither 'attributes' nor 'description'.")
        new = NewClass(asked.name, asked.vector, asked.attributes, asked.description)
        await self._change(self.keeper.add, new)
        logger.info("added the class %r", asked.name)
        among = self.keeper.classes
        return json_response(
            {"name": asked.name, "candidate": asked.name in among, "candidates": len(among)}, 201
        )

    async def remove_class(self, request: Request) -> Response:
        """Remove a class that has no labelled rows."""
        name = request.path_params["name"]
        await self._change(self.keeper.remove, name)
        logger.info("removed the class %r", name)
        return json_response({"name": name, "candidates": len(self.keeper.classes)})

    async def _change(self, change: Callable[[T], None], argument: T) -> None:
        """Change the model and its file; say whose fault it is if that fails, and never where it is."""
        try:
            await asyncio.to_thread(change, argument)
        except ClassConflict as error:
            raise HTTPException(409, str(error)) from None
        except UnknownClass as error:
            raise HTTPException(404, str(error)) from None
        except ClassRefused as error:
            refuse(str(error))
        except FileBusyError:
            raise HTTPException(503, "Another process is writing the model file. Try again.") from None
        except (DataError, OSError) as error:
            logger.error("the model file cannot be changed: %s", error)
            detail = "The model file cannot be read or written; the log of the service says why."
            raise HTTPException(503, detail) from None
        self._note_classes()

    async def describe(self, _: Request) -> Response:
        """Return a page that says what this is."""
        return HTMLResponse(self._page, headers=PAGE_HEADERS)

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

"""The routes of the service, with what ``/openapi.json`` says of them."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from starlette.routing import Route

from unseen.serving.answers import COVERAGE
from unseen.serving.message_schemas import (
    AddedClass,
    AddRequest,
    ClassList,
    Health,
    Prediction,
    RemovedClass,
)
from unseen.serving.openapi import (
    body_description,
    describe_token,
    fault_responses,
    rows_description,
)
from unseen.serving.request_bodies import json_response
from unseen.typing import JsonObject
from unseen.version import __version__

if TYPE_CHECKING:
    from unseen.serving.service import Service

logger = logging.getLogger(__name__)

NAME_PARAMETER = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "minLength": 1},
}

COVERAGE_PARAMETER = {
    "name": COVERAGE,
    "in": "query",
    "required": False,
    "description": "Also answer with prediction sets: the fewest classes that should hold the right "
    "one so often, as 0.9.",
    "schema": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
}


def build_api(service: Service, token: str) -> FastAPI:
    """Return the routes with their descriptions."""
    limits = service.limits
    most_images = 0 if service.vision is None else limits.images
    most_texts = 0 if service.reader is None else limits.texts
    api = FastAPI(
        title="unseen",
        version=__version__,
        description="Recognise classes that nobody has labelled.",
        docs_url=None,  # its page would load scripts from another machine
        redoc_url=None,
        redirect_slashes=False,
        lifespan=service.lifespan,
    )
    add = partial(api.add_api_route, response_class=Response)
    add(
        "/predict",
        service.predict,
        methods=["POST"],
        summary="Label rows of features, photographs or texts",
        responses={200: {"model": Prediction}, **fault_responses(400, 408, 413, 415, 422)},
        openapi_extra={
            **rows_description(service.keeper.features, limits.rows, most_images, most_texts),
            "parameters": [COVERAGE_PARAMETER],
        },
    )
    add(
        "/classes",
        service.list_classes,
        methods=["GET"],
        summary="The classes, and among which of them it answers",
        responses={200: {"model": ClassList}, **fault_responses()},
    )
    add(
        "/classes",
        service.add_class,
        methods=["POST"],
        status_code=201,
        summary="Add a class, without training; the model file has it when this returns",
        responses={201: {"model": AddedClass}, **fault_responses(400, 408, 409, 413, 415, 422)},
        openapi_extra=body_description({"application/json": AddRequest.model_json_schema()}),
    )
    add(
        "/classes/{name:path}",
        service.remove_class,
        methods=["DELETE"],
        summary="Remove a class that has no labelled rows, in the model file, too",
        responses={200: {"model": RemovedClass}, **fault_responses(404, 409)},
        openapi_extra={"parameters": [NAME_PARAMETER]},
    )
    open_to_all: JsonObject = {"security": []} if token else {}
    add(
        "/health",
        service.health,
        methods=["GET"],
        summary="Whether it answers",
        responses={200: {"model": Health}, 421: fault_responses()[421]},
        openapi_extra=open_to_all,
    )
    add(
        "/metrics",
        service.show_metrics,
        methods=["GET"],
        summary="Numbers for Prometheus",
        responses={
            200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
            **{code: fault_responses()[code] for code in (401, 421)},
        },
    )
    api.router.routes.append(Route("/", service.describe, methods=["GET"]))
    # The same function before FastAPI's own route, which stays for the description: /predict needs
    # none of its dependencies, and they would take a third of the time.
    api.router.routes.insert(0, Route("/predict", service.predict, methods=["POST"]))
    api.exception_handler(Exception)(_broken)
    describe_token(api, token)
    return api


async def _broken(request: Request, error: Exception) -> Response:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return json_response(
        {"detail": "Something went wrong here; the log of the service says what."}, 500
    )

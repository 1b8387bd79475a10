"""OpenAPI: operations described for programs, and a page on which people try them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from deskgym.serve.operation import JSON, Operation
from deskgym.serve.problem import KINDS, MEDIA_TYPE

ANY_PROBLEMS: Final = (
    "bad_request", "key_required", "forbidden", "timeout", "too_large", "invalid_request",
    "internal_error", "database_unavailable",
)  # fmt: skip
"""Codes of the problems that any operation may answer with."""

BODY_PROBLEMS: Final = ("malformed_json", "unsupported_media_type")
"""Codes of the problems that an operation with a body may answer with."""

_PATH_PARAMETERS: Final[Mapping[str, tuple[str, str]]] = {
    "id": ("The id.", "rollout-1"),
    "suite": ("The suite's name.", "service"),
    "task": ("The task's name, without its suite.", "two-full-captures"),
}

DOCS_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
)
"""What the page may load: nothing from anywhere else."""


def openapi_of(
    title: str, version: str, about: str, prefix: str, operations: Sequence[Operation]
) -> dict[str, Any]:
    """The operations as an OpenAPI 3.1 document."""
    schemas = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        described = _described(operation)
        paths.setdefault(prefix + operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": about.strip()},
        "security": [{}, {"key": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The trainer's key; none where the server has none.",
                }
            },
        },
    }


def _schemas(operations: Sequence[Operation]) -> dict[str, Any]:
    taken = {item for operation in operations for item in (operation.form, operation.raw)}
    given = {operation.answer for operation in operations}
    models = [(model, "validation") for model in _sorted(taken)]
    models += [(model, "serialization") for model in _sorted(given)]
    _, document = models_json_schema(models, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    return {**document["$defs"], "Problem": _problem_schema()}


def _sorted(models: set[type[BaseModel] | None] | set[type[BaseModel]]) -> list[type[BaseModel]]:
    return sorted(filter(None, models), key=lambda model: model.__name__)


def _problem_schema() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "description": "Why a request was not served (RFC 9457).",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": {"type": "string", "format": "uri"},
            "title": text,
            "status": {"type": "integer"},
            "detail": text,
            "code": {"type": "string", "enum": list(KINDS)},
            "expected": {"type": "integer", "description": "The number of the next step."},
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["pointer", "detail"],
                    "properties": {"pointer": text, "detail": text},
                },
            },
        },
    }


def _described(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [_tag(operation)],
        "summary": operation.summary,
        "description": operation.description,
        "parameters": [*_path_parameters(operation.path), *_query_parameters(operation)],
        "responses": _responses(operation),
    }
    body = operation.form or operation.raw
    if body is not None:
        described["requestBody"] = {
            "required": body is operation.raw or _needs_fields(body),
            "content": {JSON: {"schema": _ref(body)}},
        }
    return described


def _tag(operation: Operation) -> str:
    first = operation.path.split("/")[1]
    return first if first in ("episodes", "batch", "recordings") else "catalogue"


def _needs_fields(model: type[BaseModel]) -> bool:
    return any(field.is_required() for field in model.model_fields.values())


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PATH_PARAMETERS[name][0],
            "schema": {"type": "string", "minLength": 1},
            "example": _PATH_PARAMETERS[name][1],
        }
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    properties: dict[str, Any] = operation.query.model_json_schema()["properties"]
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": schema.get("description", ""),
            "schema": _query_schema(schema),
        }
        for name, schema in properties.items()
    ]


def _query_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that may be left out has no null: nothing in a query is written so."""
    options = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
    kept = dict(options[0]) | {key: schema[key] for key in ("default",) if schema.get(key)}
    return {key: value for key, value in kept.items() if key not in ("title", "description")}


def _responses(operation: Operation) -> dict[str, Any]:
    content = {JSON: {"schema": _ref(operation.answer)}}
    answers: dict[str, Any] = {
        str(operation.status): {
            "description": (operation.answer.__doc__ or "").partition("\n")[0],
            "content": content,
        }
    }
    for status, when in operation.other_statuses:
        answers[str(status)] = {"description": when, "content": content}
    codes = [*operation.problems, *ANY_PROBLEMS, *(BODY_PROBLEMS if operation.takes_body else ())]
    for status in sorted({KINDS[code].status for code in codes}):
        titles = dict.fromkeys(KINDS[code].title for code in codes if KINDS[code].status == status)
        answers[str(status)] = {
            "description": "; ".join(titles),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    return answers


def docs_page(title: str, url: str) -> str:
    """A page that shows an OpenAPI document and sends requests; it loads nothing from elsewhere."""
    page = files("deskgym.serve").joinpath("docs.html").read_text("utf-8")
    return page.replace("{{title}}", escape(title)).replace("{{url}}", escape(url))

"""Logs: one JSON object a line, without secrets and without what was said in a request.

An exception is logged by its type and the places it passed, not by its message: that may quote
what an agent wrote.
"""

from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime
from typing import Any, Final

import orjson

LOGGER: Final = "deskgym.serve"
FIELDS: Final = "fields"
"""The name under which a record carries further fields."""

_log: Final = logging.getLogger(LOGGER)


class JsonFormatter(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            "process": record.process,
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            fields["error"] = f"{kind.__module__}.{kind.__qualname__}"
            fields["trace"] = [
                f"{frame.filename}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(trace)
            ]
        return orjson.dumps(fields, default=str).decode()


def note(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields."""
    if _log.isEnabledFor(level):
        _log.log(level, event, extra={FIELDS: fields})


def note_failure(event: str, error: BaseException, **fields: Any) -> None:
    """Log an error of ours."""
    _log.error(event, exc_info=error, extra={FIELDS: fields})


def log_config(level: str) -> dict[str, Any]:
    """How a worker process logs: to standard error, ours from the level on, the rest warnings."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": f"{__name__}.{JsonFormatter.__name__}"}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "json",
                "stream": "ext://sys.stderr",
            }
        },
        "loggers": {
            "deskgym": {"handlers": ["stderr"], "level": level.upper(), "propagate": False},
            "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        },
        "root": {"handlers": ["stderr"], "level": "WARNING"},
    }

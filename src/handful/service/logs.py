"""Logs as JSON, a line for each event. Never a key, a header or a body."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime

import msgspec

FIELDS = ("request_id", "method", "route", "status", "milliseconds", "caller", "reason", "detail")
"""What an event may say beside its message."""


class JsonLines(logging.Formatter):
    """Formats an event as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return an event as a line."""
        event: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        for field in FIELDS:
            value = getattr(record, field, None)
            if value is not None:
                event[field] = value
        if record.exc_info:
            event["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(event).decode()


def set_up(level: str = "info") -> None:
    """Write the events of the service to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("handful.service", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel("WARNING")

"""Logs: one JSON object per line on standard error."""

import json
import logging
import sys
import time

_FIELDS = "fields"


class _JsonLines(logging.Formatter):
    """Time, level, event, and the fields of :func:`event`."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, _FIELDS, {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def set_up() -> None:
    """Send all logs of this process to standard error, one JSON object per line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def event(logger: logging.Logger, level: int, name: str, **fields: object) -> None:
    """Log one event with fields; never put names from a request in it, they may be private."""
    logger.log(level, name, extra={_FIELDS: fields})

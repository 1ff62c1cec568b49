"""Log lines: what happened, then key=value. JSON logs contain the same fields."""

import json
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_OURS = logging.getLogger("hexveil")
_OURS.setLevel(logging.INFO)  # the scheduler uses our loggers, but not their level
STEPS = "hexveil.steps"
"""The logger that says how each step ended."""

_SHOWN = "hexveil-shown"
"""The name of the handler of ``show_by``."""

_counts: ContextVar[Counter[str] | None] = ContextVar("counts", default=None)


def show_lines(verbose: bool, warnings: bool = False) -> None:
    """Write log lines to standard error if ``verbose``, else nowhere. For runs without a scheduler.

    Args:
        verbose: Whether every line is shown.
        warnings: Whether warnings are shown in any case.
    """
    handler = logging.StreamHandler() if verbose or warnings else logging.NullHandler()
    handler.setLevel(logging.INFO if verbose else logging.WARNING)
    form = "%(asctime)s | %(levelname)-7s | %(name)s - %(message)s"
    handler.setFormatter(logging.Formatter(form, "%H:%M:%S"))
    handler.addFilter(lambda record: record.name != STEPS or record.levelno > logging.INFO)  # each line has a time
    show_by(handler)


def show_by(handler: logging.Handler) -> None:
    """Show log lines by a handler in place of the one before, so that no line is shown twice."""
    handler.set_name(_SHOWN)
    for earlier in [one for one in _OURS.handlers if one.name == _SHOWN]:
        _OURS.removeHandler(earlier)
    _OURS.addHandler(handler)


def say(log: logging.Logger, what: str, **fields: Any) -> None:
    """Log what a run did.

    Args:
        log: The logger of the calling module.
        what: A few words, always the same for the same event.
        **fields: Counts, dates, release ids, file names; nothing private. The record has them as its attribute
            ``fields``, which a JSON formatter writes. Whole numbers are counts.
    """
    counts = _counts.get()
    if counts is not None:
        counts.update({name: value for name, value in fields.items() if isinstance(value, int)})
    _log(log, logging.INFO, what, fields)


def warn(log: logging.Logger, what: str, **fields: Any) -> None:
    """Log what a person should look at, although the run continues; the arguments are those of ``say``."""
    _log(log, logging.WARNING, what, fields)


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Yield the sums of the counts that are said in the block, by name."""
    counts: Counter[str] = Counter()
    before = _counts.set(counts)
    try:
        yield counts
    finally:
        _counts.reset(before)


def _log(log: logging.Logger, level: int, what: str, fields: dict[str, Any]) -> None:
    plain = {name: value if isinstance(value, int | float) else str(value) for name, value in fields.items()}
    message = " ".join([what, *(f"{name}={_readable(value)}" for name, value in plain.items())])
    log.log(level, message, extra={"fields": plain})


def _readable(value: float | str) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or set(text) & set(' "=\n') else text

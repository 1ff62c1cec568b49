"""Show the progress of work: a line for each step, a bar at the terminal, an artifact in the scheduler's pages."""

import contextlib
import logging
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import track

from tasks.base import scheduler
from tasks.base.logs import STEPS, show_by

T = TypeVar("T")

_SECONDS_BETWEEN = 2.0
_MOST_COUNTS = 3
_FAILED = "FAILED"

_shown: list[str] = []

_watched = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
"""The console of lines and bars: standard error, because results go to standard output."""


def show_steps() -> None:
    """Write a line to standard error for each step that ends, at a terminal and elsewhere alike."""
    handler = _StepLines()
    handler.addFilter(logging.Filter(STEPS))
    show_by(handler)


@contextmanager
def part(name: str, outcome: str) -> Iterator[None]:
    """Write such a line for the work in the block, with its outcome if it does not fail."""
    began = time.monotonic()
    try:
        yield
    except Exception:
        _show_line(name, _FAILED, time.monotonic() - began)
        raise
    _show_line(name, outcome, time.monotonic() - began)


def _show_line(name: str, outcome: str, seconds: float) -> None:
    _watched.print(f"{name:<42}  {outcome:<46} {seconds:6.1f} s")


class _StepLines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        fields = dict(vars(record)["fields"])
        name, seconds, reason = fields.pop("step"), fields.pop("seconds"), fields.pop("reason", None)
        if reason is not None:
            _watched.print(f"{name:<42}  is tried again in {seconds:g} s: {reason}")
            return
        _show_line(name, _FAILED if record.levelno >= logging.WARNING else _in_words(fields), seconds)


def _in_words(counts: dict[str, int]) -> str:
    """Return the first counts that are not 0, such as "93,923 kept, 101 duplicate"."""
    named = {name.removeprefix("n_").replace("_", " "): count for name, count in counts.items() if count}
    words = [f"{count:,} {name.removesuffix('s') if count == 1 else name}" for name, count in named.items()]
    return ", ".join(words[:_MOST_COUNTS]) + ", …" * (len(words) > _MOST_COUNTS)


def progress(items: Iterable[T], what: str) -> Iterator[T]:
    """Yield the items and show how many are done. Of nested calls only the outermost shows a bar."""
    if _shown:
        yield from items
        return
    _shown.append(what)
    everything = list(items)
    try:
        yield from _shown_to_watchers(_shown_at_terminal(everything, what), what, len(everything))
    finally:
        _shown.clear()


def _shown_at_terminal(items: list[T], what: str) -> Iterable[T]:
    if not sys.stderr.isatty():
        return items
    return track(items, description=escape(what), console=_watched, transient=True)


class _Artifact:
    """A progress bar in the scheduler's pages, for work of several seconds. An error in showing it is ignored."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown: Any = None
        self._last = time.monotonic()

    def show(self, share: float, *, at_once: bool = False) -> None:
        due = time.monotonic() - self._last > _SECONDS_BETWEEN
        if not (due or (at_once and self._shown)) or not scheduler.in_flow_run():
            return
        self._last = time.monotonic()
        with contextlib.suppress(Exception):
            self._shown = scheduler.show_progress(share, self._what, self._shown)


def _shown_to_watchers(items: Iterable[T], what: str, n_items: int) -> Iterator[T]:
    artifact = _Artifact(what)
    for n_done, item in enumerate(items):
        artifact.show(n_done / n_items)
        yield item
    artifact.show(1.0, at_once=True)

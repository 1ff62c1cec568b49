"""Show the progress of long work: a bar at the terminal, an artifact in the scheduler's pages."""

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import track

from tasks.base import scheduler

T = TypeVar("T")

_SECONDS_BETWEEN = 2.0

_shown: list[str] = []


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
    return track(items, description=escape(what), console=Console(stderr=True), transient=True)


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

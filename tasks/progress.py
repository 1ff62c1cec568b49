"""A progress bar for a person at a terminal, nothing for a log file."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track

T = TypeVar("T")

_shown: list[str] = []


def progress(items: Iterable[T], what: str) -> Iterator[T]:
    """Yield the items, with a bar on standard error while a terminal shows it; one bar at a time, the outermost."""
    if _shown or not sys.stderr.isatty():
        yield from items
        return
    _shown.append(what)
    try:
        yield from track(list(items), description=what, console=Console(stderr=True), transient=True)
    finally:
        _shown.clear()

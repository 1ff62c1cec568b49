"""A progress bar for a person at a terminal, nothing for a log file."""

import sys
from collections.abc import Iterable
from typing import TypeVar

from rich.console import Console
from rich.progress import track

T = TypeVar("T")


def progress(items: list[T], what: str) -> Iterable[T]:
    """Yield the items, with a bar on standard error while a terminal shows it."""
    return track(items, description=what, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)

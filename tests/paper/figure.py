"""What a figure of the papers is: its numbers, its drawing, and what the paper claims of it, measured."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import polars as pl
from matplotlib.figure import Figure as Canvas

Step = TypeVar("Step")


class Claim(NamedTuple):
    """One claim of a paper about one of its figures, as measured here.

    Attributes:
        statement: What the paper says, or what follows from it, with the factor.
        holds: Whether the numbers bear it out.
        why: What was measured; where the claim does not hold, the reason too.
        expected: False for a claim that is known not to hold: the tests fail if it ever does.
    """

    statement: str
    holds: bool
    why: str
    expected: bool = True


@dataclass(frozen=True)
class Figure:
    """One figure of a paper, drawn again by this code.

    Attributes:
        id: Paper and number, unique: "BUC figure 1".
        caption: What is drawn, with the setting: sizes, distributions, repetitions, ranges.
        paper: What the paper says about it, in its own words or nearly so.
        numbers: Computes everything that is drawn, one row per point; the argument is True for the quick
            setting (seconds, fewer repetitions and points) and False for the paper's own.
        draw: Draws the numbers.
        claims: Measures the paper's claims on the numbers.
        missing: Says which records it needs that are not here; empty where it can be drawn.
    """

    id: str
    caption: str
    paper: str
    numbers: Callable[[bool], pl.DataFrame]
    draw: Callable[[pl.DataFrame, Canvas], None]
    claims: Callable[[pl.DataFrame], Iterable[Claim]]
    missing: Callable[[], str] = lambda: ""

    @property
    def file_stem(self) -> str:
        """The name of its PNG and CSV, without the suffix."""
        return re.sub(r"[^a-z0-9]+", "-", self.id.lower()).strip("-")


Tracker = Callable[[list[Step]], Iterable[Step]]
_tracker: ContextVar[Tracker | None] = ContextVar("_tracker", default=None)


def steps(todo: Iterable[Step]) -> Iterable[Step]:
    """Return the steps of a computation, such that a progress bar sees each one, if there is a bar."""
    tracker = _tracker.get()
    return todo if tracker is None else tracker(list(todo))


@contextmanager
def tracked_by(tracker: Tracker) -> Iterator[None]:
    """Have ``steps`` report to a progress bar."""
    token = _tracker.set(tracker)
    try:
        yield
    finally:
        _tracker.reset(token)

"""What a kind of release answers: what it plans, draws, charges, publishes and says, and how it is checked."""

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Literal, Protocol

import pandera.polars as pa
import polars as pl

from dpmath.core.currency import Currency
from dpmath.noise.sampling import RandomBytes
from tasks.account.entry import Entry, Release, Stated
from tasks.base.config import Config
from tasks.kinds.day import GridDay, PlannedDay
from tasks.kinds.plan import Plan
from tasks.kinds.stored_plan import StoredPlan
from tasks.proposals.request import Proposal, Request

Errors = Sequence[Fraction | float | None]

EPSILON_IN_ZCDP = (
    "the least epsilon at delta that follows from rho for any one user, rounded up; rho is what is counted, and "
    "epsilons of several releases must not be added"
)
"""What the epsilon of any release in zCDP is."""


@dataclass(frozen=True)
class Words:
    """What a kind says of its releases.

    Attributes:
        error: Whether the error that it states before a draw is "promised" or "expected".
        instead: What counts in place of a value outside the bounds, or of one that cannot be read.
        each_draw: What has noise of its own.
        in_pure: Of the guarantee in pure epsilon: "epsilon" and "composition".
        in_zcdp: The same in zCDP.
    """

    error: Literal["promised", "expected"]
    instead: str
    each_draw: str
    in_pure: dict[str, str]
    in_zcdp: dict[str, str]


@dataclass(frozen=True)
class Worth:
    """What a day is worth under some settings, in the value's unit.

    Attributes:
        error: The error over all records.
        share: The share of records in cells that keep the target.
        of_published: The error over the records that are published; None if none is.
    """

    error: float
    share: float
    of_published: float | None


@dataclass(frozen=True)
class Drawing:
    """What a kind releases a planned day with.

    Attributes:
        date: The local day.
        plan: Its stored plan.
        entries: The ledger's entries.
        config: The configuration that the plan was made with.
        release_id: The id of the release.
        is_revision: Whether it is a further release of the day.
        private: Returns the private totals of the plan's pairs or cells that a SQL statement reads.
        random_bytes: Returns that many independent uniform bytes.
    """

    date: dt.date
    plan: StoredPlan
    entries: list[Entry]
    config: Config
    release_id: str
    is_revision: bool
    private: Callable[[str], pl.DataFrame]
    random_bytes: RandomBytes


@dataclass(frozen=True)
class Drawn:
    """What a draw leaves.

    Attributes:
        statistics: The published table.
        tables: Further published tables, by the name of their file.
        stated: Further fields of the ledger's entry. Private files that must stay with the release are named in "kept",
            by their hash, and what it learned from and leaves in "states"; all others are removed.
    """

    statistics: pl.DataFrame
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    stated: Stated = field(default_factory=dict)


class Verifier(Protocol):
    """Checks releases of one kind, in the order of the ledger; it may remember what it made again."""

    def problems(
        self, entry: Release, plan: StoredPlan, table: pl.DataFrame, before: Sequence[Entry], config: Config
    ) -> Iterator[str]:
        """Yield what in a released table does not follow from its plan and its noisy answers.

        Args:
            entry: The entry of the release.
            plan: Its stored plan.
            table: The released table.
            before: The entries before it.
            config: Says where the files are.
        """
        ...


class Kind(Protocol):
    """A kind of release. All but ``release`` reads public numbers only."""

    @property
    def words(self) -> Words:
        """What it says of its releases."""
        ...

    def with_facts(self, cells: pl.DataFrame, config: Config) -> pl.DataFrame:
        """Return a day's cells with the public facts that the kind needs beside their occupancy."""
        ...

    def plan(self, date: dt.date, day: PlannedDay, proposal: Proposal, config: Config) -> Plan:
        """Return the plan of a day from what its mechanism proposes.

        Raises:
            NothingToPublish: No cell can keep its promise.
            BudgetExceeded: Users have too little left.
        """
        ...

    def errors(self, date: dt.date, day: PlannedDay, proposal: Proposal, config: Config) -> Errors | None:
        """Return each cell's error, in the value's unit; None for a withheld cell. None in all if it is not known."""
        ...

    def worths(self, day: GridDay, epsilons: Sequence[Decimal], deviation: float, target: float) -> Iterator[Worth]:
        """Yield what a day is worth at each epsilon.

        Args:
            day: The day in some grid.
            epsilons: The most that the day may cost a user.
            deviation: How far users' means are from the values' centre, in points.
            target: The error that shares are about, in the value's unit.
        """
        ...

    def cells_and_loss(self, request: Request, config: Config) -> tuple[int, int]:
        """Return how many cells a day publishes, and the most that it costs a user, in the request's currency."""
        ...

    def published(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Return those of a stored plan's cells that are published."""
        ...

    def described(self, plan: StoredPlan, config: Config) -> Stated:
        """Return what the ledger states of a stored plan: "cells" and "pairs", and "sums" if they follow from it."""
        ...

    def release(self, drawing: Drawing) -> Drawn:
        """Read the private totals, draw the noise once, and return what is published."""
        ...

    def schema(self, config: Config) -> pa.DataFrameSchema:
        """Return the schema of the published table."""
        ...

    def variance_unseen(self, table: pl.DataFrame, entry: Release, config: Config) -> float:
        """Return how much more cells' true means vary than the published ones, over records; below zero with noise.

        Args:
            table: The released table.
            entry: The entry of the release.
            config: The configuration that it was made with.
        """
        ...

    def losses(self, plan: StoredPlan, config: Config, currency: Currency) -> dict[str, int]:
        """Return each user's loss by keyed hash, screening left out, as far as it follows from the stored plan."""
        ...

    def verifier(self) -> Verifier:
        """Return what checks the releases of one ledger."""
        ...

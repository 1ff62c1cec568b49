"""What is alike in the kinds that publish a noisy sum of each cell. A kind adds how its sums are stored and drawn."""

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandera.polars as pa
import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.cell_sums import user_losses
from dpmath.core.currency import GAUSSIAN, Currency
from dpmath.core.occupancy import Occupancy
from dpmath.noise.sampling import RandomBytes
from tasks.account.entry import Entry, Release, Stated
from tasks.account.screenings import full_charges
from tasks.base.config import Config
from tasks.base.frames import Columns
from tasks.kinds.cell_sums import recompute
from tasks.kinds.cell_sums.plan import SumsPlan, mean_errors, plan_of_sums
from tasks.kinds.cell_sums.statistics import statistic_frame, statistic_schema
from tasks.kinds.cell_sums.stored_sum import StoredSum, stored_sums
from tasks.kinds.day import GridDay, PlannedDay, after_screening, request_of
from tasks.kinds.kind import EPSILON_IN_ZCDP, Drawing, Drawn, Words, Worth
from tasks.kinds.plan import over_records
from tasks.kinds.stored_plan import StoredPlan
from tasks.proposals.mechanisms import propose
from tasks.proposals.request import Proposal, Request

_WORDS = Words(
    error="promised",
    instead="bound, and one that is missing or cannot be read as the midpoint",
    each_draw="cell and moment",
    in_pure={
        "epsilon": "the most that any one user loses by this release; exact where only the mean is published and no "
        "interval is drawn, else at most",
        "composition": "a user's loss is the sum over cells and statistics of the most that the user can move the "
        "sum / noise scale, an exact rational, or of the cell's whole epsilon where an interval is drawn; losses of "
        "several releases add up",
    },
    in_zcdp={
        "epsilon": EPSILON_IN_ZCDP,
        "composition": "a user's rho is the sum over cells and statistics of half the square of the most that the user "
        "can move the sum / noise scale, an exact rational; a drawn interval adds an eighth of the square of its "
        "epsilon; rho of several releases adds up",
    },
)


class OfSums(ABC):
    """A kind that publishes a noisy sum of each cell; see ``tasks.kinds.kind.Kind``.

    Attributes:
        private_totals: The SQL statement that reads what is summed.
    """

    words = _WORDS
    private_totals: str

    @abstractmethod
    def cell_columns(self, occupancy: Occupancy, sums: Any) -> Columns:
        """Return what a plan stores of each cell, including ``inverse_scale``, ``divisor`` and ``bias``."""

    @abstractmethod
    def pair_columns(self, occupancy: Occupancy, sums: Any) -> Columns:
        """Return what a plan stores of each pair of a published cell."""

    @abstractmethod
    def drawn(self, stored: StoredSum, private: pl.DataFrame, random_bytes: RandomBytes) -> Columns:
        """Return the columns of the cells after the draw: ``noisy_{moment}_sum``, and what was drawn with it.

        Args:
            stored: The sum as the plan stores it.
            private: The rows that ``private_totals`` read.
            random_bytes: Returns that many independent uniform bytes.
        """

    @abstractmethod
    def pair_losses(self, stored: StoredSum, currency: Currency) -> ExactIntArray:
        """Return each pair's loss in a currency, recomputed from the stored plan alone."""

    @abstractmethod
    def following(self, stored: StoredSum) -> Columns:
        """Return the stored columns that follow from the others, recomputed."""

    @abstractmethod
    def drawn_again(self, stored: StoredSum, published: pl.DataFrame) -> Columns:
        """Return the drawn columns that the published table shows, except the noisy sum."""

    @abstractmethod
    def described_sum(self, stored: StoredSum) -> Stated:
        """Return what the ledger states about the sum: its scales and sensitivity, in the sum's own unit."""

    @abstractmethod
    def n_suppressed_and_whole(self, pairs: pl.DataFrame, config: Config) -> tuple[int, int]:
        """Return how many pairs do not count at all, and how many count in full."""

    def with_facts(self, cells: pl.DataFrame, config: Config) -> pl.DataFrame:  # noqa: ARG002
        """Return the cells as they are."""
        return cells

    def plan(self, date: dt.date, day: PlannedDay, proposal: Proposal, config: Config) -> SumsPlan:
        """Return the plan: the cells that keep their promise are published."""
        return plan_of_sums(date, day, proposal, self, config)

    def errors(
        self,
        date: dt.date,  # noqa: ARG002
        day: PlannedDay,
        proposal: Proposal,
        config: Config,
    ) -> list[Fraction | None]:
        """Return each cell's promised error; None for a withheld cell."""
        return mean_errors(day.request.occupancy, proposal.sums[0], Fraction(config.value.tick))

    def worths(
        self,
        day: GridDay,
        epsilons: Sequence[Decimal],
        deviation: float,  # noqa: ARG002
        target: float,
    ) -> Iterator[Worth]:
        """Yield the promised errors."""
        for epsilon in epsilons:
            yield self._worth(day.with_epsilon(epsilon), target)

    def _worth(self, day: GridDay, target: float) -> Worth:
        config, occupancy = day.config, day.occupancy
        request = after_screening(request_of(occupancy, None, config), full_charges(occupancy.n_users, config), config)
        errors = mean_errors(occupancy, propose(config.privacy.mechanism, request).sums[0], Fraction(config.value.tick))
        published = np.array([error is not None for error in errors])
        promised = np.array([float(error or 0) for error in errors])
        records = occupancy.cell_records
        return Worth(
            error=over_records(errors, occupancy, config),
            share=float(np.average(published & (promised <= target), weights=records)),
            of_published=float(np.average(promised, weights=records * published)) if published.any() else None,
        )

    def cells_and_loss(self, request: Request, config: Config) -> tuple[int, int]:
        """Return how many cells keep their promise, and what the user with the largest loss loses by them."""
        sums = propose(config.privacy.mechanism, request).sums
        return int(sums[0].published.sum()), int(max(user_losses(request.occupancy, sums, request.currency)))

    def published(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Return the cells that have noise."""
        return cells.filter(pl.col("mean_inverse_scale") > 0)

    def described(self, plan: StoredPlan, config: Config) -> Stated:
        """Return how much is published, withheld, suppressed and clipped, and each sum's scales and sensitivity.

        Scales and sensitivities are in the sum's own unit: ticks for the mean, squared half ticks for the second
        moment. If arrays are averaged, the unit is divided by the length of an array.
        """
        n_pairs = plan.pairs.height
        n_suppressed, n_whole = self.n_suppressed_and_whole(plan.pairs, config)
        n_cells, n_published = plan.cells.height, plan.published.height
        return {
            "cells": {"total": n_cells, "published": n_published, "withheld": n_cells - n_published},
            "pairs": {"total": n_pairs, "suppressed": n_suppressed, "clipped": n_pairs - n_suppressed - n_whole},
            "sums": {stored.moment: self.described_sum(stored) for stored in stored_sums(plan, config)},
        }

    def release(self, drawing: Drawing) -> Drawn:
        """Draw the noise of each published cell and moment."""
        private, drawn = drawing.private(self.private_totals), dict[str, pl.Series]()
        for stored in stored_sums(drawing.plan, drawing.config):
            drawn |= self.drawn(stored, private, drawing.random_bytes)
        noisy = drawing.plan.published.with_columns(**drawn)
        return Drawn(statistic_frame(noisy, drawing.release_id, drawing.config))

    def schema(self, config: Config) -> pa.DataFrameSchema:
        """Return the schema of the published table."""
        return statistic_schema(config)

    def variance_unseen(self, table: pl.DataFrame, entry: Release, config: Config) -> float:  # noqa: ARG002
        """Return less than zero: the variance of the noise."""
        of_scale = 1 if config.privacy.sum_noise == GAUSSIAN else 2
        noise = of_scale * table["mean_noise_scale"].to_numpy() ** 2
        return -float(np.average(noise, weights=table["n_records"].to_numpy()))

    def losses(self, plan: StoredPlan, config: Config, currency: Currency) -> dict[str, int]:
        """Return each user's loss, from only the intervals and scales of the stored plan."""
        pairs = [self.pair_losses(stored, currency) for stored in stored_sums(plan, config)]
        return recompute.per_user(plan.pairs["user_hash"], pairs)

    def verifier(self) -> "OfSums":
        """Return itself: a release is checked by its own plan alone."""
        return self

    def problems(
        self,
        entry: Release,
        plan: StoredPlan,
        table: pl.DataFrame,
        before: Sequence[Entry],  # noqa: ARG002
        config: Config,
    ) -> Iterator[str]:
        """Yield what in a released table does not follow from its plan and from whole noisy sums."""
        settings = config.with_settings(entry.settings)
        stored = stored_sums(plan, settings)
        if not all(recompute.is_consistent(one, self.following(one)) for one in stored):
            yield "scales and biases are not those of the plan's users"
        drawn = [self.drawn_again(one, table) for one in stored] if table.height == plan.published.height else []
        problem = recompute.problem_with_table(table, plan.published, drawn, entry.release_id, settings)
        yield from [problem] if problem else []

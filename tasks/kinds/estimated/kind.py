"""The kind of release that estimates the whole map from a few noisy sums a day."""

import datetime as dt
from collections.abc import Iterator, Sequence
from decimal import Decimal

import numpy as np
import pandera.polars as pa
import polars as pl

from dpmath.core.currency import Currency
from dpmath.estimate.areas import HALF_WIDTH
from tasks.account.entry import Release, Stated
from tasks.base.config import Config
from tasks.kinds.day import GridDay, PlannedDay
from tasks.kinds.estimated import prospects
from tasks.kinds.estimated.expected import expected_estimate
from tasks.kinds.estimated.owner_covariates import with_covariates
from tasks.kinds.estimated.plan import EstimatePlan, losses_of, plan_of_estimate
from tasks.kinds.estimated.release import estimate_day
from tasks.kinds.estimated.replay import Replay
from tasks.kinds.estimated.tables import estimate_schema
from tasks.kinds.kind import EPSILON_IN_ZCDP, Drawing, Drawn, Words, Worth
from tasks.kinds.stored_plan import StoredPlan
from tasks.proposals.request import Proposal, Request

_WORDS = Words(
    error="expected",
    instead="bound, and one that is missing or cannot be read as the mean of the user's other values in its cell, or "
    "as what is expected of the cell if there are none",
    each_draw="noisy sum",
    in_pure={
        "epsilon": "the most that any one user loses by this release",
        "composition": "a user's loss is the sum over the day's questions of the most that the user can move the "
        "answers / noise scale, rounded up to the day's epsilon; losses of several releases add up",
    },
    in_zcdp={
        "epsilon": EPSILON_IN_ZCDP,
        "composition": "a user's rho is the sum over the day's questions of half the square of the most that the user "
        "can move the answers / noise scale, rounded up to the day's rho; rho of several releases adds up",
    },
)


class Estimated:
    """Estimates; see ``tasks.kinds.kind.Kind``."""

    words = _WORDS

    def with_facts(self, cells: pl.DataFrame, config: Config) -> pl.DataFrame:
        """Return the cells with the owner's covariates."""
        return with_covariates(cells, config)

    def plan(self, date: dt.date, day: PlannedDay, proposal: Proposal, config: Config) -> EstimatePlan:
        """Return the plan: every cell is published, and who has something left is charged."""
        return plan_of_estimate(date, day, proposal, config)

    def errors(self, date: dt.date, day: PlannedDay, proposal: Proposal, config: Config) -> list[float] | None:
        """Return each cell's expected error; None before the first release, when the values' scale is not known."""
        expected = expected_estimate(date, day.cells, day.request.occupancy, losses_of(proposal), config)
        return None if expected is None else expected.error.tolist()

    def worths(self, day: GridDay, epsilons: Sequence[Decimal], deviation: float, target: float) -> Iterator[Worth]:
        """Yield the expected errors, as of a day that is not the first."""
        records = day.occupancy.cell_records
        for of_cells in prospects.deviations(day, epsilons, deviation):
            error = float(np.average(of_cells, weights=records)) * (2 / np.pi) ** 0.5
            yield Worth(error, float(np.average(HALF_WIDTH * of_cells <= target, weights=records)), error)

    def cells_and_loss(self, request: Request, config: Config) -> tuple[int, int]:
        """Return all cells, and all that a day may cost."""
        return request.occupancy.n_cells, request.currency.within(config.privacy.epsilon_per_day)

    def published(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Return all cells."""
        return cells

    def described(self, plan: StoredPlan, config: Config) -> Stated:  # noqa: ARG002
        """Return how many cells are published, and how many pairs are of users who have nothing left."""
        n_cells, users = plan.cells.height, plan.question_losses.keys()
        n_left_out = int((~plan.pairs["user_hash"].is_in(list(users))).sum())
        return {
            "cells": {"total": n_cells, "published": n_cells, "withheld": 0},
            "pairs": {"total": plan.pairs.height, "suppressed": n_left_out, "clipped": 0},
        }

    def release(self, drawing: Drawing) -> Drawn:
        """Ask the day's questions, each once."""
        return estimate_day(drawing)

    def schema(self, config: Config) -> pa.DataFrameSchema:
        """Return the schema of the published table."""
        return estimate_schema(config)

    def variance_unseen(self, table: pl.DataFrame, entry: Release, config: Config) -> float:  # noqa: ARG002
        """Return the estimates' own variance, but for that of the day's mean."""
        own = np.average(table["mean_sd"].to_numpy() ** 2, weights=table["n_records"].to_numpy())
        return float(own) - (0.0 if entry.whole_day is None else entry.whole_day[1] ** 2)

    def losses(self, plan: StoredPlan, config: Config, currency: Currency) -> dict[str, int]:  # noqa: ARG002
        """Return what the plan states: that the questions cost no more is checked where they are made again."""
        return plan.question_losses

    def verifier(self) -> Replay:
        """Return what makes the estimates of a ledger again."""
        return Replay()

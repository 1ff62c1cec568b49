"""A day's plan, and how it is stored: private files named by their hash, written before the plan is executed."""

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import h3
import numpy as np
import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.currency import Currency
from dpmath.core.occupancy import Occupancy
from tasks.account import private_files
from tasks.base import frames
from tasks.base.config import Config
from tasks.kinds.payment import Payment


@dataclass(frozen=True)
class Outlook:
    """What a plan promises or expects of a day.

    Attributes:
        numbers: By name, in the value's unit, among them ``error_over_all_records``; None what is not known.
        of_published: The error over the records that are published; None if it is not known.
        of_constant: What the best constant is guessed to err before anything is released; None if it is not.
    """

    numbers: dict[str, float | None]
    of_published: float | None
    of_constant: float | None = None


@dataclass(frozen=True)
class Plan(ABC):
    """What a day's release would publish, before anything is drawn or spent.

    Attributes:
        cells: One row per cell, by slot and hexagon: slot_start, h3_cell, n_records, n_users.
        user_hashes: Keyed hash of each user of the occupancy.
        occupancy: Pairs of cell and user, numbered by the rows above.
        charges: What the screening costs each user, in the currency's unit, shape (L,).
        currency: What losses are counted in.
        settings: What the plan was made from, as the ledger records it.
        payment: What of the day the budget pays.
    """

    cells: pl.DataFrame
    user_hashes: list[str]
    occupancy: Occupancy
    charges: ExactIntArray
    currency: Currency
    settings: dict[str, Any]
    payment: Payment

    @property
    @abstractmethod
    def losses(self) -> ExactIntArray:
        """Each user's loss, that by the screening included, in the currency's unit, shape (L,)."""

    @abstractmethod
    def cell_frame(self) -> pl.DataFrame:
        """Return what is stored of each cell."""

    @abstractmethod
    def pair_frame(self) -> pl.DataFrame:
        """Return what is stored of each pair of a published cell and a user."""

    @abstractmethod
    def certificate(self) -> dict[str, Any]:
        """Return the bounds that show how good the plan is."""

    def summary(self) -> dict[str, Any]:
        """Return what the plan would publish, promise and cost, and how it is paid; numbers in the value's unit."""
        paid = {"users_short": self.payment.n_short, "paid_share": float(self.payment.share)}
        return {**self.numbers(), **paid, "mechanism": self.settings["privacy"]["mechanism"]}

    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """Return what the plan would publish, promise and cost; numbers in the value's unit."""

    @abstractmethod
    def outlook(self, date: dt.date, config: Config) -> Outlook:
        """Return what the plan promises or expects of its day."""

    def enough(self, date: dt.date, spread: float | None, config: Config) -> Decimal | None:  # noqa: ARG002
        """Return which epsilon_per_day would be enough for a day that is no better than a constant; None if unknown."""
        return None

    @abstractmethod
    def rows(self, date: dt.date, config: Config) -> list[dict[str, Any]]:
        """Return one row per cell: its place and size, and what is promised or expected of it."""

    @property
    def n_asked(self) -> int:
        """How many users the plan asks for the count that screens the day."""
        return int((self.charges > 0).sum())

    def pairs(self, which: np.ndarray[Any, Any]) -> pl.DataFrame:
        """Return some pairs: slot_start, h3_cell, user_hash, n_records."""
        return self.cells.select("slot_start", "h3_cell")[self.occupancy.cell[which]].with_columns(
            user_hash=pl.Series(self.user_hashes).gather(pl.Series(self.occupancy.user[which])),
            n_records=pl.Series(self.occupancy.n_records[which]),
        )


def store_plan(plan: Plan, config: Config) -> str:
    """Write a plan's private files and its certificate, each named by its hash. Return the hash of the whole."""
    folder = private_files.plans(config)
    files = {
        "cells": frames.write_frame(folder, plan.cell_frame()),
        "pairs": frames.write_frame(folder, plan.pair_frame()),
        **_losses(plan, folder),
        **({"budgets": frames.write_frame(folder, plan.payment.budgets)} if plan.payment.n_short else {}),
    }
    certificate = {name: None if bound is None else str(bound) for name, bound in plan.certificate().items()}
    return frames.write_json(folder, {"settings": plan.settings, "files": files, "certificate": certificate})


def _losses(plan: Plan, folder: Path) -> dict[str, str]:
    """Write what each user loses, and if users are screened, the part of it that this costs; return the hashes."""
    files = {"losses": frames.write_frame(folder, _loss_frame(plan.user_hashes, plan.losses))}
    if plan.charges.any():
        files["charges"] = frames.write_frame(folder, _loss_frame(plan.user_hashes, plan.charges))
    return files


def _loss_frame(user_hashes: list[str], losses: ExactIntArray) -> pl.DataFrame:
    frame = pl.DataFrame({"user_hash": user_hashes, "loss_units": frames.exact_series(losses)})
    return frame.filter(pl.col("loss_units") > 0).sort("user_hash")


def place_and_size(cell: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a cell's row that every kind of plan has."""
    place = {"h3_cell": h3.int_to_str(cell["h3_cell"]), "slot_start": cell["slot_start"].isoformat()}
    return {**place, "n_records": cell["n_records"], "n_users": cell["n_users"]}


def over_records(cells: Sequence[Fraction | float | None], occupancy: Occupancy, config: Config) -> float:
    """Return the mean over all records of a number of their cell; None counts as half the range, for a withheld cell.

    The middle of the range errs no more, whatever the values are.
    """
    half = float(config.value.span) / 2
    each = [half if number is None else float(number) for number in cells]
    return float(np.average(each, weights=occupancy.cell_records))

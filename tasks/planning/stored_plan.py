"""Read stored plans: each is read and checked once in a step, and then passed on as a value."""

import datetime as dt
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h3
import polars as pl

from tasks.account import private_files
from tasks.base.config import Config
from tasks.sums.stored_sum import StoredSum

MOMENTS = ("mean", "square")
"""The sums that a cell may publish: of q, and of (2q - R)^2, for values q in ticks from 0 to R."""


@dataclass(frozen=True)
class StoredPlan:
    """A stored plan. Each of its files is read once, when it is needed, and only if it is unchanged.

    Attributes:
        name: Its hash.
        settings: What it was made from, apart from the occupancy.
        files: The hash of each of its files: "cells", "pairs", "losses", and "charges" if users are screened.
        folder: Where they are.
    """

    name: str
    settings: dict[str, Any]
    files: dict[str, str]
    folder: Path

    @cached_property
    def cells(self) -> pl.DataFrame:
        """Every cell of the day, published or not, by slot and hexagon."""
        return private_files.read_frame(self.folder, self.files["cells"])

    @property
    def is_estimate(self) -> bool:
        """Whether the plan is that of an estimate, which has no sums of its own."""
        return "mean_inverse_scale" not in self.cells.columns

    @cached_property
    def published(self) -> pl.DataFrame:
        """The cells that are published; an estimate publishes all."""
        if self.is_estimate:
            return self.cells
        return self.cells.filter(pl.col("mean_inverse_scale") > 0)

    @cached_property
    def withheld(self) -> pl.DataFrame:
        """The withheld cells and their numbers of records and users, which are public, and nothing else."""
        withheld = self.cells.clear() if self.is_estimate else self.cells.filter(pl.col("mean_inverse_scale") == 0)
        names = pl.Series("h3_cell", [h3.int_to_str(cell) for cell in withheld["h3_cell"]], dtype=pl.String)
        return withheld.select("slot_start", names, "n_records", "n_users")

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """The pairs of a published cell and a user, and how each counts."""
        return private_files.read_frame(self.folder, self.files["pairs"])

    @cached_property
    def losses(self) -> dict[str, int]:
        """What the plan costs each user, by keyed hash in its currency's unit."""
        return private_files.read_losses(self.folder, self.files["losses"])

    @cached_property
    def charges(self) -> dict[str, int]:
        """What the screening costs each user that is asked, by keyed hash; it is part of the losses."""
        return private_files.read_losses(self.folder, self.files["charges"]) if "charges" in self.files else {}

    @property
    def question_losses(self) -> dict[str, int]:
        """What the plan costs each user without the screening, where that is anything."""
        return private_files.without(self.losses, self.charges)

    @property
    def pairs_path(self) -> Path:
        """The path of the pairs, for the engine to read; they were checked."""
        self.pairs  # noqa: B018
        return self.folder / self.files["pairs"]

    def sums(self, config: Config) -> list[StoredSum]:
        """Return each moment's sum. The configuration must be the one that the plan was made with."""
        moments = [moment for moment in MOMENTS if f"{moment}_inverse_scale" in self.cells.columns]
        return [StoredSum(self.published, self.pairs, moment, config) for moment in moments]


def load_plan(name: str, config: Config) -> StoredPlan:
    """Return the stored plan with that hash.

    Raises:
        LedgerBroken: It is missing or changed.
    """
    folder = private_files.plans(config)
    stored: dict[str, Any] = json.loads(private_files.read(folder, name))
    return StoredPlan(name, stored["settings"], stored["files"], folder)


def plan_settings(date: dt.date, config: Config) -> dict[str, Any]:
    """Return what a plan is made from, apart from the occupancy. A plan is executed only with the same settings."""
    return {"date": date.isoformat(), **config.public_settings()}

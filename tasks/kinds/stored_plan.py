"""Read stored plans: each is read and checked once in a step, and then passed on as a value."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h3
import polars as pl

from tasks.account import private_files
from tasks.base.config import Config

CELL = ["slot_start", "h3_cell"]
"""What names a cell."""


@dataclass(frozen=True)
class StoredPlan:
    """A stored plan. Each of its files is read once, when it is needed, and only if it is unchanged.

    Attributes:
        name: Its hash.
        settings: What it was made from, apart from the occupancy.
        files: The hash of each of its files: "cells", "pairs", "losses", "charges" if users are screened, and "budgets"
            if some have less left than a day may cost.
        folder: Where they are.
        are_published: Returns those of the cells that are published; the kind of release says which.
    """

    name: str
    settings: dict[str, Any]
    files: dict[str, str]
    folder: Path
    are_published: Callable[[pl.DataFrame], pl.DataFrame]

    @cached_property
    def cells(self) -> pl.DataFrame:
        """Every cell of the day, published or not, by slot and hexagon."""
        return private_files.read_frame(self.folder, self.files["cells"])

    @cached_property
    def published(self) -> pl.DataFrame:
        """The cells that are published."""
        return self.are_published(self.cells)

    @cached_property
    def withheld(self) -> pl.DataFrame:
        """The withheld cells and their numbers of records and users, which are public, and nothing else."""
        withheld = self.cells.join(self.published.select(CELL), on=CELL, how="anti", maintain_order="left")
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

    @cached_property
    def budgets(self) -> pl.DataFrame | None:
        """What each user may lose by the day: user_hash, n_records, loss_units; None if all may lose all of it."""
        return private_files.read_frame(self.folder, self.files["budgets"]) if "budgets" in self.files else None

    @property
    def question_losses(self) -> dict[str, int]:
        """What the plan costs each user without the screening, where that is anything."""
        return private_files.without(self.losses, self.charges)

    @property
    def pairs_path(self) -> Path:
        """The path of the pairs, for the engine to read; they were checked."""
        self.pairs  # noqa: B018
        return self.folder / self.files["pairs"]


def plan_settings(date: dt.date, config: Config) -> dict[str, Any]:
    """Return what a plan is made from, apart from the occupancy. A plan is executed only with the same settings."""
    return {"date": date.isoformat(), **config.public_settings()}

"""The kinds of sum. Each says how it is stored, read, drawn, charged, described and recomputed."""

from collections.abc import Callable
from typing import Any, Protocol

import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.currency import Currency
from dpmath.core.occupancy import Occupancy
from tasks.base.config import Config
from tasks.base.frames import Columns
from tasks.sums.arrays import Arrays
from tasks.sums.clipped import Clipped
from tasks.sums.stored_sum import StoredSum

Noise = Callable[[ExactIntArray], Any]
"""Draws one noise per element of an array of inverse scales."""


class Kind(Protocol):
    """A kind of sum.

    Attributes:
        private_totals: The SQL statement that reads what is summed.
    """

    private_totals: str

    def cell_columns(self, occupancy: Occupancy, sums: Any) -> Columns:
        """Return what a plan stores of each cell, including ``inverse_scale``, ``divisor`` and ``bias``."""
        ...

    def pair_columns(self, occupancy: Occupancy, sums: Any) -> Columns:
        """Return what a plan stores of each pair of a published cell."""
        ...

    def drawn(self, stored: StoredSum, private: pl.DataFrame, noise: Noise) -> Columns:
        """Return the columns of the cells after the draw: ``noisy_{moment}_sum``, and what was drawn with it.

        Args:
            stored: The sum as the plan stores it.
            private: The rows that ``private_totals`` read.
            noise: Draws the noise.
        """
        ...

    def losses(self, stored: StoredSum, currency: Currency) -> ExactIntArray:
        """Return each pair's loss in a currency, recomputed from the stored plan alone."""
        ...

    def following(self, stored: StoredSum) -> Columns:
        """Return the stored columns that follow from the others, recomputed."""
        ...

    def drawn_again(self, stored: StoredSum, published: pl.DataFrame) -> Columns:
        """Return the drawn columns that the published table shows, except the noisy sum."""
        ...

    def described(self, stored: StoredSum) -> dict[str, Any]:
        """Return what the ledger states about the sum: its scales and sensitivity, in the sum's own unit."""
        ...

    def n_suppressed_and_whole(self, pairs: pl.DataFrame, config: Config) -> tuple[int, int]:
        """Return how many pairs do not count at all, and how many count in full."""
        ...


KINDS: dict[str, Kind] = {"clipped": Clipped(), "arrays": Arrays()}


def kind_of(config: Config) -> Kind:
    """Return the kind of sum that a configuration's mechanism publishes."""
    return KINDS[config.privacy.planned_by.kind]

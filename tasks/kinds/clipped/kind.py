"""Sums of clipped totals: each user's total in a cell is clipped to an interval, and their sum gets noise."""

from typing import Any

import numpy as np
import polars as pl

from dpmath.cells.clipped_sum import ClippedSum
from dpmath.core.accounting import ExactIntArray
from dpmath.core.currency import Currency
from dpmath.core.occupancy import Occupancy
from dpmath.noise.sampling import NOISES, RandomBytes
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.frames import Columns, exact_series
from tasks.kinds.cell_sums.kind import OfSums
from tasks.kinds.cell_sums.stored_sum import StoredSum
from tasks.kinds.stored_plan import CELL


class Clipped(OfSums):
    """Sums of clipped totals; see ``tasks.kinds.kind.Kind``."""

    private_totals = "read/cell_sum"

    def cell_columns(self, occupancy: Occupancy, sums: ClippedSum) -> Columns:
        """Return noise, divisor and bias of each cell. Noise and bias are 0 if the cell is not published."""
        part, published = sums.published_part(occupancy)
        bias = np.zeros(occupancy.n_cells, dtype=object)
        bias[sums.published] = part.cell_sums(published.bias(part))
        return {
            "inverse_scale": pl.Series(list(sums.inverse_scale), dtype=pl.Int64),
            "divisor": exact_series(occupancy.cell_records),
            "bias": exact_series(bias),
        }

    def pair_columns(self, occupancy: Occupancy, sums: ClippedSum) -> Columns:
        """Return the lower end and the width of each total's clipping interval."""
        part, published = sums.published_part(occupancy)
        return {
            "lower": pl.Series(list(published.lower(part)), dtype=pl.Int64),
            "width": pl.Series(list(published.width), dtype=pl.Int64),
        }

    def drawn(self, stored: StoredSum, private: pl.DataFrame, random_bytes: RandomBytes) -> Columns:
        """Return the cells' noisy sums.

        Raises:
            HexveilError: The private sums are of other cells.
        """
        if not private.select(CELL).equals(stored.cells.select(CELL)):
            raise HexveilError("the cells of the warehouse are not those of the plan; run the day again")
        inverse_scale = np.array(stored.of_cells("inverse_scale").to_list(), dtype=object)
        private_sum = np.array([int(one) for one in private[f"private_{stored.moment}_sum"]], dtype=object)
        noise = NOISES[stored.config.privacy.sum_noise](inverse_scale, random_bytes)
        return {f"noisy_{stored.moment}_sum": exact_series(private_sum + noise.astype(object))}

    def pair_losses(self, stored: StoredSum, currency: Currency) -> ExactIntArray:
        """Return each pair's loss: width over scale, or half the square of that."""
        scale = stored.cells.select(*CELL, scale=stored.of_cells("inverse_scale"))
        in_cells = stored.pairs.select(CELL).join(scale, on=CELL, how="left", maintain_order="left")["scale"]
        width, scales = (np.array(column.to_list(), dtype=object) for column in (stored.of_pairs("width"), in_cells))
        # written out: whoever verifies must not rely on the formulas of who planned
        return width * scales if currency.name == "pure" else (width * scales) ** 2

    def following(self, stored: StoredSum) -> Columns:
        """Return the lower ends of intervals, what clipping can take off, and what sums are divided by."""
        most, width = stored.pairs["n_records"] * stored.value_range, stored.of_pairs("width")
        lower = (most - width) // 2
        bias = stored.pairs.select(*CELL, bias=(most - lower - width).cast(pl.Decimal(38, 0)))
        per_cell = bias.group_by(CELL, maintain_order=True).sum()
        return {"lower": lower, "bias": per_cell["bias"], "divisor": stored.cells["n_records"]}

    def drawn_again(self, stored: StoredSum, published: pl.DataFrame) -> Columns:  # noqa: ARG002
        """Return nothing: only noise is drawn."""
        return {}

    def described_sum(self, stored: StoredSum) -> dict[str, Any]:
        """Return the scales, and how far a user can move the sum of one cell and the sums of all cells together."""
        width = f"{stored.moment}_width"
        per_user = stored.pairs.group_by("user_hash").agg(pl.col(width).cast(pl.Decimal(38, 0)).sum())
        return {
            **stored.scales(),
            "sensitivity_of_a_cell": max(stored.pairs[width]),
            "sensitivity_of_all_cells": int(max(per_user[width])),
        }

    def n_suppressed_and_whole(self, pairs: pl.DataFrame, config: Config) -> tuple[int, int]:
        """Return how many pairs' totals are not read, and how many are not clipped."""
        n_suppressed = int((pairs["mean_width"] == 0).sum())
        return n_suppressed, int((pairs["mean_width"] == pairs["n_records"] * config.value.n_ticks).sum())

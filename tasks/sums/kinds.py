"""What a plan says of each moment's sums, whichever mechanism made them: losses, promises, and stored columns."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpmath.arrays.sums import ArraySum
from dpmath.cells import clipped_sum
from dpmath.cells.clipped_sum import NoisySum
from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import Occupancy
from tasks.base.config import Config
from tasks.base.frames import Columns, exact_series

CellSums = NoisySum | ArraySum


def published_cells(sums: CellSums) -> NDArray[np.bool_]:
    """Return which cells are published, shape (G,)."""
    return sums.published if isinstance(sums, ArraySum) else sums.inverse_scale.astype(bool)


def pair_losses(occupancy: Occupancy, sums: CellSums) -> ExactIntArray:
    """Return each pair's privacy loss, in units of 2^-50, shape (P,)."""
    if isinstance(sums, ArraySum):
        return sums.pair_losses
    losses = np.zeros(occupancy.cell.size, dtype=object)
    losses[published_cells(sums)[occupancy.cell]] = clipped_sum.pair_losses(*sums.published_part(occupancy))
    return losses


def user_losses(occupancy: Occupancy, all_sums: Sequence[CellSums]) -> ExactIntArray:
    """Return each user's privacy loss by everything that is published, in units of 2^-50, shape (L,)."""
    losses = np.zeros(occupancy.n_users, dtype=object)
    for sums in all_sums:
        per_pair = pair_losses(occupancy, sums)
        spending = np.flatnonzero(per_pair)
        np.add.at(losses, occupancy.user[spending], per_pair[spending])
    return losses


def promised_errors(occupancy: Occupancy, sums: CellSums) -> list[Fraction | None]:
    """Return each cell's promised error of the mean, in ticks; None where nothing is published."""
    return sums.promised_errors if isinstance(sums, ArraySum) else clipped_sum.promised_errors(occupancy, sums)


def cell_columns(occupancy: Occupancy, sums: CellSums) -> Columns:
    """Return what is stored of each cell: its noise, and how far the sum can be off but for noise, in its own unit.

    Both are 0 where nothing is published.
    """
    if isinstance(sums, ArraySum):
        return {
            "array_length": pl.Series(sums.array_length),
            "cell_epsilon": pl.Series([str(sums.cell_epsilon)] * sums.array_length.size),
            "divisor": exact_series(sums.divisor),
            "bias": exact_series(sums.bias),
            "inverse_scale": pl.Series(list(sums.inverse_scale), dtype=pl.Int64),
        }
    part, published = sums.published_part(occupancy)
    bias = np.zeros(occupancy.n_cells, dtype=object)
    bias[published_cells(sums)] = part.cell_sums(published.bias(part))
    return {
        "inverse_scale": pl.Series(list(sums.inverse_scale), dtype=pl.Int64),
        "divisor": exact_series(occupancy.cell_records),
        "bias": exact_series(bias),
    }


def pair_columns(occupancy: Occupancy, sums: CellSums) -> Columns:
    """Return what is stored of published cells' pairs: where totals are clipped, or how often they count in arrays."""
    if isinstance(sums, ArraySum):
        n_kept = np.zeros(sums.taken.size, dtype=np.int64)
        for number, cell in sums.cells.items():
            n_kept[sums.taken_pairs(number)] = cell.grouping.n_kept
        inside = published_cells(sums)[occupancy.cell]
        return {"taken": pl.Series(sums.taken[inside]), "n_kept": pl.Series(n_kept[inside])}
    part, published = sums.published_part(occupancy)
    return {
        "lower": pl.Series(list(published.lower(part)), dtype=pl.Int64),
        "width": pl.Series(list(published.width), dtype=pl.Int64),
    }


def clipped_columns(cells: pl.DataFrame, pairs: pl.DataFrame, moment: str, config: Config) -> Columns:
    """Return the columns of a stored plan of clipped sums that follow from its widths.

    Args:
        cells: The plan's published cells, in its order.
        pairs: The plan's pairs, in its order.
        moment: "mean" or "square".
        config: That the plan was made under.
    """
    most = pairs["n_records"] * config.value.n_ticks ** (2 if moment == "square" else 1)
    lower = (most - pairs[f"{moment}_width"]) // 2
    bias = pairs.select("slot_start", "h3_cell", bias=(most - lower - pairs[f"{moment}_width"]).cast(pl.Decimal(38, 0)))
    per_cell = bias.group_by("slot_start", "h3_cell", maintain_order=True).sum()
    return {"lower": lower, "bias": per_cell["bias"], "divisor": cells["n_records"]}

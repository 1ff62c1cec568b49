"""The mechanisms that average arrays: their plans as stored, and the noisy sums that they release."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl

from dpmath.arrays.cell import array_averaging, array_sensitivities
from dpmath.arrays.intervals import levy, quantile
from dpmath.arrays.sums import ArraySum
from dpmath.core.occupancy import Occupancy
from dpmath.noise.noisy_cell import NoisyCellSum, noise_inverse_scale
from tasks.base import randomness
from tasks.base.config import Config
from tasks.base.config_sections import PROJECTED
from tasks.base.errors import HexveilError
from tasks.base.frames import exact_series

_OUTSIDE = Fraction(1, 10)
_MECHANISMS: dict[str, Callable[..., NoisyCellSum]] = {
    "array-averaging": array_averaging,
    "opt-array-averaging": array_averaging,
    "levy": levy,
    "quantile": partial(quantile, outside=_OUTSIDE),
}
ARRAY_MECHANISMS = tuple(_MECHANISMS)

_CELL = ["slot_start", "h3_cell"]


def stored_sum(cells: pl.DataFrame, pairs: pl.DataFrame, moment: str, config: Config) -> ArraySum:
    """Return a moment's sums of array means from a stored plan.

    Args:
        cells: The plan's published cells, in its order.
        pairs: The plan's pairs, in its order; each is a user of its own here, so that losses are by pair.
        moment: "mean" or "square".
        config: That the plan was made under.
    """
    numbers = cells.select(_CELL).with_row_index("cell")
    cell = pairs.select(_CELL).join(numbers, on=_CELL, how="left", maintain_order="left")["cell"]
    pair = np.arange(pairs.height, dtype=np.int64)
    records = pairs["n_records"].to_numpy()
    return ArraySum(
        occupancy=Occupancy(cell.to_numpy().astype(np.int64), pair, records, cells.height, pairs.height),
        value_range=config.value.n_ticks ** (2 if moment == "square" else 1),
        array_length=cells[f"{moment}_array_length"].to_numpy(),
        taken=pairs[f"{moment}_taken"].to_numpy(),
        cell_epsilon=Fraction(cells[f"{moment}_cell_epsilon"][0]),
        projected=config.privacy.mechanism in PROJECTED,
    )


def noisy_array_sums(cells: pl.DataFrame, pairs: pl.DataFrame, moment: str, config: Config) -> pl.DataFrame:
    """Return the published cells with a moment's noisy sum, and the scale and bias that came with it.

    Args:
        cells: The plan's published cells, in its order.
        pairs: The plan's pairs, in its order, with ``private_{moment}_total``.
        moment: "mean" or "square".
        config: That the plan was made under.
    """
    sums = stored_sum(cells, pairs, moment, config)
    mechanism = _MECHANISMS[config.privacy.mechanism]
    private_totals = pairs[f"private_{moment}_total"].to_list()
    released = []
    for number, cell in sums.cells.items():
        private = [int(private_totals[pair]) for pair in sums.taken_pairs(number)]
        released.append(mechanism(cell, private, sums.cell_epsilon, randomness.random_bytes))
    noisy = _with_intervals(cells, moment, sums, [one.interval for one in released])
    if noisy[f"{moment}_inverse_scale"].to_list() != [one.inverse_scale for one in released]:
        raise HexveilError("the noise drawn is not that of the plan; nothing is released. This is a defect, report it.")
    return noisy.with_columns(exact_series(one.noisy_sum for one in released).alias(f"noisy_{moment}_sum"))


def with_published_intervals(
    cells: pl.DataFrame, pairs: pl.DataFrame, moment: str, config: Config, published: pl.DataFrame
) -> pl.DataFrame:
    """Return the cells of a stored plan of projected means with the scale and bias of the published intervals.

    Args:
        cells: The plan's published cells, in its order.
        pairs: The plan's pairs, in its order.
        moment: "mean" or "square".
        config: That the plan was made under.
        published: The released table, which has the intervals.
    """
    sums = stored_sum(cells, pairs, moment, config)
    ends = (published[name].to_list() for name in (f"{moment}_clip_low", f"{moment}_clip_high"))
    lower, tick = Fraction(config.value.lower), Fraction(config.value.tick)
    intervals = [
        tuple(round((Fraction(end) - lower) / tick * cell.grouping.array_length) for end in both)
        for cell, *both in zip(sums.cells.values(), *ends, strict=True)
    ]
    return _with_intervals(cells, moment, sums, intervals)


def _with_intervals(
    cells: pl.DataFrame, moment: str, sums: ArraySum, intervals: Sequence[tuple[int, ...]]
) -> pl.DataFrame:
    """Return the cells with the intervals that array means were projected to, and what follows from them."""
    scales, biases, ends = [], [], []
    for (number, cell), (low, high) in zip(sums.cells.items(), intervals, strict=True):
        sensitivity = int(max(array_sensitivities(cell, high - low)))
        scales.append(noise_inverse_scale(sensitivity, sums.sum_epsilon))
        biases.append(int(sums.bias[number]) + cell.grouping.n_arrays * max(low, cell.largest - high))
        ends.append([end / cell.grouping.array_length for end in (low, high)])
    low_ends, high_ends = zip(*ends, strict=True)
    return cells.with_columns(
        pl.Series(f"{moment}_inverse_scale", scales, dtype=pl.Int64),
        exact_series(biases).alias(f"{moment}_bias"),
        pl.Series(f"{moment}_clip_low", low_ends, dtype=pl.Float64),
        pl.Series(f"{moment}_clip_high", high_ends, dtype=pl.Float64),
    )

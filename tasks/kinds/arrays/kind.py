"""Sums of array means: users' records fill arrays, and the sum of the arrays' means gets noise."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from dpmath.arrays.cell import array_sensitivities
from dpmath.arrays.sums import ArraySum
from dpmath.core.accounting import ExactIntArray
from dpmath.core.currency import Currency
from dpmath.core.occupancy import Occupancy
from dpmath.noise.noisy_cell import noise_inverse_scale
from dpmath.noise.sampling import RandomBytes
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.frames import Columns, exact_series
from tasks.kinds.cell_sums.kind import OfSums
from tasks.kinds.cell_sums.stored_sum import StoredSum
from tasks.kinds.stored_plan import CELL
from tasks.proposals.mechanisms import MECHANISMS, Mechanism


class Arrays(OfSums):
    """Sums of array means; see ``tasks.kinds.kind.Kind``. If an interval is bought, it is drawn with the sum."""

    private_totals = "read/user_total"

    def cell_columns(self, occupancy: Occupancy, sums: ArraySum) -> Columns:  # noqa: ARG002
        """Return length, epsilon, divisor, bias and noise of each cell; 0 if the cell is not published."""
        return {
            "array_length": pl.Series(sums.array_length),
            "cell_epsilon": pl.Series([str(sums.cell_epsilon)] * sums.array_length.size),
            "divisor": exact_series(sums.divisor),
            "bias": exact_series(sums.bias),
            "inverse_scale": pl.Series(list(sums.inverse_scale), dtype=pl.Int64),
        }

    def pair_columns(self, occupancy: Occupancy, sums: ArraySum) -> Columns:
        """Return whether each pair's records are taken, and how many of them have a place in an array."""
        n_kept = np.zeros(sums.taken.size, dtype=np.int64)
        for number, cell in sums.cells.items():
            n_kept[sums.taken_pairs(number)] = cell.grouping.n_kept
        inside = sums.published[occupancy.cell]
        return {"taken": pl.Series(sums.taken[inside]), "n_kept": pl.Series(n_kept[inside])}

    def drawn(self, stored: StoredSum, private: pl.DataFrame, random_bytes: RandomBytes) -> Columns:
        """Return the cells' noisy sums, and the scale and bias drawn with them.

        Raises:
            HexveilError: The noise drawn is not that of the plan.
        """
        sums, draws_cell = array_sum(stored), _row(stored).draws_cell
        if draws_cell is None:
            raise ValueError("a mechanism that averages arrays draws its cells")
        totals = stored.pairs.select(*CELL, "user_hash").join(
            private, on=[*CELL, "user_hash"], how="left", maintain_order="left"
        )
        private_totals = totals[f"private_{stored.moment}_total"].to_list()
        released = []
        for number, cell in sums.cells.items():
            of_cell = [int(private_totals[pair]) for pair in sums.taken_pairs(number)]
            released.append(draws_cell(cell, of_cell, sums.cell_epsilon, random_bytes))
        columns = _interval_columns(stored.moment, sums, [one.interval for one in released])
        if columns[f"{stored.moment}_inverse_scale"].to_list() != [one.inverse_scale for one in released]:
            raise HexveilError(
                "the noise drawn is not that of the plan; nothing is released. This is a defect, report it."
            )
        return columns | {f"noisy_{stored.moment}_sum": exact_series(one.noisy_sum for one in released)}

    def pair_losses(self, stored: StoredSum, currency: Currency) -> ExactIntArray:
        """Return each pair's loss, from the array lengths and the users in the arrays."""
        sums = array_sum(stored)
        return sums.losses(sums.occupancy, currency)

    def following(self, stored: StoredSum) -> Columns:
        """Return all stored columns, recomputed from the array lengths and the users in the arrays."""
        sums = array_sum(stored)
        return self.cell_columns(sums.occupancy, sums) | self.pair_columns(sums.occupancy, sums)

    def drawn_again(self, stored: StoredSum, published: pl.DataFrame) -> Columns:
        """Return the scale and bias that follow from the published intervals; nothing if no interval was bought."""
        if _row(stored).interval is None:
            return {}
        sums, value = array_sum(stored), stored.config.value
        ends = (published[name].to_list() for name in (f"{stored.moment}_clip_low", f"{stored.moment}_clip_high"))
        lower, tick = Fraction(value.lower), Fraction(value.tick)
        intervals = [
            tuple(round((Fraction(end) - lower) / tick * cell.grouping.array_length) for end in both)
            for cell, *both in zip(sums.cells.values(), *ends, strict=True)
        ]
        return _interval_columns(stored.moment, sums, intervals)

    def described_sum(self, stored: StoredSum) -> dict[str, Any]:
        """Return the scales, epsilon and lengths. If an interval will be drawn, the noise is the widest possible."""
        sums, lengths = array_sum(stored), stored.of_cells("array_length")
        sensitivities = [int(max(array_sensitivities(cell, cell.largest))) for cell in sums.cells.values()]
        return {
            **stored.scales(),
            "sensitivity_of_a_cell": max(sensitivities),
            "epsilon_of_a_cell": str(sums.cell_epsilon),
            "array_length_least": lengths.min(),
            "array_length_largest": lengths.max(),
        }

    def n_suppressed_and_whole(self, pairs: pl.DataFrame, config: Config) -> tuple[int, int]:  # noqa: ARG002
        """Return how many pairs have no record in an array, and how many have all."""
        n_suppressed = int((pairs["mean_n_kept"] == 0).sum())
        return n_suppressed, int((pairs["mean_n_kept"] == pairs["n_records"]).sum())


def array_sum(stored: StoredSum) -> ArraySum:
    """Return the sums of array means that a plan stores. Each pair is its own user here, so losses are per pair."""
    numbers = stored.cells.select(CELL).with_row_index("cell")
    cell = stored.pairs.select(CELL).join(numbers, on=CELL, how="left", maintain_order="left")["cell"]
    pair = np.arange(stored.pairs.height, dtype=np.int64)
    records = stored.pairs["n_records"].to_numpy()
    return ArraySum(
        occupancy=Occupancy(cell.to_numpy().astype(np.int64), pair, records, stored.cells.height, stored.pairs.height),
        value_range=stored.value_range,
        array_length=stored.of_cells("array_length").to_numpy(),
        taken=stored.of_pairs("taken").to_numpy(),
        cell_epsilon=Fraction(stored.of_cells("cell_epsilon")[0]),
        n_interval_draws=_row(stored).n_interval_draws,
    )


def _row(stored: StoredSum) -> Mechanism:
    return MECHANISMS[stored.config.privacy.mechanism]


def _interval_columns(moment: str, sums: ArraySum, intervals: Sequence[tuple[int, ...]]) -> Columns:
    """Return the intervals that array means were projected to, and the scale and bias that follow from them."""
    scales, biases, ends = [], [], []
    for (number, cell), (low, high) in zip(sums.cells.items(), intervals, strict=True):
        sensitivity = int(max(array_sensitivities(cell, high - low)))
        scales.append(noise_inverse_scale(sensitivity, sums.sum_epsilon))
        biases.append(int(sums.bias[number]) + cell.grouping.n_arrays * max(low, cell.largest - high))
        ends.append([end / cell.grouping.array_length for end in (low, high)])
    low_ends, high_ends = zip(*ends, strict=True)
    return {
        f"{moment}_inverse_scale": pl.Series(scales, dtype=pl.Int64),
        f"{moment}_bias": exact_series(biases),
        f"{moment}_clip_low": pl.Series(low_ends, dtype=pl.Float64),
        f"{moment}_clip_high": pl.Series(high_ends, dtype=pl.Float64),
    }

"""Simpler guesses of a day's map: constants, and noisy cell means that are shrunk, from the same values and noise."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray
from support import drawn_noise

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.occupancy import Occupancy
from tasks.base.config import Config

FloatArray = NDArray[np.float64]

_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""The users whose records count in full."""
_WHOLE = 1024


@dataclass(frozen=True)
class TrueDay:
    """A day's values without noise, for comparisons only. Means are in the value's unit.

    Attributes:
        cells: One row per cell with a value: slot_start, h3_cell.
        records: Records of each cell, shape (G,).
        mean: True mean of each cell, shape (G,).
        occupancy: The occupancy array of these cells.
        totals: Total of each pair in ticks, with the midpoint for a missing value, shape (P,).
        middle: Middle of the range.
    """

    cells: pl.DataFrame
    records: FloatArray
    mean: FloatArray
    occupancy: Occupancy
    totals: NDArray[np.int64]
    middle: float


@dataclass(frozen=True)
class NoisyMeans:
    """Noisy cell means in the value's unit, and the variance of the noise of each, shape (G,)."""

    mean: FloatArray
    variance: FloatArray


def true_day(pairs: pl.DataFrame, config: Config) -> TrueDay:
    """Return a day's values from its pairs: slot_start, h3_cell, user_id, n_records, n_missing, total_ticks."""
    key, (tick, lower) = ["slot_start", "h3_cell"], (float(config.value.tick), float(config.value.lower))
    values = pl.col("n_records") - pl.col("n_missing")
    sums = pl.col("total_ticks") - pl.col("n_missing") * (config.value.n_ticks // 2)
    cells = pairs.group_by(key).agg(pl.col("n_records").sum(), n=values.sum(), total=sums.sum())
    cells = cells.filter(pl.col("n") > 0).sort(key)
    users = pairs.select(pl.col("user_id").unique().sort()).with_row_index("user")
    pairs = pairs.join(cells.select(key).with_row_index("cell"), on=key).join(users, on="user_id").sort("cell", "user")
    cell, user, n_records, totals = (
        pairs[name].to_numpy().astype(np.int64) for name in ("cell", "user", "n_records", "total_ticks")
    )
    return TrueDay(
        cells=cells.select(key),
        records=cells["n_records"].to_numpy().astype(float),
        mean=lower + tick * (cells["total"] / cells["n"]).to_numpy(),
        occupancy=Occupancy(cell, user, n_records, cells.height, users.height),
        totals=totals,
        middle=float(config.value.lower + config.value.upper) / 2,
    )


def noisy_means(day: TrueDay, config: Config) -> NoisyMeans:
    """Return a noisy mean of every cell, which together cost each user at most a day's epsilon in zCDP.

    A cell's mean is that of its users' records, a user with much to tell in all cells counting less, divided by the
    same weights. Each sum has Gaussian noise whose deviation grows as a power of the cell's records. A user's values
    may move every sum at once, each by the range for each of the user's records: the largest l2 length of that, over
    all users, sets the noise. Weights and power are those with the least noise over records. All of it is public.
    """
    chosen = min(_weightings(day.occupancy, config), key=lambda one: one.noise)
    occupancy, tick = day.occupancy, float(config.value.tick)
    sums = np.zeros(occupancy.n_cells, dtype=object)
    np.add.at(sums, occupancy.cell, (chosen.weight[occupancy.user] * day.totals).astype(object))
    noisy = (sums + drawn_noise(chosen.inverse_scale.astype(object), config.privacy.sum_noise)).astype(float)
    mean = float(config.value.lower) + tick * noisy / chosen.size
    return NoisyMeans(mean, (tick * LOSS_UNITS / chosen.inverse_scale / chosen.size) ** 2)


@dataclass(frozen=True)
class _Weighting:
    """How much each user counts, shape (L,), what the records of a cell add up to, and the noise, shape (G,)."""

    weight: NDArray[np.int64]
    size: FloatArray
    inverse_scale: NDArray[np.int64]
    noise: float


def _weightings(occupancy: Occupancy, config: Config) -> Iterator[_Weighting]:
    root = isqrt(config.privacy.currency.within(config.privacy.epsilon_per_day))
    cell, user, records = occupancy.cell, occupancy.user, occupancy.cell_records.astype(float)
    for power, share in itertools.product(_POWERS, _SHARES):
        moved = config.value.n_ticks * occupancy.n_records / records[cell] ** power
        length = np.sqrt(np.bincount(user, moved**2))
        weight = np.ceil(_WHOLE * np.minimum(1, np.quantile(length, share) / length)).astype(np.int64)
        scale = np.floor(root / ((weight * length).max() * records**power)).astype(np.int64)
        size = np.bincount(cell, weight[user] * occupancy.n_records).astype(float)
        noise = float((records / (scale * size) ** 2).sum())
        yield _Weighting(weight, size, scale, noise)


def best_constant(day: TrueDay) -> FloatArray:
    """Return the constant with the least squared error over records. No private release can know it."""
    return np.full(day.mean.size, np.average(day.mean, weights=day.records))


def precise_constant(noisy: NoisyMeans) -> FloatArray:
    """Return the mean of the noisy means, each weighted by the precision of its noise."""
    return np.full(noisy.mean.size, np.average(noisy.mean, weights=1 / noisy.variance))


def shrunk(noisy: NoisyMeans, config: Config) -> FloatArray:
    """Return the noisy means shrunk towards a common mean, as James and Stein do, each by its own noise.

    The variance between cells is the one at which the cells differ as much as they are expected to (Paule and Mandel
    1982). Equal noise would make this the estimate of James and Stein.
    """
    between = 0.0
    low, high = 0.0, float(config.value.span) ** 2
    if _surplus(noisy, 0.0) > 0:
        for _ in range(60):
            between = (low + high) / 2
            low, high = (between, high) if _surplus(noisy, between) > 0 else (low, between)
    weight = 1 / (between + noisy.variance)
    centre = np.average(noisy.mean, weights=weight)
    guess = centre + between * weight * (noisy.mean - centre)
    return np.clip(guess, float(config.value.lower), float(config.value.upper))


def _surplus(noisy: NoisyMeans, between: float) -> float:
    """Return how much more the noisy means differ than they would with this variance between cells."""
    weight = 1 / (between + noisy.variance)
    centre = np.average(noisy.mean, weights=weight)
    return float((weight * (noisy.mean - centre) ** 2).sum() - (noisy.mean.size - 1))

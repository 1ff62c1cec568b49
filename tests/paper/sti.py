"""Numbers of STI's Figures 1 to 5: on the Austin hexagon-hour with the most buses, and on data scaled from it.

The paper's records are not public, so its claims are tried on these; the projected Gaussian is the paper's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

from dpmath.arrays.cell import ArrayCell, Interval, array_sensitivities
from dpmath.arrays.grouping import Grouping, best_fit, wrap_around
from dpmath.arrays.intervals import levy_interval, optimized_share, quantile_interval
from dpmath.arrays.lengths import interval_length, median_length, minimax_length
from dpmath.core.accounting import LOSS_UNITS
from dpmath.noise.noisy_cell import baseline_error, noise_inverse_scale
from tests.paper.austin import positions
from tests.paper.figure import steps

EPSILONS = tuple(Fraction(i, 4) for i in range(2, 9))
TICKS_PER_UNIT = 10
PAPER_MEAN, PAPER_VARIANCE, PAPER_RANGE = 20.66769, 115.135, 65
GAMMA = 0.2
Row = dict[str, Any]

BASELINE, AVERAGING, OPT_AVERAGING = "Baseline", "Array-Averaging", "OPT-Array-Averaging"
LEVY, FIXED, OPTIMIZED = "Levy", "FixedQuantile", "OptimizedQuantile"
BEST_FIT, WRAP_AROUND, PRINTED = "BestFit", "WrapAround", "WrapAround, noise as printed"
GROUPERS = {WRAP_AROUND: wrap_around, BEST_FIT: best_fit}


@dataclass(frozen=True)
class Sample:
    """One cell's records and totals; values in km/h, counted in tenths."""

    records: np.ndarray
    totals: list[int]
    value_range: int

    @property
    def mean(self) -> Fraction:
        return Fraction(sum(self.totals), int(self.records.sum()))

    def cell(self, grouper: Callable[[np.ndarray, int], Grouping], length: int) -> ArrayCell:
        return ArrayCell(grouper(self.records, length), self.records, self.value_range)


def austin(folder: Path, upper: int = 100) -> Sample:
    """Return the hexagon-hour with the most buses; speeds above ``upper`` count as it.

    Zeros are kept, where the paper drops them: whether a record counts may not depend on its value.
    """
    ticks = (pl.col("speed_kmh").fill_null(upper / 2).clip(0, upper) * TICKS_PER_UNIT).round().cast(pl.Int64)
    users = positions(folder).group_by("hexagon", "hour", "user_id").agg(pl.len().alias("records"), ticks.sum())
    cells = users.group_by("hexagon", "hour").agg(pl.len().alias("users")).sort("users", "hexagon", "hour")
    chosen = users.join(cells.tail(1), on=["hexagon", "hour"]).sort("user_id")
    return Sample(chosen["records"].to_numpy().astype(np.int64), chosen["speed_kmh"].to_list(), upper * TICKS_PER_UNIT)


def records_like_the_papers() -> np.ndarray:
    """Return sizes like those of the paper's records: 217 users, median 46, at most 417, 17,550 in all (17,166 there).

    Quantiles of a lognormal distribution; the paper gives these four numbers and not the sizes themselves.
    """
    normal = [NormalDist().inv_cdf((user + 0.5) / 217) for user in range(217)]
    return np.clip(np.rint(46 * np.exp(1.15 * np.array(normal))), 1, 417).astype(np.int64)


def projected_gaussian(records: np.ndarray, rng: np.random.Generator) -> Sample:
    """Return independent values of the paper's normal distribution, cut to [0, 65] km/h."""
    values = np.clip(rng.normal(PAPER_MEAN, np.sqrt(PAPER_VARIANCE), int(records.sum())), 0, PAPER_RANGE)
    ticks = np.rint(values * TICKS_PER_UNIT).astype(np.int64)
    totals = np.add.reduceat(ticks, np.concatenate([[0], np.cumsum(records)[:-1]]))
    return Sample(records, totals.tolist(), PAPER_RANGE * TICKS_PER_UNIT)


def absolute_error(sample: Sample, cell: ArrayCell, interval: Interval, epsilon: Fraction, factor: int = 1) -> float:
    """Return E|noisy mean - true mean| in km/h, given the interval: |d| + b exp(-|d|/b) for Laplace noise.

    Args:
        sample: The values.
        cell: They in arrays.
        interval: What array means are projected to.
        epsilon: Loss of the sum.
        factor: 2 takes the noise that the paper states for WrapAround, twice the width, instead of the exact.
    """
    low, high = interval
    total = int(np.clip(cell.private_means(sample.totals), low, high).sum())
    sensitivity = factor * (high - low) if factor > 1 else int(max(array_sensitivities(cell, high - low)))
    off = abs(float(Fraction(total, cell.divisor) - sample.mean)) / TICKS_PER_UNIT
    inverse_scale = noise_inverse_scale(sensitivity, epsilon)
    if inverse_scale == 0:
        return off
    scale = LOSS_UNITS / inverse_scale / cell.divisor / TICKS_PER_UNIT
    return off + scale * float(np.exp(-off / scale))


def interval_errors(
    sample: Sample, epsilon: Fraction, rng: np.random.Generator, n_draws: int, grouping: str, factor: int = 1
) -> Iterator[tuple[str, float]]:
    """Yield the measured error of Levy and of both Quantiles, averaged over drawn intervals."""
    cell = sample.cell(GROUPERS[grouping], interval_length(sample.records))
    means, half = cell.private_means(sample.totals), epsilon / 2
    shares = {FIXED: Fraction(1, 10), OPTIMIZED: optimized_share(cell.grouping.n_arrays, epsilon)}
    drawn = {LEVY: levy_interval(cell, means, half, GAMMA)}
    drawn |= {name: quantile_interval(cell, means, half, share) for name, share in shares.items()}
    for name, mechanism in drawn.items():
        intervals = [mechanism.draw(rng.bytes) for _ in range(n_draws)]
        yield name, float(np.mean([absolute_error(sample, cell, one, half, factor) for one in intervals]))


def array_averaging_error(sample: Sample, epsilon: Fraction, length: int, grouping: str, factor: int = 1) -> float:
    cell = sample.cell(GROUPERS[grouping], length)
    return absolute_error(sample, cell, (0, cell.largest), epsilon, factor)


def compared_groupings(sample: Sample, rng: np.random.Generator, n_draws: int) -> list[Row]:
    """Return Figure 1: error under each grouping; WrapAround also with the noise that the paper states for it."""
    rows = []
    for epsilon in steps(EPSILONS):
        for label, grouping, factor in (
            (BEST_FIT, BEST_FIT, 1),
            (WRAP_AROUND, WRAP_AROUND, 1),
            (PRINTED, WRAP_AROUND, 2),
        ):
            averaged = array_averaging_error(sample, epsilon, median_length(sample.records), grouping, factor)
            errors = [(AVERAGING, averaged), *interval_errors(sample, epsilon, rng, n_draws, grouping, factor)]
            rows += [
                {"epsilon": float(epsilon), "mechanism": name, "grouping": label, "error": error}
                for name, error in errors
            ]
    return rows


def compared_mechanisms(
    sample: Sample, rng: np.random.Generator, n_draws: int, length: Callable[[np.ndarray], int] = median_length
) -> list[Row]:
    """Return Figure 2: error of each mechanism with BestFit, the arrays of Array-Averaging being of some length."""
    rows = []
    for epsilon in steps(EPSILONS):
        upper = sample.value_range / TICKS_PER_UNIT
        averaged = array_averaging_error(sample, epsilon, length(sample.records), BEST_FIT)
        optimal = array_averaging_error(sample, epsilon, minimax_length(sample.records, epsilon), BEST_FIT)
        errors = [(BASELINE, upper * float(baseline_error(sample.records, epsilon)))]
        errors += [(AVERAGING, averaged), (OPT_AVERAGING, optimal)]
        errors += interval_errors(sample, epsilon, rng, n_draws, BEST_FIT)
        rows += [{"epsilon": float(epsilon), "mechanism": name, "error": error} for name, error in errors]
    return rows


def sample_scaling(sample: Sample, rng: np.random.Generator, n_draws: int, factor: int = 10) -> list[Row]:
    """Return Figure 3: every user has ten times the samples."""
    return compared_mechanisms(projected_gaussian(factor * sample.records, rng), rng, n_draws)


def user_scaling(sample: Sample, rng: np.random.Generator, n_draws: int, factor: int = 10) -> list[Row]:
    """Return Figure 4: ten times the users."""
    scaled = projected_gaussian(np.repeat(sample.records, factor), rng)
    return compared_mechanisms(scaled, rng, n_draws, interval_length)


def minimax_lengths(sample: Sample, n_epsilons: int) -> list[Row]:
    """Return Figure 5: the minimax array length for epsilon from 0.001 to 2, and the users with so many records."""
    epsilons = [Fraction(float(one)) for one in np.geomspace(0.001, 2, n_epsilons)]
    lengths = [minimax_length(sample.records, epsilon) for epsilon in steps(epsilons)]
    return [
        {"epsilon": float(epsilon), "array_length": length, "n_users": int((sample.records == length).sum())}
        for epsilon, length in zip(epsilons, lengths, strict=True)
    ]

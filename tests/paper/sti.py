"""Numbers of STI's Figures 1 to 5: on the Austin hexagon-hour with the most buses, and on data scaled from it.

The paper's records are not public, so its claims are tried on these; the projected Gaussian is the paper's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import h3
import numpy as np
import polars as pl

from dpmath.accounting import LOSS_UNITS
from dpmath.array_intervals import levy_interval, optimized_share, quantile_interval
from dpmath.array_lengths import interval_length, median_length, minimax_length, worst_case_error
from dpmath.arrays import ArrayCell, Interval, array_sensitivities
from dpmath.grouping import Grouping, best_fit, wrap_around
from dpmath.noisy_sums import baseline_error, noise_inverse_scale

EPSILONS = tuple(Fraction(i, 4) for i in range(2, 9))
TICKS_PER_UNIT = 10
PAPER_MEAN, PAPER_VARIANCE, PAPER_RANGE = 20.66769, 115.135, 65
GAMMA = 0.2
Row = dict[str, Any]
GROUPERS = {"wrap-around": wrap_around, "best-fit": best_fit}


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
    """Return the hexagon-hour with the most buses of the 2016 file; speeds above ``upper`` count as it.

    Zeros are kept, where the paper drops them: whether a record counts may not depend on its value.
    """
    table = pl.read_csv(folder / "capmetro_austin_2016-11-24_27.csv.gz").unique(["user_id", "ts", "lat", "lon"])
    table = table.filter(pl.col("lat").is_between(29, 31.5), pl.col("lon").is_between(-99, -97))
    places = [h3.latlng_to_cell(lat, lon, 7) for lat, lon in table.select("lat", "lon").iter_rows()]
    table = table.with_columns(pl.Series("hexagon", places), pl.col("ts").str.slice(0, 13).alias("hour"))
    ticks = (pl.col("speed_kmh").fill_null(upper / 2).clip(0, upper) * TICKS_PER_UNIT).round().cast(pl.Int64)
    users = table.group_by("hexagon", "hour", "user_id").agg(pl.len().alias("records"), ticks.sum().alias("total"))
    cells = users.group_by("hexagon", "hour").agg(pl.len().alias("users")).sort("users", "hexagon", "hour")
    chosen = users.join(cells.tail(1), on=["hexagon", "hour"]).sort("user_id")
    return Sample(chosen["records"].to_numpy().astype(np.int64), chosen["total"].to_list(), upper * TICKS_PER_UNIT)


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
    shares = {"fixed-quantile": Fraction(1, 10), "optimized-quantile": optimized_share(cell.grouping.n_arrays, epsilon)}
    drawn = {"levy": levy_interval(cell, means, half, GAMMA)}
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
    for epsilon in EPSILONS:
        for label, grouping, factor in (
            ("best-fit", "best-fit", 1),
            ("wrap-around", "wrap-around", 1),
            ("wrap-around as printed", "wrap-around", 2),
        ):
            averaged = array_averaging_error(sample, epsilon, median_length(sample.records), grouping, factor)
            errors = [("array-averaging", averaged), *interval_errors(sample, epsilon, rng, n_draws, grouping, factor)]
            rows += [
                {"figure": 1, "epsilon": float(epsilon), "mechanism": name, "grouping": label, "error": error}
                for name, error in errors
            ]
    return rows


def compared_mechanisms(
    sample: Sample,
    rng: np.random.Generator,
    n_draws: int,
    figure: int = 2,
    length: Callable[[np.ndarray], int] = median_length,
) -> list[Row]:
    """Return Figure 2, 3 or 4: error of each mechanism with BestFit."""
    rows = []
    for epsilon in EPSILONS:
        upper = sample.value_range / TICKS_PER_UNIT
        averaged = array_averaging_error(sample, epsilon, length(sample.records), "best-fit")
        optimal = array_averaging_error(sample, epsilon, minimax_length(sample.records, epsilon), "best-fit")
        errors = [("baseline", upper * float(baseline_error(sample.records, epsilon)))]
        errors += [("array-averaging", averaged), ("opt-array-averaging", optimal)]
        errors += interval_errors(sample, epsilon, rng, n_draws, "best-fit")
        rows += [
            {"figure": figure, "epsilon": float(epsilon), "mechanism": name, "error": error} for name, error in errors
        ]
    return rows


def sample_scaling(records: np.ndarray, rng: np.random.Generator, n_draws: int) -> list[Row]:
    """Return Figure 3: every user has ten times the samples."""
    return compared_mechanisms(projected_gaussian(10 * records, rng), rng, n_draws, 3)


def user_scaling(records: np.ndarray, rng: np.random.Generator, n_draws: int) -> list[Row]:
    """Return Figure 4: ten times the users."""
    return compared_mechanisms(projected_gaussian(np.repeat(records, 10), rng), rng, n_draws, 4, interval_length)


def minimax_lengths(records: np.ndarray, n_epsilons: int = 60) -> list[Row]:
    """Return Figure 5: the minimax array length for epsilon from 0.001 to 2."""
    epsilons = [Fraction(float(one)) for one in np.geomspace(0.001, 2, n_epsilons)]
    return [
        {
            "figure": 5,
            "epsilon": float(epsilon),
            "array_length": (length := minimax_length(records, epsilon)),
            "error": float(worst_case_error(records, length, epsilon)),
        }
        for epsilon in epsilons
    ]

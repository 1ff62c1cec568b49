"""Computes the published table from noisy sums. Uses only numbers that noise protects or that are public."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import h3
import pandera.polars as pa
import polars as pl

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.bias import rounding_errors, variance_error
from dpmath.noise.reach import noise_quantile
from tasks.base import schemas
from tasks.base.config import Config
from tasks.proposals.mechanisms import MECHANISMS

_ERROR_RATE = 0.05

Row = dict[str, Any]


@dataclass(frozen=True)
class NoisyMean:
    """A cell's noisy mean of one moment, with its noise scale and error bounds; all in the moment's own ticks."""

    estimate: Fraction
    noise_scale: Fraction
    error_bound: Fraction
    half_width: Fraction


def statistic_frame(noisy: pl.DataFrame, release_id: str, config: Config) -> pl.DataFrame:
    """Return the published table of a release.

    Args:
        noisy: One row per published cell: the plan's cell columns, ``noisy_mean_sum`` and, if variance is published,
            ``noisy_square_sum``, as Python integers in the sum's own unit.
        release_id: The id of the release, for every row.
        config: Gives the bounds, the tick and the statistics.

    Returns:
        One row per cell, by slot and hexagon, with the documented columns.
    """
    rows = [_statistic(cell, config) | {"release_id": release_id} for cell in noisy.iter_rows(named=True)]
    return pl.DataFrame(rows, schema_overrides={"slot_start": pl.Datetime("us", "UTC")})


def statistic_schema(config: Config) -> pa.DataFrameSchema:
    """Return the schema of the published table: its columns in order, and their ranges."""
    possible, has_interval = schemas.possible_values(config), MECHANISMS[config.privacy.mechanism].interval is not None
    columns = _schema_of_promise("mean", possible, always_noise=not has_interval)
    if has_interval:
        columns |= {f"mean_clip_{end}": pa.Column(pl.Float64, possible) for end in ("low", "high")}
    if config.statistics.variance:
        columns |= _schema_of_promise("variance", pa.Check.in_range(0.0, float(config.value.span**2 / 4)))
    return schemas.table_schema(columns, config)


def _schema_of_promise(name: str, possible: pa.Check, always_noise: bool = True) -> dict[str, pa.Column]:
    """Return the columns of a promised number. Without noise is possible only if the interval is a single point."""
    return {
        name: pa.Column(pl.Float64, possible),
        f"{name}_noise_scale": pa.Column(pl.Float64, pa.Check.gt(0) if always_noise else pa.Check.ge(0)),
        f"{name}_error_bound": pa.Column(pl.Float64, pa.Check.gt(0)),
        f"{name}_ci95_low": pa.Column(pl.Float64, possible),
        f"{name}_ci95_high": pa.Column(pl.Float64, possible),
    }


def _statistic(cell: Row, config: Config) -> Row:
    tick, lower = Fraction(config.value.tick), Fraction(config.value.lower)
    row: Row = {
        "h3_cell": h3.int_to_str(cell["h3_cell"]),
        "slot_start": cell["slot_start"],
        "slot_minutes": config.grid.slot_minutes,
        "n_records": cell["n_records"],
        "n_users": cell["n_users"],
        **_columns_of_promise("mean", mean_estimate(cell, config), tick, config.value.span, config),
    }
    if MECHANISMS[config.privacy.mechanism].interval is not None:
        row |= {name: float(lower + tick * Fraction(cell[name])) for name in ("mean_clip_low", "mean_clip_high")}
    if config.statistics.variance:
        most = config.value.span**2 / 4
        row |= _columns_of_promise("variance", variance_estimate(cell, config), tick**2, most, config)
    return row | {"epsilon": _rounded_up(Fraction(config.privacy.currency.epsilon(cell["epsilon_units"])))}


def mean_estimate(cell: Row, config: Config) -> NoisyMean:
    """Return a cell's mean in ticks above the lower bound, before it is clamped to the possible range."""
    rounding, _ = rounding_errors(config.value.n_ticks)
    return _with_rounding(_noisy_mean(cell, "mean", _ERROR_RATE, config), rounding)


def variance_estimate(cell: Row, config: Config) -> NoisyMean:
    """Return a cell's variance in squared ticks, before it is clamped to the possible range.

    Var = mean(d)/4 - (mean(q) - R/2)^2 with d = (2q - R)^2. Each of the two means gets half of the error rate.
    """
    n_ticks = config.value.n_ticks
    mean, square = (_noisy_mean(cell, moment, _ERROR_RATE / 2, config) for moment in ("mean", "square"))
    variance = NoisyMean(
        estimate=variance_of(mean.estimate, square.estimate, n_ticks),
        noise_scale=square.noise_scale / 4,
        error_bound=variance_error(square.error_bound, mean.error_bound, n_ticks),
        half_width=variance_error(square.half_width, mean.half_width, n_ticks),
    )
    _, rounding = rounding_errors(n_ticks)
    return _with_rounding(variance, rounding)


def variance_of(mean: Fraction, square: Fraction, n_ticks: int) -> Fraction:
    """Return the variance in squared ticks from the two moments, each clamped to its possible range."""
    from_middle = _clamped(mean, Fraction(0), Fraction(n_ticks)) - Fraction(n_ticks, 2)
    return _clamped(square, Fraction(0), Fraction(n_ticks) ** 2) / 4 - from_middle**2


def _noisy_mean(cell: Row, moment: str, error_rate: float, config: Config) -> NoisyMean:
    """Return a cell's noisy mean; an inverse scale of 0 is a constant without noise."""
    divisor, bias, inverse_scale = (
        int(cell[f"{moment}_divisor"]),
        int(cell[f"{moment}_bias"]),
        cell[f"{moment}_inverse_scale"],
    )
    scale = Fraction(LOSS_UNITS, inverse_scale) if inverse_scale else Fraction(0)
    reach = noise_quantile(config.privacy.sum_noise, inverse_scale, error_rate) if inverse_scale else 0
    return NoisyMean(
        estimate=Fraction(int(cell[f"noisy_{moment}_sum"]), divisor),
        noise_scale=scale / divisor,
        error_bound=(bias + scale) / divisor,
        half_width=Fraction(bias + reach, divisor),
    )


def _with_rounding(noisy: NoisyMean, rounding: Fraction) -> NoisyMean:
    """Return the same with larger error bounds, for the rounding of values to ticks."""
    return replace(noisy, error_bound=noisy.error_bound + rounding, half_width=noisy.half_width + rounding)


def drawn_columns(name: str, estimate: Fraction, half_width: Fraction, config: Config) -> Row:
    """Return the published numbers of a noisy estimate; none of them falls when the estimate grows.

    Args:
        name: "mean" or "variance".
        estimate: The estimate, in ticks or squared ticks.
        half_width: Half the width of the interval, in the same unit.
        config: Gives the bounds and the tick.
    """
    tick, lower, upper = Fraction(config.value.tick), Fraction(config.value.lower), Fraction(config.value.upper)
    unit, zero, most = (tick, lower, upper) if name == "mean" else (tick**2, Fraction(0), config.value.span**2 / 4)
    centre, half_width = zero + unit * estimate, unit * half_width
    return {
        name: float(_clamped(centre, zero, most)),
        f"{name}_ci95_low": float(_clamped(centre - half_width, zero, most)),
        f"{name}_ci95_high": float(_clamped(centre + half_width, zero, most)),
    }


def _columns_of_promise(name: str, noisy: NoisyMean, unit: Fraction, most: Fraction, config: Config) -> Row:
    drawn = drawn_columns(name, noisy.estimate, noisy.half_width, config)
    return {
        name: drawn[name],
        f"{name}_noise_scale": float(unit * noisy.noise_scale),
        f"{name}_error_bound": _rounded_up(min(unit * noisy.error_bound, most)),
        **drawn,
    }


def _clamped(number: Fraction, lower: Fraction, upper: Fraction) -> Fraction:
    return min(max(number, lower), upper)


def _rounded_up(bound: Fraction) -> float:
    nearest = float(bound)
    return nearest if Fraction(nearest) >= bound else math.nextafter(nearest, math.inf)

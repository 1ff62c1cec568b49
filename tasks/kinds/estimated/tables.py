"""The published tables of an estimate: the means with their intervals, what is typical, and the noisy answers."""

import math
from decimal import Decimal

import h3
import numpy as np
import pandera.polars as pa
import polars as pl

from dpmath.core.occupancy import IntArray
from dpmath.estimate.areas import AREAS, HALF_WIDTH, Areas, areas_of_cells, averages
from dpmath.estimate.asked import Asked
from dpmath.estimate.day import KINDS, FloatArray
from dpmath.estimate.departures import departures
from dpmath.estimate.design import RADIUS, as_measured
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.questions import Measured, Questions
from dpmath.estimate.state import POINTS
from dpmath.estimate.typical import typical, typical_mean
from dpmath.joint.loadings import Loadings
from tasks.base import schemas
from tasks.base.config import Config
from tasks.kinds.estimated.laws import law_schema
from tasks.kinds.estimated.shares import share_tables
from tasks.occupancy.cells import parents_of
from tasks.output_formats.joint import JOINT, joint_frame

_OF_STRATA = {"cell": pl.List(pl.Int64), "n_records": pl.List(pl.Int64), "expected": pl.List(pl.Float64)}
_LEAST_SHARE = 0.1
"""The share of a cell's uncertainty that the day's own data must remove for the cell to count as measured."""


def areas_of(estimate: Estimate, asked: Asked, config: Config) -> Areas:
    """Return the areas whose value each cell may get: without a target its own alone."""
    has_target = config.privacy.target_error is not None
    return areas_of_cells(estimate, asked.day, parents_of(asked.day.names) if has_target else None)


def target_of(config: Config) -> float:
    """Return half the width that a cell's interval may have, in points."""
    target = config.privacy.target_error
    return math.inf if target is None else float(target) / float(config.value.span) * POINTS


def estimate_frame(
    cells: pl.DataFrame,
    estimate: Estimate,
    asked: Asked,
    areas: Areas,
    chosen: IntArray,
    release_id: str,
    epsilon: Decimal,
    config: Config,
) -> pl.DataFrame:
    """Return the published table of an estimate, one row per cell, by slot and hexagon, with the documented columns.

    Args:
        cells: One row per cell: h3_cell, slot_start, n_records, n_users.
        estimate: The estimate of the day.
        asked: What the day's questions were made from.
        areas: The areas whose value each cell may get.
        chosen: Which of them each cell gets, a position in ``AREAS``, shape (G,).
        release_id: The id of the release.
        epsilon: What the release costs the user who loses most.
        config: Gives the unit and the bounds of values.
    """

    def of_chosen(of_areas: FloatArray) -> FloatArray:
        return np.take_along_axis(of_areas, chosen[None], axis=0)[0]

    mean, variance = of_chosen(areas.mean), of_chosen(areas.variance)
    deviation = np.sqrt(variance)
    departing = departures(estimate, asked.day, parents_of(asked.day.names))
    usual = typical_mean(asked.day, estimate.state, asked.covariates, asked.day.kind)
    share = np.clip(1 - variance / of_chosen(areas.variance_before), 0.0, 1.0)
    low, high = (np.clip(mean + side * HALF_WIDTH * deviation, 0.0, POINTS) for side in (-1, 1))
    return cells.select(
        pl.Series("h3_cell", [h3.int_to_str(cell) for cell in cells["h3_cell"]], dtype=pl.String),
        "slot_start",
        pl.lit(config.grid.slot_minutes, dtype=pl.Int64).alias("slot_minutes"),
        "n_records",
        "n_users",
        pl.Series("mean", _in_unit(mean, config)),
        pl.Series("mean_sd", deviation * float(config.value.span) / POINTS),
        pl.Series("mean_ci95_low", _in_unit(low, config)),
        pl.Series("mean_ci95_high", _in_unit(high, config)),
        pl.Series("support", support_of(chosen, share)),
        pl.Series("mean_area", np.array(AREAS)[chosen]),
        pl.Series("mean_day_share", share),
        pl.Series("typical_mean", _in_unit(of_chosen(averages(areas.number, areas.records, usual)), config)),
        pl.Series("unusual", departing.unusual()),
        pl.lit(float(epsilon)).alias("epsilon"),
        pl.lit(release_id).alias("release_id"),
    )


def estimate_schema(config: Config) -> pa.DataFrameSchema:
    """Return the schema of the published table: its columns in order, and their ranges."""
    possible = schemas.possible_values(config)
    columns = {
        "mean": pa.Column(pl.Float64, possible),
        "mean_sd": pa.Column(pl.Float64, pa.Check.gt(0)),
        "mean_ci95_low": pa.Column(pl.Float64, possible),
        "mean_ci95_high": pa.Column(pl.Float64, possible),
        "support": pa.Column(pl.String, pa.Check.isin(["measured", "modelled", "coarse"])),
        "mean_area": pa.Column(pl.String, pa.Check.isin(AREAS)),
        "mean_day_share": pa.Column(pl.Float64, pa.Check.in_range(0, 1)),
        "typical_mean": pa.Column(pl.Float64, possible),
        "unusual": pa.Column(pl.Boolean),
        **law_schema(config),
    }
    return schemas.table_schema(columns, config)


def support_of(chosen: IntArray, share: FloatArray) -> np.ndarray:
    """Return what each value rests on: that of a larger area is coarse; else by how much the day's own data told."""
    return np.where(chosen > 0, "coarse", np.where(share >= _LEAST_SHARE, "measured", "modelled"))


def further_tables(
    cells: pl.DataFrame, questions: Questions, asked: Asked, estimate: Estimate, found: Loadings, config: Config
) -> dict[str, pl.DataFrame]:
    """Return the tables beside that of the cells, by the name of their file."""
    named = cells.select(
        pl.Series("h3_cell", [h3.int_to_str(cell) for cell in cells["h3_cell"]], dtype=pl.String),
        "slot_start",
        "n_records",
    )
    return {
        JOINT: _joint(named, estimate, found, config),
        **share_tables(named, estimate, asked, config),
        "typical.parquet": typical_frame(asked, estimate, config),
        "measurements.parquet": measurement_frame(questions, asked, config),
    }


def _joint(cells: pl.DataFrame, estimate: Estimate, found: Loadings, config: Config) -> pl.DataFrame:
    unit = float(config.value.span) / POINTS
    numbers = {"n_records": cells["n_records"], "cell_mean": float(config.value.lower) + unit * estimate.mean}
    return joint_frame(cells.select("h3_cell", "slot_start"), numbers, found, unit)


def typical_frame(asked: Asked, estimate: Estimate, config: Config) -> pl.DataFrame:
    """Return what is expected of each of the day's hexagons and slots on each kind of day."""
    tables, day = [], asked.day
    for number, kind in enumerate(KINDS):
        mean, variance = typical(day, estimate.state, asked.covariates, number)
        deviation = np.sqrt(variance) * float(config.value.span) / POINTS
        tables.append(
            pl.DataFrame(
                {
                    "h3_cell": [h3.int_to_str(int(name)) for name in day.names[day.hexagon]],
                    "slot": day.slot,
                    "kind_of_day": [kind] * day.slot.size,
                    "typical_mean": _in_unit(mean, config),
                    "typical_sd": deviation,
                }
            )
        )
    return pl.concat(tables).unique(["h3_cell", "slot", "kind_of_day"], maintain_order=True)


def measurement_frame(questions: Questions, asked: Asked, config: Config) -> pl.DataFrame:
    """Return the noisy sums of the large measurements, so that others can do their own inference.

    A row is one query: noisy_sum is the share that the balls keep times the sum over strata of weight times (mean -
    expected), plus noise of noise_sd. A stratum is the pairs of a cell whose numbers of records have as many binary
    digits; its mean is over records, but a user whose vector would be long counts for less. The first row of each step
    says what the strata are: the cell of each, as a row of the statistics, its records, and what was expected of it.
    """
    steps, occupancy = [], asked.day.occupancy
    measured = [(one.measurement, answers) for one, answers in questions if isinstance(one, Measured)]
    for step, (measurement, answers) in enumerate(measured):
        design, row = as_measured(measurement), measurement.row
        weights = design.loading  # they are many, so nothing is copied
        weights *= np.bincount(row, design.weight)[:, None]
        weights *= POINTS
        weights /= float(config.value.span)
        centre = measurement.centre.astype(np.float64) * (POINTS / measurement.value_range)
        strata = {
            "cell": occupancy.cell[np.unique(row, return_index=True)[1]].tolist(),
            "n_records": np.bincount(row, occupancy.n_records).astype(np.int64).tolist(),
            "expected": _in_unit(centre, config).tolist(),
        }
        n_queries = len(answers)
        steps.append(
            pl.DataFrame(
                {
                    "step": [step] * n_queries,
                    "query": range(n_queries),
                    "noisy_sum": [int(answer) / RADIUS for answer in answers],
                    "noise_sd": [measurement.deviation / RADIUS] * n_queries,
                    "weights": pl.Series(np.ascontiguousarray(weights.T)).arr.to_list(),
                    **{
                        name: [each if query == 0 else [] for query in range(n_queries)]
                        for name, each in strata.items()
                    },
                },
                schema_overrides=_OF_STRATA,
            )
        )
    return pl.concat(steps)


def _in_unit(points: FloatArray, config: Config) -> FloatArray:
    """Return values in the configuration's unit, inside its bounds."""
    lower, upper = float(config.value.lower), float(config.value.upper)
    return np.clip(lower + points * (float(config.value.span) / POINTS), lower, upper)

"""Estimates a day: asks its private questions, and makes the published tables from the noisy answers."""

import datetime as dt
import logging
import math
from dataclasses import dataclass
from typing import Any

import h3
import numpy as np
import polars as pl

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.estimate.areas import AREAS, HALF_WIDTH, Areas, areas_of_cells, averages
from dpmath.estimate.asking import ask, within
from dpmath.estimate.day import KINDS, FloatArray
from dpmath.estimate.design import RADIUS, as_measured
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import Asked, programme
from dpmath.estimate.questions import Measured, PrivateDay, Questions
from dpmath.estimate.state import MODEL, POINTS
from dpmath.estimate.typical import typical
from dpmath.noise.sampling import RandomBytes
from tasks.account import private_files
from tasks.account.chain import releases
from tasks.account.entry import Entry
from tasks.base import schemas
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.logs import warn
from tasks.estimates.asking import Known, asked_of
from tasks.estimates.owner_covariates import covariate_names
from tasks.estimates.public_day import occupancy_of, parents_of, public_day
from tasks.estimates.states import known_before, remove_old_states, write_state
from tasks.estimates.stored_questions import write_questions
from tasks.planning.stored_plan import StoredPlan

log = logging.getLogger("hexveil.estimate")

_OF_STRATA = {"cell": pl.List(pl.Int64), "n_records": pl.List(pl.Int64), "expected": pl.List(pl.Float64)}
_LEAST_SHARE = 0.1
"""The share of a cell's uncertainty that the day's own data must remove for the cell to count as measured."""


@dataclass(frozen=True)
class EstimatedDay:
    """A day that was estimated.

    Attributes:
        statistics: The published table.
        tables: Further published tables, by the name of their file.
        stated: The fields of the ledger entry: what was asked and what was known before and after.
    """

    statistics: pl.DataFrame
    tables: dict[str, pl.DataFrame]
    stated: dict[str, Any]


def estimate_day(
    date: dt.date,
    plan: StoredPlan,
    private: pl.DataFrame,
    entries: list[Entry],
    config: Config,
    release_id: str,
    is_revision: bool,
    random_bytes: RandomBytes,
) -> EstimatedDay:
    """Ask a day's questions, each once, and return the estimate.

    Args:
        date: The local day.
        plan: Its stored plan.
        private: Total of each pair of the plan, in ticks: slot_start, h3_cell, user_hash, private_mean_total, which has
            the midpoint for each of private_n_missing values.
        entries: The ledger's entries.
        config: The configuration that the plan was made with.
        release_id: The id of the release.
        is_revision: Whether it is a further release of the day, from which nothing is learned.
        random_bytes: Returns that many independent uniform bytes.

    Raises:
        HexveilError: The private totals are of other pairs than the plan's.
    """
    names = covariate_names(plan.cells)
    known = known_before(date, names, entries, config)
    if known.state is None and any(entry.stated.get("state_after") for entry in releases(entries)):
        warn(log, "no earlier release has this grid, value, covariates and model; the estimate begins anew", date=date)
    remove_old_states(known, names, entries, config)
    occupancy, users = occupancy_of(plan.cells, plan.pairs)
    day = public_day(date, plan.cells, occupancy, config)
    affordable = plan.question_losses
    losses = [affordable.get(user, 0) for user in users]
    asked = asked_of(day, losses, known, config)
    values = _private_day(plan.cells, occupancy, users, private, config)
    asking = within(programme(known.state, asked), np.array(losses, dtype=object), config.privacy.currency)
    estimate, questions = ask(asking, values, random_bytes)
    stated = {
        "questions": write_questions(private_files.releases(config), questions),
        "state_before": known.name,
        "state_after": None if is_revision else write_state(estimate.state, config),
        **describe_questions(names, asked, known),
    }
    areas = areas_of(estimate, asked, config)
    chosen = areas.chosen(target_of(config))
    return EstimatedDay(
        statistics=estimate_frame(plan.cells, estimate, asked, areas, chosen, release_id, config),
        tables={
            "typical.parquet": typical_frame(asked, estimate, config),
            "measurements.parquet": measurement_frame(questions, asked, config),
        },
        stated=stated,
    )


def _private_day(
    cells: pl.DataFrame, occupancy: Occupancy, users: list[str], private: pl.DataFrame, config: Config
) -> PrivateDay:
    """Return the values of each pair in the order of the occupancy array."""
    pairs = cells.select("slot_start", "h3_cell")[occupancy.cell].with_columns(
        user_hash=pl.Series(users).gather(pl.Series(occupancy.user))
    )
    joined = pairs.join(private, on=["slot_start", "h3_cell", "user_hash"], how="left", maintain_order="left")
    totals, n_missing = (joined[name].cast(pl.Int64) for name in ("private_mean_total", "private_n_missing"))
    if totals.null_count():
        raise HexveilError("the pairs of the warehouse are not those of the plan; run the day again")
    totals -= n_missing * (config.value.n_ticks // 2)
    return PrivateDay(occupancy, totals.to_numpy(), n_missing.to_numpy())


def describe_questions(covariates: list[str], asked: Asked, known: Known) -> dict[str, Any]:
    """Return what the ledger states of the questions: each one's sensitivity and scale, and what is learned from."""
    sums = {
        charge.name: {"sensitivity": charge.sensitivity, "scale": f"{LOSS_UNITS}/{charge.inverse_scale}"}
        for charge in asked.charges.values()
    }
    return {"model": MODEL, "sums": sums, "learned_from": known.n_releases, "covariates": covariates}


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
        config: Gives the unit and the bounds of values.
    """

    def of_chosen(of_areas: FloatArray) -> FloatArray:
        return np.take_along_axis(of_areas, chosen[None], axis=0)[0]

    mean, variance = of_chosen(areas.mean), of_chosen(areas.variance)
    deviation = np.sqrt(variance)
    usual, _ = typical(asked.day, estimate.state, asked.covariates, asked.day.kind)
    share = np.clip(1 - variance / of_chosen(areas.variance_before), 0.0, 1.0)
    low, high = (np.clip(mean + side * HALF_WIDTH * deviation, 0.0, POINTS) for side in (-1, 1))
    frame = cells.select(
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
        pl.lit(float(config.privacy.epsilon_per_day)).alias("epsilon"),
        pl.lit(release_id).alias("release_id"),
    )
    schemas.check(frame, schemas.statistic_schema(config), "statistics")
    return frame


def support_of(chosen: IntArray, share: FloatArray) -> np.ndarray:
    """Return what each value rests on: that of a larger area is coarse; else by how much the day's own data told."""
    return np.where(chosen > 0, "coarse", np.where(share >= _LEAST_SHARE, "measured", "modelled"))


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
    digits. The first row of each step says what the strata are: the cell of each, as a row of the statistics, its
    records, and what was expected of it.
    """
    steps, occupancy = [], asked.day.occupancy
    measured = [(one.measurement, answers) for one, answers in questions if isinstance(one, Measured)]
    for step, (measurement, answers) in enumerate(measured):
        design, row = as_measured(measurement), measurement.row
        weights = design.loading * np.bincount(row, design.weight)[:, None] * POINTS / float(config.value.span)
        centre = measurement.centre.astype(np.float64) * (POINTS / measurement.value_range)
        strata = {
            "cell": occupancy.cell[np.unique(row, return_index=True)[1]].tolist(),
            "n_records": np.bincount(row, occupancy.n_records).astype(np.int64).tolist(),
            "expected": _in_unit(centre, config).tolist(),
        }
        scale = LOSS_UNITS / measurement.inverse_scale / RADIUS
        n_queries = len(answers)
        steps.append(
            pl.DataFrame(
                {
                    "step": [step] * n_queries,
                    "query": range(n_queries),
                    "noisy_sum": [int(answer) / RADIUS for answer in answers],
                    "noise_sd": [scale if measurement.norm == "l2" else scale * float(np.sqrt(2))] * n_queries,
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

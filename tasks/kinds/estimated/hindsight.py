"""Estimates the days of a week again when it is over: the sums of later days tell of them too, at no cost."""

import datetime as dt
from collections.abc import Sequence

import h3
import numpy as np
import polars as pl

from dpmath.estimate.covariates import covariates
from dpmath.estimate.hindsight import Later, hindsight
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import taken_again
from dpmath.estimate.state import POINTS
from dpmath.estimate.view import View
from tasks.account import private_files
from tasks.account.entry import Release
from tasks.base.config import Config
from tasks.base.progress import progress
from tasks.kinds.estimated.states import public_day_again, questions_again
from tasks.kinds.estimated.stored_questions import QUESTIONS, read_readings
from tasks.output_formats.hindsight import DATE, HINDSIGHT, MOVED, over_since
from tasks.output_formats.joint import JOINT, joint_frame


def hindsight_tables(
    date: dt.date, chain: Sequence[Release], estimate: Estimate, config: Config
) -> dict[str, pl.DataFrame]:
    """Return the table of the days whose week is over with a release, by the name of its file; none without such days.

    Args:
        date: The day that is released.
        chain: The releases that it learned from.
        estimate: Its estimate.
        config: Says where they are.

    Raises:
        LedgerBroken: A file of theirs is missing or changed.
    """
    known = {one.date: one for one in chain}
    dates = over_since(known, max(known), date) if known else []
    folder = private_files.releases(config)
    readings = {one: read_readings(folder, known[one].kept[QUESTIONS]) for one in sorted(dates)}
    again = {one: found for one, found in readings.items() if found}  # releases of before have none
    if not again:
        return {}
    later = Later.after(estimate.state, float(np.mean(estimate.readings[-1].error)))
    tables = []
    for one, found in progress(list(again.items()), "estimating days again"):
        entry, (settings, cells, occupancy, users, day) = known[one], public_day_again(known[one], config)
        questions, _ = questions_again(entry, occupancy, users, config)
        of_cells = covariates(day, settings.estimate.occupancy_covariates)
        taken = taken_again(View.of(day, later.state, of_cells), questions, found)
        seen = hindsight(day, taken, later, of_cells)
        unit = float(settings.value.span) / POINTS
        mean = float(settings.value.lower) + unit * seen.mean
        then = private_files.read_frame(folder, entry.files[JOINT])["cell_mean"].to_numpy()
        named = cells.select(
            pl.Series("h3_cell", [h3.int_to_str(cell) for cell in cells["h3_cell"]], dtype=pl.String), "slot_start"
        )
        numbers = {"n_records": cells["n_records"], "cell_mean": mean, MOVED: mean - then}
        tables.append(joint_frame(named, numbers, seen.together, unit).insert_column(0, pl.lit(one).alias(DATE)))
    return {HINDSIGHT: pl.concat(tables)}

"""Estimates the days of a week again when it is over: the sums of later days tell of them too, at no cost."""

import datetime as dt
from collections.abc import Sequence

import h3
import numpy as np
import polars as pl

from dpmath.estimate.day import KINDS
from dpmath.estimate.hindsight import Later, hindsight
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import taken_again
from dpmath.estimate.state import POINTS, State
from dpmath.estimate.typical import typical
from dpmath.estimate.view import View
from tasks.account import private_files
from tasks.account.entry import Release
from tasks.base.config import Config
from tasks.base.progress import progress
from tasks.kinds.estimated.states import public_day_again, questions_again
from tasks.kinds.estimated.stored_questions import QUESTIONS, read_readings
from tasks.kinds.estimated.tables import TYPICAL
from tasks.output_formats.hindsight import DATE, HINDSIGHT, MOVED, over_since
from tasks.output_formats.joint import JOINT, joint_frame

WORTH = 0.9
"""If at least this share is left of the variance of what lasts, a week stays as released: intervals would become
shorter by a twentieth at most, and a day of a large city half as long again to run."""


def hindsight_tables(
    date: dt.date, chain: Sequence[Release], estimate: Estimate, config: Config, worth: float = WORTH
) -> dict[str, pl.DataFrame]:
    """Return the table of the days whose week is over with a release, by the name of its file.

    There is none without such days, or if the first of them is known about as well as it was.

    Args:
        date: The day that is released.
        chain: The releases that it learned from.
        estimate: Its estimate.
        config: Says where they are.
        worth: The share of the variance of what lasts from which on nothing is estimated again.

    Raises:
        LedgerBroken: A file of theirs is missing or changed.
    """
    known = {one.date: one for one in chain}
    dates = over_since(known, max(known), date) if known else []
    folder = private_files.releases(config)
    readings = {one: read_readings(folder, known[one].kept[QUESTIONS]) for one in sorted(dates)}
    again = {one: found for one, found in readings.items() if found}  # releases of before have none
    if not again or _left(known[min(again)], estimate.state, config) >= worth:
        return {}
    later = Later.after(estimate.state, float(np.mean(estimate.readings[-1].error)))
    tables = []
    for one, found in progress(list(again.items()), "estimating days again"):
        released = public_day_again(known[one], config)
        questions, _ = questions_again(known[one], released.occupancy, released.users, config)
        taken = taken_again(View.of(released.day, later.state, released.covariates), questions, found)
        seen = hindsight(released.day, taken, later, released.covariates)
        unit, lower = float(released.settings.value.span) / POINTS, float(released.settings.value.lower)
        mean = lower + unit * seen.mean
        then = private_files.read_frame(folder, known[one].files[JOINT])
        numbers = {"n_records": then["n_records"], "cell_mean": mean, MOVED: mean - then["cell_mean"].to_numpy()}
        joint = joint_frame(then.select("h3_cell", "slot_start"), numbers, seen.together, unit)
        tables.append(joint.insert_column(0, pl.lit(one).alias(DATE)))
    return {HINDSIGHT: pl.concat(tables)}


def _left(entry: Release, state: State, config: Config) -> float:
    """Return which share is left of the variance that what lasts of a day's cells had, a mean over records."""
    released = public_day_again(entry, config)
    day, kind = released.day, KINDS[released.day.kind]
    _, variance = typical(day, state, released.covariates, day.kind)
    names = pl.Series("h3_cell", [h3.int_to_str(int(name)) for name in day.names[day.hexagon]], dtype=pl.String)
    now = pl.DataFrame({"h3_cell": names, "slot": day.slot, "now": variance, "n": day.occupancy.cell_records})
    then = private_files.read_frame(private_files.releases(config), entry.files[TYPICAL])
    both = now.join(then.filter(pl.col("kind_of_day") == kind), on=["h3_cell", "slot"])
    unit = float(released.settings.value.span) / POINTS
    weight, known_then = both["n"].to_numpy(), (both["typical_sd"].to_numpy() / unit) ** 2
    return float(weight @ both["now"].to_numpy() / (weight @ known_then))

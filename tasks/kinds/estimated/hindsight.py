"""Estimates the days of a week again when it is over: the sums of later days tell of them too, at no cost."""

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dpmath.estimate.hindsight import Later, hindsight
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import taken_again
from dpmath.estimate.state import POINTS
from dpmath.estimate.taken import Read
from dpmath.estimate.view import View
from tasks.account import private_files
from tasks.account.entry import Release
from tasks.base.config import Config
from tasks.base.progress import progress
from tasks.kinds.estimated.states import public_day_again, questions_again
from tasks.kinds.estimated.stored_questions import QUESTIONS, read_readings
from tasks.output_formats.hindsight import MOVED, hindsight_of, over_since
from tasks.output_formats.joint import AGAIN, JOINT, joint_frame

LEARNING = 28
"""The days of so many first releases are estimated again. Of later ones a week's sums tell little: intervals would be a
twentieth shorter, and a day of a large city half as long again to run."""


@dataclass(frozen=True)
class Earlier:
    """A day whose week is over.

    Attributes:
        entry: Its release.
        read: How its sums were read.
    """

    entry: Release
    read: Read


def days_of_the_week(date: dt.date, chain: Sequence[Release], config: Config) -> list[Earlier]:
    """Return the days that are estimated again with a release: those whose week is over since, while much is learned.

    Args:
        date: The day that is released.
        chain: The releases that it learns from.
        config: Says where they are.

    Raises:
        LedgerBroken: A file that is needed for it is missing or changed.
    """
    learning = {one.date: one for one in chain[:LEARNING]}
    last = max((one.date for one in chain), default=date)
    plans, folder, found = private_files.plans(config), private_files.releases(config), []
    for one in over_since(learning, last, date):
        entry = learning[one]
        read = read_readings(folder, entry.kept[QUESTIONS])
        if read is not None:  # releases of before have none
            stored = json.loads(private_files.read(plans, entry.plan))["files"]
            for name in ("cells", "pairs"):
                private_files.read(plans, stored[name])
            private_files.read(folder, entry.files[JOINT])
            found.append(Earlier(entry, read))
    return found


def hindsight_tables(days: Sequence[Earlier], estimate: Estimate, config: Config) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the joint table of each of some days again, as it is known with a release, and the name of its file.

    Args:
        days: The days.
        estimate: The estimate of the release.
        config: Says where they are.

    Raises:
        LedgerBroken: A file of theirs is missing or changed.
    """
    if not days:
        return
    folder, later = private_files.releases(config), Later.after(estimate.state, estimate.read.cut)
    for one in progress(list(days), "estimating days again"):
        day = public_day_again(one.entry, config)
        questions, _ = questions_again(one.entry, day.occupancy, day.users, config)
        taken = taken_again(View.of(day.day, later.state, day.covariates), questions, one.read)
        found = hindsight(day.day, taken, one.read.shocks, later, day.covariates)
        unit, lower = float(day.settings.value.span) / POINTS, float(day.settings.value.lower)
        then = private_files.read_frame(folder, one.entry.files[JOINT])
        mean = lower + unit * found.mean
        numbers = {
            "n_records": then["n_records"],
            "cell_mean": mean,
            MOVED: mean - then["cell_mean"].to_numpy(),
            AGAIN: np.full(mean.size, found.together.again),
        }
        joint = joint_frame(then.select("h3_cell", "slot_start"), numbers, found.together, unit)
        yield hindsight_of(one.entry.date), joint

"""Set mechanisms side by side for one day: what each would cover, and with which error. Spends nothing."""

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tasks.base.config import Config
from tasks.base.config_privacy import estimated_privacy
from tasks.base.errors import contained
from tasks.base.progress import progress
from tasks.estimates.expected import expected_estimate
from tasks.mechanisms.table import PROMISING, propose
from tasks.planning.day_plan import mean_errors, over_records
from tasks.planning.plan import PlannedDay, read_day


@contained
def compare_mechanisms(date: dt.date, config: Config) -> list[dict[str, Any]]:
    """Return the day as an estimate and under every mechanism that promises an error, one row each.

    ``error_over_all_records`` is the mean over all records of the error that is promised for their cell, or that an
    estimate expects. A withheld cell counts with half the range, which the middle of the range keeps whatever the
    values are. Errors are None for an estimate before the first release, because the values' scale is not known then.
    """
    day = read_day(date, config)
    rows = [_as_estimate(date, day, config)]
    for mechanism in progress(list(PROMISING), "planning by every mechanism"):
        proposal = propose(mechanism, day.request)
        errors = mean_errors(day.request.occupancy, proposal.sums[0], Fraction(config.value.tick))
        row = _row(mechanism, proposal.loss, errors, day, config)
        rows.append({**row, "epsilon_lower_bound": proposal.epsilon_lower_bound})
    return rows


def _as_estimate(date: dt.date, day: PlannedDay, config: Config) -> dict[str, Any]:
    """Return what the day would be as an estimate."""
    of_estimate = config.model_copy(update={"privacy": estimated_privacy(config.privacy)})
    losses = propose("estimated", day.request).user_losses
    if losses is None:
        raise ValueError("an estimate says what each user loses")
    expected = expected_estimate(date, day.cells, day.request.occupancy, losses, of_estimate)
    known = np.zeros(day.request.occupancy.n_cells) if expected is None else expected.error
    row = _row("estimated", int(max(losses)), known.tolist(), day, config)
    unknown = [name for name in row if name.endswith(("error", "all_records"))] if expected is None else []
    return row | dict.fromkeys(unknown)


def _row(
    mechanism: str, loss: int, errors: Sequence[Fraction | float | None], day: PlannedDay, config: Config
) -> dict[str, Any]:
    occupancy = day.request.occupancy
    published = [float(error) for error in errors if error is not None]
    covered = occupancy.cell_records[[error is not None for error in errors]].sum()
    return {
        "mechanism": mechanism,
        "error_over_all_records": over_records(errors, occupancy, config),
        "records_share": float(covered / occupancy.cell_records.sum()),
        "records_covered": int(covered),
        "cells_published": len(published),
        "worst_error": max(published) if published else None,
        "median_error": float(np.median(published)) if published else None,
        "epsilon": float(config.privacy.currency.epsilon(loss)),
        "epsilon_lower_bound": None,
    }

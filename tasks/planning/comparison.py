"""Set mechanisms side by side for one day: what each would cover, and with which error. Spends nothing."""

import datetime as dt
from typing import Any

import numpy as np

from tasks.base.config import Config
from tasks.base.config_privacy import by_mechanism
from tasks.base.errors import contained
from tasks.base.progress import progress
from tasks.kinds.day import PlannedDay
from tasks.kinds.kind import Errors
from tasks.kinds.plan import over_records
from tasks.kinds.table import kind_named
from tasks.planning.plan import read_day
from tasks.proposals.mechanisms import FORESEEING, propose


@contained
def compare_mechanisms(date: dt.date, config: Config) -> list[dict[str, Any]]:
    """Return the day as an estimate and under every mechanism that promises an error, one row each.

    ``error_over_all_records`` is the mean over all records of the error that is promised for their cell, or that an
    estimate expects. A withheld cell counts with half the range, which the middle of the range keeps whatever the
    values are. Errors are None for an estimate before the first release, because the values' scale is not known then.
    """
    day = read_day(date, config)
    rows = []
    for mechanism in progress(list(FORESEEING), "planning by every mechanism"):
        own = config.model_copy(update={"privacy": by_mechanism(mechanism, config.privacy)})
        proposal = propose(mechanism, day.request)
        errors = kind_named(mechanism).errors(date, day, proposal, own)
        unknown = [0.0] * day.request.occupancy.n_cells
        row = _row(mechanism, proposal.loss, unknown if errors is None else errors, day, config)
        nothing = [name for name in row if name.endswith(("error", "all_records"))] if errors is None else []
        rows.append({**row, **dict.fromkeys(nothing), "epsilon_lower_bound": proposal.epsilon_lower_bound})
    return rows


def _row(mechanism: str, loss: int, errors: Errors, day: PlannedDay, config: Config) -> dict[str, Any]:
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
    }

"""What a release says of itself: the ledger entry, and the manifest beside the published files."""

import datetime as dt
from decimal import Decimal, localcontext
from typing import Any

import polars as pl

from dpmath.arrays.cell import array_sensitivities
from dpmath.arrays.sums import ArraySum
from dpmath.core.accounting import LOSS_UNITS, exact_decimal
from tasks.account import private_files
from tasks.account.chain import FORMAT
from tasks.account.identity import release_id
from tasks.base import randomness
from tasks.base.config import Config
from tasks.base.config_sections import PROJECTED
from tasks.base.provenance import code_hash, now, versions
from tasks.planning.stored_plan import moments_of
from tasks.sums.arrays import ARRAY_MECHANISMS, stored_sum

_COMMON = ("CKS-A2", "HV-L1", "HV-L3", "HV-L4", "HV-L7")
_ARRAYS = ("CPL-T2.3", "HV-L46", "HV-L47", *_COMMON)
_PROJECTED = ("STI-A2", "STI-E9", "HV-L40", "HV-L41", "HV-L42", *_ARRAYS)
_THEOREMS = {
    "planned": ("HV-L5", "HV-L6", "HV-L8", "HV-L2", *_COMMON),
    "clip-user": ("CPL-A1", "BUCv-T1", "HV-L2", *_COMMON),
    "exact": ("HV-L2", *_COMMON),
    "baseline": ("CPL-T2.3", "STI-S3.2", "HV-L2", *_COMMON),
    "optimal-clipping": ("CPL-T2.3", "BUCv-T1", "HV-L2", *_COMMON),
    "array-averaging": ("STI-A1", "STI-S3.3", "STI-L3.2", "HV-L43", *_ARRAYS),
    "opt-array-averaging": ("STI-A1", "STI-S3.3", "HV-L43", *_ARRAYS),
    "levy": ("STI-S3.4", "STI-A3", *_PROJECTED),
    "quantile": ("STI-S3.5", "HV-L44", *_PROJECTED),
}

_INTERVALS = {
    "levy": "about the median array mean, of three times the radius for gamma = 0.2",
    "quantile": "from the quantile 0.1 to the quantile 0.9 of the array means",
}
"""What half of a cell's epsilon buys: an interval by the exponential mechanism, to which array means are projected."""

GUARANTEE = {
    "definition": "pure epsilon-differential privacy",
    "unit_of_privacy": "one user: all of the user's values, in every cell of the day",
    "neighbours": "the values of one user's records change, any number of them, to anything; who was in which "
    "cell how often does not change",
    "not_protected": "which users were in which cell how often, and with it n_records and n_users, which cells "
    "are published, and every number in this file",
    "epsilon": "the most that any one user loses by this release; exact where only the mean is published and no "
    "interval is drawn, else at most",
    "composition": "a user's loss is the sum over cells and statistics of the most that the user can move the sum / "
    "noise scale, an exact rational, or of the cell's whole epsilon where an interval is drawn; losses of several "
    "releases add up",
}


def describe_release(date: dt.date, revision: str | None, config: Config) -> dict[str, Any]:
    """Return what a release says of its subject, its guarantee and what made it."""
    start, end = config.day_bounds(date)
    settings = config.public_settings()
    return {
        "kind": "release",
        "format": FORMAT,
        "release_id": release_id(date, config, revision),
        "revision": revision,
        "dataset": config.dataset.name,
        "purpose": config.dataset.purpose,
        "date": date.isoformat(),
        "period": {"start": start.isoformat(), "end": end.isoformat(), "timezone": config.dataset.timezone},
        "grid": settings["grid"],
        "statistics": [name for name, wanted in settings["statistics"].items() if wanted],
        "value": settings["value"],
        "data_domain": "a record is (user, time, place, value); a value outside [lower, upper] counts as the nearer "
        "bound, and one that is missing or cannot be read as the midpoint; in a file it is anything that UTF-8 and the "
        "format can hold in its place: in CSV a field of RFC 4180, in NDJSON a JSON value on the record's line, either "
        "in a record of at most 64 KiB, in Parquet a value of the column's type, a text of at most 64 KiB; that there "
        "is such a field, member or column, and its type, is structure",
        "guarantee": GUARANTEE,
        "mechanism": config.privacy.mechanism,
        "theorems": list(_THEOREMS[config.privacy.mechanism]),
        "noise": {
            "distribution": "discrete Laplace on integers, drawn exactly",
            "source": randomness.SOURCE,
            "draws": "once, independent for each cell and moment",
            **({"interval": _INTERVALS[config.privacy.mechanism]} if config.privacy.mechanism in PROJECTED else {}),
        },
        "settings": settings,
        "code": code_hash(),
        "versions": versions(),
        "intended_at": now(),
    }


def describe_cost(worst: int, worst_total: int, worst_used: int, config: Config) -> dict[str, str | None]:
    """Return what a release costs its worst user, now and in all, and what the limit leaves; exact decimals."""
    limit = config.budget.epsilon_total
    with localcontext(prec=100):
        left = max(Decimal(0), limit - Decimal(exact_decimal(worst_used)))
    return {
        "epsilon": exact_decimal(worst),
        "epsilon_total_after": exact_decimal(worst_total),
        "epsilon_window_after": exact_decimal(worst_used) if config.budget.window_days else None,
        "epsilon_total_limit": str(limit),
        "epsilon_left": format(left, "f"),
    }


def describe_plan(plan: dict[str, Any], config: Config) -> dict[str, Any]:
    """Return what a stored plan publishes and withholds, suppresses and clips, and each sum's scales and sensitivity.

    Scales and sensitivities are in the sum's own unit: ticks for the mean, squared half ticks for the second moment,
    and either over the length of an array where arrays are averaged.
    """
    folder = private_files.plans(config)
    cells = private_files.read_frame(folder, plan["files"]["cells"])
    pairs = private_files.read_frame(folder, plan["files"]["pairs"])
    published = cells.filter(pl.col("mean_inverse_scale") > 0)
    moments = moments_of(cells)
    if config.privacy.mechanism in ARRAY_MECHANISMS:
        n_suppressed = int((pairs["mean_n_kept"] == 0).sum())
        n_whole = int((pairs["mean_n_kept"] == pairs["n_records"]).sum())
        sums = {moment: _arrays(published, stored_sum(published, pairs, moment, config), moment) for moment in moments}
    else:
        n_suppressed = int((pairs["mean_width"] == 0).sum())
        n_whole = int((pairs["mean_width"] == pairs["n_records"] * config.value.n_ticks).sum())
        sums = {moment: _clipped(published, pairs, moment) for moment in moments}
    return {
        "cells": {"total": cells.height, "published": published.height, "withheld": cells.height - published.height},
        "pairs": {"total": pairs.height, "suppressed": n_suppressed, "clipped": pairs.height - n_suppressed - n_whole},
        "sums": sums,
    }


def _clipped(published: pl.DataFrame, pairs: pl.DataFrame, moment: str) -> dict[str, Any]:
    per_user = pairs.group_by("user_hash").agg(pl.col(f"{moment}_width").cast(pl.Decimal(38, 0)).sum())
    return {
        **_scales(published, moment),
        "sensitivity_of_a_cell": max(pairs[f"{moment}_width"]),
        "sensitivity_of_all_cells": int(max(per_user[f"{moment}_width"])),
    }


def _arrays(published: pl.DataFrame, sums: ArraySum, moment: str) -> dict[str, Any]:
    """Return what there is to say of arrays; with an interval to come, its noise is the widest that it can be."""
    lengths = published[f"{moment}_array_length"]
    sensitivities = [int(max(array_sensitivities(cell, cell.largest))) for cell in sums.cells.values()]
    return {
        **_scales(published, moment),
        "sensitivity_of_a_cell": max(sensitivities),
        "epsilon_of_a_cell": str(sums.cell_epsilon),
        "array_length_least": lengths.min(),
        "array_length_largest": lengths.max(),
    }


def _scales(published: pl.DataFrame, moment: str) -> dict[str, str]:
    inverse_scales = published[f"{moment}_inverse_scale"]
    return {
        "scale_least": f"{LOSS_UNITS}/{inverse_scales.max()}",
        "scale_largest": f"{LOSS_UNITS}/{inverse_scales.min()}",
    }

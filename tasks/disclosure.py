"""What a release says of itself: the ledger entry, and the manifest beside the published files."""

import datetime as dt
import importlib.metadata
import platform
from typing import Any

from tasks import entropy
from tasks.config import Config
from tasks.ledger import exact_decimal

_LIBRARIES = ("hexveil", "prefect", "duckdb", "polars", "numpy", "pandera", "h3", "h3ronpy", "pyarrow")

_COMMON = ("CKS-A2", "HV-L1", "HV-L2", "HV-L3", "HV-L4", "HV-L7")
_THEOREMS = {"clip-user": ("CPL-A1", "BUCv-T1", *_COMMON), "planned": ("HV-L5", "HV-L6", "HV-L8", *_COMMON)}

GUARANTEE = {
    "definition": "pure epsilon-differential privacy",
    "unit_of_privacy": "one user: all of the user's values, in every cell of the day",
    "neighbours": "the values of one user's records change, any number of them, to anything; who was in which "
    "cell how often does not change",
    "not_protected": "which users were in which cell how often, and with it n_records and n_users, which cells "
    "are published, and every number in this file",
    "epsilon": "the most that any one user loses by this release; exact where only the mean is published, else at most",
    "composition": "a user's loss is the sum over cells and statistics of interval width / noise scale, an exact "
    "rational; losses of several releases add up",
}

COLUMNS = {
    "h3_cell": "H3 index of the hexagon",
    "slot_start": "start of the time slot, UTC; slots are counted from local midnight",
    "slot_minutes": "length of the slot; the last one of a day with a clock change may be shorter",
    "n_records": "records in the cell, exact",
    "n_users": "users in the cell, exact",
    "mean": "noisy mean of the records' values, cut to the possible range",
    "mean_noise_scale": "scale of the Laplace noise in the mean",
    "mean_error_bound": "promise: the expected absolute error is at most this, whatever the values are",
    "mean_ci95_low, mean_ci95_high": "holds the true mean with probability at least 0.95, whatever the values "
    "are: clipping bias and noise are both counted",
    "variance, variance_...": "the same for the variance, where it is published; its noise scale is that of the "
    "second moment about the middle of the range",
    "epsilon": "the most that any one user loses by this cell alone",
    "release_id": "the release, to be looked up in the ledger",
}


def describe_release(identity: str, date: dt.date, config: Config) -> dict[str, Any]:
    """Return what a release says of its subject, its guarantee and what made it."""
    start, end = config.day_bounds(date)
    settings = config.public_settings()
    return {
        "kind": "release",
        "release_id": identity,
        "dataset": config.dataset.name,
        "date": date.isoformat(),
        "period": {"start": start.isoformat(), "end": end.isoformat(), "timezone": config.dataset.timezone},
        "grid": settings["grid"],
        "statistics": [name for name, wanted in settings["statistics"].items() if wanted],
        "value": settings["value"],
        "data_domain": "a record is (user, time, place, value); a value outside [lower, upper] counts as the "
        "nearer bound and a missing one as the midpoint; in a file it is one well-formed UTF-8 field of a line of at "
        "most 64 KiB, and some line of each file has the field",
        "guarantee": GUARANTEE,
        "mechanism": config.privacy.mechanism,
        "theorems": list(_THEOREMS[config.privacy.mechanism]),
        "noise": {
            "distribution": "discrete Laplace on integer ticks, drawn exactly",
            "source": entropy.SOURCE,
            "draws": "once, independent for each cell and moment",
        },
        "settings": settings,
        "versions": {name: importlib.metadata.version(name) for name in _LIBRARIES}
        | {"python": platform.python_version()},
        "intended_at": now(),
    }


def describe_cost(worst: int, worst_total: int, config: Config) -> dict[str, str]:
    """Return what a release costs its worst user, now and in all; exact decimals."""
    return {
        "epsilon": exact_decimal(worst),
        "epsilon_total_after": exact_decimal(worst_total),
        "epsilon_total_limit": str(config.budget.epsilon_total),
    }


def now() -> str:
    """Return the time, UTC, to the second."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")

"""How far values are from their mean, as earlier releases show: what the best constant would err. It costs nothing."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from dpmath.core.currency import GAUSSIAN
from tasks.account import private_files
from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.account.screenings import same_quantity
from tasks.base.config import Config
from tasks.base.storage import TABLE

_MOST_RELEASES = 7


def released_spread(entries: Sequence[Entry], config: Config) -> float | None:
    """Return what a constant errs over all records, in the value's unit, as the last releases of the same grid show.

    Args:
        entries: The ledger's entries.
        config: Gives the grid and the value.

    Returns:
        The expected absolute error of the best constant; None if no release shows it.
    """
    settings = config.public_settings()
    same = [
        entry
        for entry in releases(entries)
        if entry.revision is None
        and entry.settings["grid"] == settings["grid"]
        and same_quantity(entry.settings, settings)
    ]
    variances = [variance for entry in same[-_MOST_RELEASES:] if (variance := _variance(entry, config)) > 0]
    return math.sqrt(2 / math.pi * sum(variances) / len(variances)) if variances else None


def _variance(entry: Release, config: Config) -> float:
    """Return the variance of cells' true means about the mean of the day, over records, as far as a release shows it.

    An estimate varies less than the truth, by its own variance, but for that of its mean. A noisy mean varies more, by
    that of its noise.
    """
    table = private_files.read_frame(private_files.releases(config), entry.files[TABLE])
    records = table["n_records"].to_numpy()
    means = table["mean"].to_numpy()
    found = np.average((means - np.average(means, weights=records)) ** 2, weights=records)
    if entry.whole_day is not None:
        of_mean = entry.whole_day[1] ** 2
        return max(float(found + np.average(table["mean_sd"].to_numpy() ** 2, weights=records)) - of_mean, 0.0)
    return float(found - np.average(_noise_variance(table, entry, config), weights=records))


def _noise_variance(table: pl.DataFrame, entry: Release, config: Config) -> np.ndarray:
    is_gaussian = config.with_settings(entry.settings).privacy.sum_noise == GAUSSIAN
    return np.asarray((1 if is_gaussian else 2) * table["mean_noise_scale"].to_numpy() ** 2)

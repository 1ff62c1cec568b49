"""How far values are from their mean, as earlier releases show: what the best constant would err. It costs nothing."""

import math
from collections.abc import Sequence

import numpy as np

from tasks.account import private_files
from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.account.screenings import same_quantity
from tasks.base.config import Config
from tasks.base.storage import TABLE
from tasks.kinds.table import kind_of

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
    shown = [_variance(entry, config) for entry in same[-_MOST_RELEASES:]]
    variances = [one for one in shown if one > 0]
    return math.sqrt(2 / math.pi * sum(variances) / len(variances)) if variances else None


def _variance(entry: Release, config: Config) -> float:
    """Return the variance of cells' true means about the mean of the day, over records, as far as a release shows it.

    Its means vary otherwise than the truth: with noise more, and estimates less. Its kind says by how much.
    """
    settings = config.with_settings(entry.settings)
    table = private_files.read_frame(private_files.releases(config), entry.files[TABLE])
    records = table["n_records"].to_numpy()
    means = table["mean"].to_numpy()
    found = np.average((means - np.average(means, weights=records)) ** 2, weights=records)
    return float(found) + kind_of(settings).variance_unseen(table, entry, settings)

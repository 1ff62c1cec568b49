"""The steps of a collection from devices that trust nobody: open a period, find the bins, publish the means."""

import datetime as dt
from pathlib import Path

from tasks.base.config_collection import load_collection
from tasks.collect import rounds


def collect_open(config_file: Path, date: dt.date) -> Path:
    """Publish the parameters of round 1; a period that is open is published again, with the same bytes.

    Args:
        config_file: The collection's TOML file.
        date: A date in the period.

    Returns:
        The folder of the published files.
    """
    return rounds.open_period(date, load_collection(config_file))


def collect_localise(config_file: Path, date: dt.date) -> Path:
    """Find the bin of each area from the reports of round 1, and publish the parameters of round 2.

    Args:
        config_file: The collection's TOML file.
        date: A date in the period.

    Returns:
        The folder of the published files.
    """
    return rounds.localise(date, load_collection(config_file))


def collect_estimate(config_file: Path, date: dt.date) -> Path:
    """Publish the mean of each area from the reports of round 2.

    Args:
        config_file: The collection's TOML file.
        date: A date in the period.

    Returns:
        The folder of the published files.
    """
    return rounds.estimate(date, load_collection(config_file))

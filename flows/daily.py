"""The daily run: takes one local day from raw files to a published release that the ledger has charged."""

import datetime as dt
from pathlib import Path

from flows import presence
from flows.owners import is_presence
from flows.presence import PresenceReport
from tasks.account.releases import find_release
from tasks.base.config import Config, load_config
from tasks.base.errors import WITHHELD
from tasks.engines.late import count_late_records
from tasks.engines.prepare import prepare_day
from tasks.planning.plan import plan_release
from tasks.release.draw import release_statistics
from tasks.release.publish import publish_files
from tasks.reporting.artifacts import emit_released, emit_withheld, make_budget_artifact, make_day_artifact
from tasks.reporting.day_report import DayReport


def daily(config_file: Path, date: dt.date, revision: str | None = None) -> DayReport | PresenceReport:
    """Publish one local day; a day that was released already is only published again, with the same bytes.

    Args:
        config_file: The dataset's TOML file.
        date: The local day.
        revision: Name of a deliberate further release of a released day, with its own charge.

    Returns:
        The report on the release.
    """
    if is_presence(config_file):
        return presence.daily(config_file, date, revision)
    config = load_config(config_file)
    release_id = find_release(date, config, revision)
    if release_id is None:
        prepare_day(date, config)
        release_id = _release(date, config, revision)
    publish_files(release_id, config)
    late, unread = count_late_records(date, config)
    emit_released(date, config, revision)
    day = make_day_artifact(date, late, config, revision, unread)
    make_budget_artifact(config)
    return day


def _release(date: dt.date, config: Config, revision: str | None) -> str:
    try:
        plan_hash = plan_release(date, config)
        return release_statistics(date, plan_hash, config, revision)
    except WITHHELD as error:
        emit_withheld(date, str(error), config)
        make_budget_artifact(config)
        raise

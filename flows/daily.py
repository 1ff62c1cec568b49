"""The daily flow: one local day from raw files to a published, accounted release."""

import datetime as dt
from pathlib import Path

from prefect import flow

from tasks.config import load_config
from tasks.ingest import ingest_records
from tasks.occupancy import build_occupancy
from tasks.plan import plan_release
from tasks.publish import publish_files
from tasks.release import find_release, release_statistics
from tasks.validate import validate_records


@flow(name="daily", flow_run_name="daily-{date:%Y-%m-%d}", log_prints=False)
def daily(config_file: Path, date: dt.date) -> None:
    """Publish one local day; a day that was released already is only published again, to the same bytes.

    Args:
        config_file: The dataset's TOML file.
        date: The local day.
    """
    config = load_config(config_file)
    release_id = find_release(date, config)
    if release_id is None:
        ingest_records(date, config)
        validate_records(date, config)
        build_occupancy(date, config)
        plan_hash = plan_release(date, config)
        release_id = release_statistics(date, plan_hash, config)
    publish_files(release_id, config)

"""Late reports: those of a round that was closed before they came. They are counted, and change nothing."""

import logging
from collections.abc import Iterator
from typing import NamedTuple

from tasks.base import warehouse
from tasks.base.config_collection import CollectionConfig
from tasks.base.logs import warn
from tasks.base.steps import step
from tasks.collect.ledger import ESTIMATED, LOCALISED, OPENED, ROUND_1, ROUND_2, asked_in, list_entries
from tasks.collect.reports import ReportFile, files_of, judge, note_files, open_reports
from tasks.device.parameters import RoundParameters

log = logging.getLogger("hexveil.late")


class Late(NamedTuple):
    """The late reports of a round.

    Attributes:
        period: The period.
        round: The round, 1 or 2.
        n_reports: How many reports came late, of devices whose report is not used.
    """

    period: str
    round: int
    n_reports: int


@step("late reports of {config.collection.name}")
def count_late_reports(config: CollectionConfig) -> list[Late]:
    """Count the late reports of every closed round. Only files that are new or changed since are read.

    A report is late if it could have been used, and no report of its device is. The database of the reports knows which
    are used. If it was lost, all reports beyond the number in the ledger are late.

    Args:
        config: The configuration.

    Returns:
        The rounds that have late reports, by period.
    """
    late = [one for one in _of_all_rounds(config) if one.n_reports]
    for one in late:
        warn(log, "late reports change nothing", period=one.period, round=one.round, n_reports=one.n_reports)
    return late


def _of_all_rounds(config: CollectionConfig) -> Iterator[Late]:
    entries = list_entries(config)
    made = {(one["kind"], one["period"]): one for one in entries}
    if not any(kind == LOCALISED for kind, _ in made):
        return
    with open_reports(config) as connection:
        for period in sorted({one["period"] for one in entries}):
            for before, kind, name in ((OPENED, LOCALISED, ROUND_1), (LOCALISED, ESTIMATED, ROUND_2)):
                if (kind, period) in made:
                    asked, n_used = asked_in(made[before, period], name, config), made[kind, period]["rows"]["used"]
                    with warehouse.transaction(connection):
                        yield Late(period, asked.round, _count(asked, n_used, connection, config))


def _count(asked: RoundParameters, n_used: int, connection: warehouse.Connection, config: CollectionConfig) -> int:
    place = {"period": asked.period, "round": asked.round}
    held = warehouse.rows(connection, "read/seen_report_files", place)
    seen, n_late = {name: tuple(stamp) for name, *stamp, _ in held}, {name: n for name, *_, n in held}
    files = files_of(asked.period, config)
    changed = {name: file for name, file in files.items() if seen.get(name) != file.stamp}
    if changed:
        is_held = bool(warehouse.rows(connection, "checks/round_is_held", place))
        counted = _counted(asked, changed if is_held else files, connection)
        if not is_held:
            counted = dict.fromkeys(files, 0) | {next(iter(files)): max(sum(counted.values()) - n_used, 0)}
        note_files(asked, {files[name]: n for name, n in counted.items()}, connection)
        n_late |= counted
    return sum(n_late.values())


def _counted(asked: RoundParameters, files: dict[str, ReportFile], connection: warehouse.Connection) -> dict[str, int]:
    """Return for each file how many of its reports could be used, and are of devices without a report that is used."""
    judge(asked, files.values(), connection)
    found = warehouse.rows(connection, "read/late_reports", {"period": asked.period, "round": asked.round})
    return dict.fromkeys(files, 0) | {name: int(n) for name, n in found}

"""Late reports: those of a round that was closed before they came. They are counted, and change nothing."""

import logging
from collections.abc import Iterator
from typing import NamedTuple

from tasks.base import warehouse
from tasks.base.logs import warn
from tasks.base.steps import step
from tasks.collect.config import CollectionConfig
from tasks.collect.ledger import ESTIMATED, LOCALISED, OPENED, ROUND_1, ROUND_2, asked_in, list_entries
from tasks.collect.reports import files_of, judge, note_files, open_reports
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

    A report is late if it could have been used, and no report of its device is. It counts once, in however many files
    it stands. The database of the reports knows which are used. If it was lost, all reports beyond the number in the
    ledger are late.

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
    counted = {name: tuple(stamp) for name, *stamp in warehouse.rows(connection, "read/counted_report_files", place)}
    files = files_of(asked.period, config)
    changed = [file for name, file in files.items() if counted.get(name) != file.stamp]
    if changed:
        is_held = bool(warehouse.rows(connection, "checks/round_is_held", place))
        chosen = changed if is_held else list(files.values())
        judge(asked, chosen, connection)
        for file in chosen:
            warehouse.run(connection, "write/delete_late_reports", {**place, "file_name": file.name})
        warehouse.run(connection, "write/late_report", {**place, "n_used": 0 if is_held else n_used})
        note_files(asked, chosen, connection)
    [(n_late,)] = warehouse.rows(connection, "read/n_late_reports", place)
    return int(n_late)

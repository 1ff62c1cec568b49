"""Take in the files of a round's reports: which are used, and why the others are not."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandera.polars as pa
import polars as pl
import pyarrow

from tasks.base import warehouse
from tasks.base.durable import canonical_json
from tasks.base.errors import BadInput, HexveilError, SchemaBroken
from tasks.base.locks import turn
from tasks.base.rebuilt import open_or_make_anew
from tasks.base.schemas import check
from tasks.base.storage import private_folder
from tasks.collect.config import PERIOD_PLACEHOLDER, CollectionConfig
from tasks.device.parameters import RoundParameters
from tasks.device.rules import LONGEST_NAME
from tasks.records.input_formats.text_lines import LONGEST_RECORD, numbered_raw_lines

TABLES = ("device_report", "refused_report", "late_report", "counted_report_file")
"""The tables of the database of the reports, in ``sql/schema``."""

_WAIT_SECONDS = 600
_LINES = pyarrow.schema({"file_name": pyarrow.string(), "line_number": pyarrow.int64(), "line": pyarrow.binary()})
_MEMBERS = canonical_json(
    dict.fromkeys(("collection", "period", "round", "area", "device", "ballot", "estimate"), "JSON")
).decode()

_DEVICE = rf"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]{{1,{LONGEST_NAME}}}$"
"""What the name of a device looks like at least: it has no control and no line end. Further marks are told in SQL."""


@dataclass(frozen=True)
class TakenIn:
    """A round's reports.

    Attributes:
        sums: What ``sql/read/vote_counts.sql`` or ``sql/read/estimate_sums.sql`` returns.
        rows: Number of lines by outcome: ``used``, and each reason why a line is not used.
    """

    sums: pl.DataFrame
    rows: dict[str, int]


class ReportFile(NamedTuple):
    """A file of reports.

    Attributes:
        name: Its path relative to the configuration.
        path: Its path.
        stamp: Its bytes, and when it was changed, in nanoseconds.
    """

    name: str
    path: Path
    stamp: tuple[int, int]


def take_in(asked: RoundParameters, config: CollectionConfig) -> TakenIn:
    """Read the files of a period, judge every line as a report of a round, and add up.

    What the database has of the round is replaced, so that the result is a function of the files.

    Args:
        asked: The parameters of the round.
        config: The configuration.

    Returns:
        The sums by area, and the counts of lines.

    Raises:
        BadInput: There are no files.
    """
    files = files_of(asked.period, config)
    if not files:
        raise BadInput(f"no file of reports matches {config.folder / _pattern(asked.period, config)}")
    place = {"period": asked.period, "round": asked.round}
    with open_reports(config) as connection, warehouse.transaction(connection):
        judge(asked, files.values(), connection)
        for name in ("write/delete_reports", "write/delete_refused_reports"):
            warehouse.run(connection, name, place)
        n_used = warehouse.changed(connection, "write/device_report", place)
        warehouse.run(connection, "write/refused_report", place)
        for batch in warehouse.batches(connection, "read/device_reports", place):
            check(batch, _contract(asked), "device_report")
        if warehouse.rows(connection, "checks/reports_repeated", place):
            raise SchemaBroken("device_report has two reports of a device. This is a defect, report it.")
        refused = {reason: int(n) for reason, n in warehouse.rows(connection, "read/refused_reports", place)}
        sums = _SUMS[asked.round](connection, asked)
        note_files(asked, files.values(), connection)
    return TakenIn(sums, {"used": n_used, **refused})


def judge(asked: RoundParameters, files: Iterable[ReportFile], connection: warehouse.Connection) -> None:
    """Make the table ``judged_report`` of the lines of files: what each says as a report of a round, and its reason."""
    connection.register("report_line", pyarrow.RecordBatchReader.from_batches(_LINES, _lines(files)))
    connection.register("asked_area", _areas(asked))
    judged = {"collection": asked.collection, "key": asked.key.hex(), "n_bins": asked.protocol.n_bins}
    form = {"longest": LONGEST_RECORD, "members": _MEMBERS}
    place = {"period": asked.period, "round": asked.round}
    warehouse.run(connection, "scratch/judged_report", place | judged | form)


def note_files(asked: RoundParameters, files: Iterable[ReportFile], connection: warehouse.Connection) -> None:
    """Note files as they are now: their late reports of a round are counted."""
    for file in files:
        place = {"period": asked.period, "round": asked.round, "file_name": file.name}
        warehouse.run(connection, "write/delete_counted_report_file", place)
        size = {"n_bytes": file.stamp[0], "changed_ns": file.stamp[1]}
        warehouse.run(connection, "write/counted_report_file", {**place, **size})


@contextmanager
def open_reports(config: CollectionConfig) -> Iterator[warehouse.Connection]:
    """Open the database of the reports. Wait while another process uses it.

    One that cannot be opened is set aside and made anew: the reports are read again from their files.

    Raises:
        HexveilError: It was opened, and a part of it cannot be read or written.
    """
    path = private_folder(config) / "reports.duckdb"
    with (
        turn(path.with_name("reports.lock"), "the reports"),
        closing(open_or_make_anew(path, config, _WAIT_SECONDS)) as connection,
    ):
        try:
            warehouse.define(connection, *TABLES)
            yield connection
        except warehouse.DAMAGE:
            raise HexveilError(
                f"{path} cannot be read or written. If the disk is full, free space. If not, the file is damaged: "
                "remove it. Then run this again: the reports are read again from their files"
            ) from None


def _vote_counts(connection: warehouse.Connection, asked: RoundParameters) -> pl.DataFrame:
    parameters = {"period": asked.period, "n_bins": asked.protocol.n_bins}
    return warehouse.frame(connection, "read/vote_counts", parameters)


def _estimate_sums(connection: warehouse.Connection, asked: RoundParameters) -> pl.DataFrame:
    return warehouse.frame(connection, "read/estimate_sums", {"period": asked.period})


_SUMS: dict[int, Callable[[warehouse.Connection, RoundParameters], pl.DataFrame]] = {
    1: _vote_counts,
    2: _estimate_sums,
}


def files_of(period: str, config: CollectionConfig) -> dict[str, ReportFile]:
    """Return the files of a period's reports by their name, in the order in which they are read."""
    files = {}
    found = glob.glob(_pattern(period, config), root_dir=config.folder, recursive=True)
    for path in map(config.folder.joinpath, sorted(found)):
        if not path.is_file():
            continue  # a folder, or a link to nothing
        status, name = path.stat(), os.path.relpath(path, config.folder)
        files[name] = ReportFile(name, path, (status.st_size, status.st_mtime_ns))
    return files


def _pattern(period: str, config: CollectionConfig) -> str:
    return config.collection.reports.replace(PERIOD_PLACEHOLDER, period)


def _lines(files: Iterable[ReportFile]) -> Iterator[pyarrow.RecordBatch]:
    for file in files:
        for batch in numbered_raw_lines(file.path):
            name = pyarrow.repeat(file.name, batch.num_rows)
            yield pyarrow.RecordBatch.from_arrays([name, *batch.columns], schema=_LINES)


def _areas(asked: RoundParameters) -> pl.DataFrame:
    """Return the areas of a round; in round 2 with the least and the largest estimate of an honest device."""
    domains = [(None, None) if found is None else asked.protocol.domain(found) for found in asked.bins.values()]
    return pl.DataFrame(
        {
            "name": list(asked.bins),
            "least": [least for least, _ in domains],
            "largest": [largest for _, largest in domains],
        },
        schema={"name": pl.String, "least": pl.Int64, "largest": pl.Int64},
    )


def _contract(asked: RoundParameters) -> pa.DataFrameSchema:
    """Return what every report that is used keeps to. Estimates are checked against the widest domain of the areas."""
    columns = {
        "area": pa.Column(pl.String, pa.Check.isin(list(asked.bins))),
        "device": pa.Column(pl.String, pa.Check.str_matches(_DEVICE)),
    }
    if asked.round == 1:
        ballot = pa.Check.str_matches(rf"^[01]{{{asked.protocol.n_bins}}}$")
        columns |= {"ballot": pa.Column(pl.String, ballot), "estimate": pa.Column(pl.Int64, nullable=True)}
    else:
        domains = [asked.protocol.domain(found) for found in asked.bins.values() if found is not None]
        within = pa.Check.in_range(min(least for least, _ in domains), max(largest for _, largest in domains))
        columns |= {"ballot": pa.Column(pl.String, nullable=True), "estimate": pa.Column(pl.Int64, within)}
    return pa.DataFrameSchema(columns, strict=True)

"""Take in the files of a round's reports: which are used, and why the others are not."""

import glob
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandera.polars as pa
import polars as pl

from tasks.base import tables, warehouse
from tasks.base.config_collection import PERIOD_PLACEHOLDER, CollectionConfig
from tasks.base.errors import BadInput
from tasks.base.locks import turn
from tasks.base.schemas import check
from tasks.device.parameters import RoundParameters
from tasks.records.text_lines import numbered_lines

_LINES = {"file_name": pl.String, "line_number": pl.Int64, "line": pl.String}


@dataclass(frozen=True)
class TakenIn:
    """A round's reports.

    Attributes:
        sums: What ``sql/read/vote_counts.sql`` or ``sql/read/estimate_sums.sql`` returns.
        rows: Number of lines by outcome: ``used``, and each reason why a line is not used.
    """

    sums: pl.DataFrame
    rows: dict[str, int]


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
    lines = _lines(asked.period, config)
    place = {"period": asked.period, "round": asked.round}
    with _database(config) as connection, warehouse.transaction(connection):
        connection.register("report_line", lines)
        connection.register("asked_area", _areas(asked))
        judged = {"collection": asked.collection, "key": asked.key.hex(), "n_bins": asked.protocol.n_bins}
        warehouse.run(connection, "scratch/judged_report", place | judged)
        for name in ("write/delete_reports", "write/delete_refused_reports"):
            warehouse.run(connection, name, place)
        n_used = warehouse.changed(connection, "write/device_report", place)
        warehouse.run(connection, "write/refused_report", place)
        check(warehouse.frame(connection, "read/device_reports", place), _contract(asked), "device_report")
        refused = {reason: int(n) for reason, n in warehouse.rows(connection, "read/refused_reports", place)}
        sums = _SUMS[asked.round](connection, asked)
    return TakenIn(sums, {"used": n_used, **refused})


@contextmanager
def _database(config: CollectionConfig) -> Iterator[warehouse.Connection]:
    """Open the database of the reports. Wait while another process uses it."""
    folder = config.private_folder()
    path = folder / "reports.duckdb"
    with turn(folder / "reports.lock", "the reports"), closing(warehouse.open_database(path, config)) as connection:
        warehouse.define(connection, *tables.COLLECTED)
        yield connection


def _vote_counts(connection: warehouse.Connection, asked: RoundParameters) -> pl.DataFrame:
    parameters = {"period": asked.period, "n_bins": asked.protocol.n_bins}
    return warehouse.frame(connection, "read/vote_counts", parameters)


def _estimate_sums(connection: warehouse.Connection, asked: RoundParameters) -> pl.DataFrame:
    return warehouse.frame(connection, "read/estimate_sums", {"period": asked.period})


_SUMS: dict[int, Callable[[warehouse.Connection, RoundParameters], pl.DataFrame]] = {
    1: _vote_counts,
    2: _estimate_sums,
}


def _lines(period: str, config: CollectionConfig) -> pl.DataFrame:
    pattern = str(config.folder / config.collection.reports.replace(PERIOD_PLACEHOLDER, period))
    files = sorted(glob.glob(pattern, recursive=True))
    if not files:
        raise BadInput(f"no file of reports matches {pattern}")
    frames = [pl.DataFrame(schema=_LINES)]
    for file in files:
        found = pl.DataFrame(pl.from_arrow(numbered_lines(Path(file)).read_all()))
        name = pl.lit(Path(file).name).alias("file_name")
        frames.append(found.select(name, pl.col("row_number").cast(pl.Int64).alias("line_number"), "line"))
    return pl.concat(frames)


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
        "device": pa.Column(pl.String, pa.Check.str_length(min_value=1), unique=True),
    }
    if asked.round == 1:
        ballot = pa.Check.str_matches(rf"^[01]{{{asked.protocol.n_bins}}}$")
        columns |= {"ballot": pa.Column(pl.String, ballot), "estimate": pa.Column(pl.Int64, nullable=True)}
    else:
        domains = [asked.protocol.domain(found) for found in asked.bins.values() if found is not None]
        within = pa.Check.in_range(min(least for least, _ in domains), max(largest for _, largest in domains))
        columns |= {"ballot": pa.Column(pl.String, nullable=True), "estimate": pa.Column(pl.Int64, within)}
    return pa.DataFrameSchema(columns, strict=True)

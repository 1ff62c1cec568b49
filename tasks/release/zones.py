"""The zones of the owner's file: their means and shares in each hour and over the day, from published tables alone."""

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import h3
import polars as pl

from tasks.account import private_files
from tasks.account.entry import Release
from tasks.answers.area_files import areas_of, read_areas
from tasks.answers.places import Outlines
from tasks.answers.question import ANY_HOUR
from tasks.answers.rows import row_of
from tasks.answers.sums import Label, Reader, Said, means_of, shares_of
from tasks.base.config import Config
from tasks.base.errors import BadInput, HexveilError
from tasks.output_formats.catalogue import csv_bytes
from tasks.output_formats.columns import share_above
from tasks.output_formats.csv_text import as_text
from tasks.output_formats.joint import JOINT, JOINT_SHARES

ZONES, OUTLINES = "zones.csv", "zones.geojson"
_NEAR = 1e-6


def read_zones(config: Config) -> bytes | None:
    """Return the zones as GeoJSON; None if the configuration names none.

    Raises:
        BadInput: The file cannot be used.
    """
    if config.publish.zones is None:
        return None
    path = (config.folder / config.publish.zones).resolve()
    try:
        return read_areas(path, None, None).geojson()
    except HexveilError as error:
        said = str(error).partition(": say how wide")[0]  # which only ``hexveil ask`` can be told
        raise BadInput(f"publish.zones: {said}; nothing was spent") from None


def said_of_zones(cells: pl.DataFrame, released: bytes | None) -> list[str]:
    """Return what of released zones is not as in the owner's file, or has nothing of a day; None: there are none."""
    if released is None:
        return []
    zones = outlines_of(released)
    _, share = zones.shares([h3.int_to_str(int(cell)) for cell in cells["h3_cell"].unique()])
    outside = "no hexagon of the day is in a zone of publish.zones, so zones.csv has no row."
    return [*(f"publish.zones: {one}" for one in zones.remarks), *([] if share.nnz else [outside])]


def zone_files(zones: bytes, table: pl.DataFrame) -> dict[str, bytes]:
    """Return the files by name: the table, and the outlines as GeoJSON."""
    return {ZONES: csv_bytes(table), OUTLINES: zones}


def zone_table(zones: Outlines, tables: Mapping[str, pl.DataFrame], config: Config) -> pl.DataFrame:
    """Return what a day says of zones, as ``hexveil ask`` does: a row a zone over the day, and one for each hour.

    A zone or hour without records has no row.

    Args:
        zones: The zones.
        tables: The day's joint tables by the name of their file.
        config: Gives the time zone and the limits.
    """
    said = {"mean": means_of(tables[JOINT])}
    for limit in config.statistics.limits:
        said[share_above(Decimal(str(limit)))] = shares_of(tables[JOINT], tables[JOINT_SHARES], float(limit))
    found = {name: _rows(zones, one, name, ZoneInfo(config.dataset.timezone)) for name, one in said.items()}
    rows: list[dict[str, Any]] = []
    for label in sorted(found["mean"], key=lambda label: (label[0], -1 if label[1] is None else label[1])):
        rows.append({"zone": label[0], "hour": label[1]})
        for of_name in found.values():
            rows[-1] |= of_name[label]
    keys = {"zone": pl.String, "hour": pl.Int64}
    return pl.DataFrame(rows, schema_overrides=keys, infer_schema_length=None) if rows else pl.DataFrame(schema=keys)


def _rows(zones: Outlines, said: Said, name: str, zone: ZoneInfo) -> dict[Label, dict[str, Any]]:
    any_day, rows = dt.date.min, {}
    for by_hour in (False, True):
        for label, sums in Reader(zones, ANY_HOUR, zone, by_hour).of_day(said).items():
            row = row_of([(any_day, sums)], [any_day], [], name)
            rows[label] = {key: value for key, value in row.items() if key not in ("present", "n_days")}
    return rows


def unlike_zones(entry: Release, settings: Config, config: Config) -> Iterator[str]:
    """Yield that a release's zones do not follow from its joint tables and its outlines."""
    if not {ZONES, OUTLINES} & entry.files.keys():
        return
    if not {ZONES, OUTLINES} <= entry.files.keys():
        yield f"{ZONES} and {OUTLINES} are not both there"
        return
    folder = private_files.releases(config)
    text, outlines = (private_files.read(folder, entry.files[name]) for name in (ZONES, OUTLINES))
    names = [name for name in (JOINT, JOINT_SHARES) if name in entry.files]
    tables = {name: private_files.read_frame(folder, entry.files[name]) for name in names}
    expected = zone_table(outlines_of(outlines), tables, settings)
    if not same_zones(text, expected):
        yield f"{ZONES} does not follow from {JOINT} and {OUTLINES}"


def same_zones(text: bytes, expected: pl.DataFrame) -> bool:
    """Return whether a CSV file says what a table of zones does."""
    try:
        found = pl.read_csv(BytesIO(text), schema_overrides=dict(expected.schema))
    except pl.exceptions.PolarsError:
        return False
    if found.schema != expected.schema or found.height != expected.height:
        return False
    expected = as_text(expected)
    return all(
        (
            ((expected[name] - found[name]).abs() <= _NEAR * (1 + expected[name].abs())).fill_null(value=True).all()
            and expected[name].null_count() == found[name].null_count()
            if dtype.is_float()
            else expected[name].equals(found[name])
        )
        for name, dtype in expected.schema.items()
    )


def outlines_of(zones: bytes) -> Outlines:
    """Return the outlines of released zones."""
    return areas_of(zones, Path(OUTLINES))

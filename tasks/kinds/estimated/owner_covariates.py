"""Reads the owner's file of covariates, and gives each cell of a day its row: public facts such as a road's class."""

from pathlib import Path
from zoneinfo import ZoneInfo

import h3
import polars as pl

from tasks.base.config import Config
from tasks.base.errors import BadInput

PREFIX = "covariate."
"""The beginning of the names of the columns of covariates in a stored plan."""
_KEYS = ("h3_cell", "hour")
_MOST_COLUMNS = 50
_LARGEST = 10**9
_MOST_TEXTS = 20


def covariate_names(cells: pl.DataFrame) -> list[str]:
    """Return the names of the owner's covariates in the cells of a plan."""
    return [name.removeprefix(PREFIX) for name in cells.columns if name.startswith(PREFIX)]


def with_covariates(cells: pl.DataFrame, config: Config) -> pl.DataFrame:
    """Return the cells of a day with a column of numbers for each covariate of the owner's file, if there is one.

    A column of text becomes a column of 0 and 1 for each of its texts. A cell that the file does not list has the mean
    of each column, and a column of its own says so.

    Args:
        cells: One row per cell: slot_start, h3_cell.
        config: Names the file, and gives the grid and the time zone.

    Raises:
        BadInput: The file cannot be read, or a column is not what it must be.
    """
    if config.estimate.covariates is None:
        return cells
    path = (config.folder / config.estimate.covariates).resolve()
    facts, keys = _facts(path, config)
    zone = ZoneInfo(config.dataset.timezone)
    hours = pl.Series([start.astimezone(zone).hour for start in cells["slot_start"]], dtype=pl.Int64)
    found = cells.select("h3_cell", hour=hours).join(facts, on=keys, how="left", maintain_order="left")
    names = [name for name in facts.columns if name not in keys]
    filled = found.select(pl.col(name).fill_null(facts[name].mean()) for name in names)
    is_listed = found.select(f"{PREFIX}is listed").to_series().fill_null(0.0)
    return cells.hstack(filled.with_columns(is_listed))


def _facts(path: Path, config: Config) -> tuple[pl.DataFrame, list[str]]:
    """Return the file's covariates as numbers, one row per hexagon, hour or both, and the names of the keys."""
    table = _read(path)
    keys = [key for key in _KEYS if key in table.columns]
    if not keys:
        raise BadInput(f"{path.name}: needs a column h3_cell or hour, which says what a row is about")
    table = _with_keys(table, path, config)
    repeated = table.filter(table.select(keys).is_duplicated())
    if repeated.height:
        raise BadInput(
            f"{path.name}: {repeated.height} rows have the {' and '.join(keys)} of another row; keep one of each"
        )
    columns = [series for name in sorted(table.columns) if name not in keys for series in _numbers(table[name], path)]
    if not 0 < len(columns) <= _MOST_COLUMNS:
        raise BadInput(
            f"{path.name}: makes {len(columns)} covariates, and must make 1 to {_MOST_COLUMNS}; each column of numbers "
            "is one, and each text of a column of texts"
        )
    names = [column.name for column in columns]
    twice = [name for name in names if names.count(name) > 1 or name == f"{PREFIX}is listed"]
    if twice:
        name = twice[0].removeprefix(PREFIX)
        raise BadInput(f"{path.name}: two covariates would be named {name!r}; rename a column")
    listed = pl.Series(f"{PREFIX}is listed", [1.0] * table.height)
    return table.select(keys).with_columns(*columns, listed), keys


def _read(path: Path) -> pl.DataFrame:
    readers = {".parquet": pl.read_parquet, ".csv": pl.read_csv}
    if path.suffix not in readers:
        raise BadInput(f"{path.name}: estimate.covariates must be a .parquet or a .csv file")
    try:
        table = readers[path.suffix](path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(f"{path}: cannot be read as estimate.covariates ({type(error).__name__})") from None
    if not table.height:
        raise BadInput(f"{path.name}: has no rows")
    return table


def _with_keys(table: pl.DataFrame, path: Path, config: Config) -> pl.DataFrame:
    """Return the table with hexagons as numbers and hours as integers."""
    if "h3_cell" in table.columns:
        resolution, names = config.grid.h3_resolution, table["h3_cell"]
        cells = [_cell(name) for name in names]
        wrong = [
            str(name)
            for name, cell in zip(names, cells, strict=True)
            if cell is None or h3.get_resolution(h3.int_to_str(cell)) != resolution
        ]
        if wrong:
            raise BadInput(
                f"{path.name}: {len(wrong)} of {table.height} names in h3_cell, as {wrong[0]!r}, are no hexagons of "
                f"resolution {resolution}, which grid.h3_resolution says"
            )
        table = table.with_columns(h3_cell=pl.Series(cells, dtype=pl.UInt64))
    if "hour" in table.columns:
        hours = table["hour"]
        if not hours.dtype.is_integer() or not hours.is_between(0, 23).all() or hours.null_count():
            raise BadInput(f"{path.name}: hour must hold whole numbers from 0 to 23, hours of the local day")
        table = table.with_columns(pl.col("hour").cast(pl.Int64))
    return table


def _cell(name: object) -> int | None:
    """Return the number of a hexagon that is given as text or as a number; None if it is none."""
    try:
        number = name if isinstance(name, int) else h3.str_to_int(str(name))
        return number if h3.is_valid_cell(h3.int_to_str(number)) else None
    except (ValueError, OverflowError):
        return None


def _numbers(column: pl.Series, path: Path) -> list[pl.Series]:
    """Return a column as one column of numbers, or, of texts, as a column of 0 and 1 for each text."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        numbers = column.cast(pl.Float64)
        held = numbers.drop_nulls()
        if held.is_empty() or not held.is_finite().all() or (held.abs() > _LARGEST).any():
            raise BadInput(f"{path.name}: {column.name} must hold finite numbers, at most {_LARGEST:,} in size")
        return [numbers.alias(f"{PREFIX}{column.name}")]
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise BadInput(f"{path.name}: {column.name} is of type {column.dtype}; it must hold numbers or texts")
    texts = column.cast(pl.String)
    found = sorted(texts.drop_nulls().unique().to_list())
    if not 0 < len(found) <= _MOST_TEXTS:
        raise BadInput(
            f"{path.name}: {column.name} holds {len(found)} different texts, and must hold 1 to {_MOST_TEXTS}"
        )
    return [(texts == text).cast(pl.Float64).alias(f"{PREFIX}{column.name}={text}") for text in found]

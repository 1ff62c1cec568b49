"""The input formats. To add one: a module with its value, a row here, and its name in ``config_source``."""

from pathlib import Path

from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.records.input_formats.csv_files import CSV
from tasks.records.input_formats.gtfs_files import GTFS_REALTIME
from tasks.records.input_formats.input_format import InputFormat
from tasks.records.input_formats.json_files import JSON, NDJSON
from tasks.records.input_formats.parquet_files import PARQUET
from tasks.records.input_formats.plt_files import PLT
from tasks.records.input_formats.xml_files import XML

INPUT_FORMATS: tuple[InputFormat, ...] = (PARQUET, JSON, NDJSON, XML, PLT, CSV, GTFS_REALTIME)
"""All formats. By its first bytes a file is of the first one that they can be of."""


def format_by_start(start: bytes) -> InputFormat | None:
    """Return the format of a file by its first bytes, uncompressed; None for bytes that are none of them."""
    return next((one for one in INPUT_FORMATS if one.begins(start)), None)


def format_by_name(path: Path) -> InputFormat | None:
    """Return the format that the end of a file's name says; None if it says none."""
    return next((one for one in INPUT_FORMATS if path.name.endswith(one.endings)), None)


def format_called(name: str) -> InputFormat:
    """Return the format that has a name."""
    return next(one for one in INPUT_FORMATS if one.name == name)


def format_of(path: Path, config: Config) -> InputFormat:
    """Return the format of a file: the declared one, or what the end of its name says.

    Raises:
        BadInput: The configuration declares none, and the name has none of the known endings.
    """
    if config.dataset.format is not None:
        return format_called(config.dataset.format)
    found = format_by_name(path)
    if found is not None:
        return found
    endings = ", ".join(ending for one in INPUT_FORMATS for ending in one.endings)
    raise BadInput(f"{path}: unknown kind of file; its name must end in one of {endings}, or set dataset.format")


def holds_snapshots(config: Config) -> bool:
    """Return whether all files of a dataset are snapshots of a feed."""
    if config.dataset.format is not None:
        return format_called(config.dataset.format).holds_snapshots
    found = [format_by_name(Path(pattern)) for pattern in config.dataset.files]
    return all(one is not None and one.holds_snapshots for one in found)

"""Decodes GTFS-Realtime: the vehicle positions of a FeedMessage in protobuf, as a table for the engine."""

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.records import text_lines
from tasks.records.structure import source_names

_OF_HEADER = "header."
_TYPES = {
    "user": pa.string(),
    "time": pa.int64(),
    "latitude": pa.float64(),
    "longitude": pa.float64(),
    "value": pa.float64(),
}


def vehicles(path: Path) -> list[Any]:
    """Return the entities of a feed that have a vehicle position.

    Raises:
        BadInput: The file is no whole FeedMessage.
    """
    return [one for one in _feed(path).entity if one.HasField("vehicle")]


def positions(path: Path, config: Config) -> pa.Table:
    """Return one row per vehicle position of a feed; what a position does not say is null.

    Args:
        path: The file.
        config: Names the fields, from the VehiclePosition on: `vehicle.id`. `header.timestamp` is that of the feed.

    Returns:
        The columns ``row_number``, ``user``, ``time``, ``latitude``, ``longitude`` and ``value``.

    Raises:
        BadInput: The file is no whole FeedMessage, or the specification has no such field.
    """
    feed = _feed(path)
    rows = [one.vehicle for one in feed.entity if one.HasField("vehicle")]
    columns: dict[str, Any] = {"row_number": pa.array(range(1, len(rows) + 1), pa.int64())}
    for role, name in source_names(config).items():
        if name.startswith(_OF_HEADER):
            read = _field(feed.header.DESCRIPTOR, name.removeprefix(_OF_HEADER), role, name)
            columns[role] = pa.array([read(feed.header)] * len(rows), _TYPES[role])
        else:
            read = _field(_position(), name, role, name)
            columns[role] = pa.array(map(read, rows), _TYPES[role])
    return pa.table(columns)


def _feed(path: Path) -> Any:
    from google.protobuf.message import DecodeError
    from google.transit import gtfs_realtime_pb2

    feed: Any = gtfs_realtime_pb2.FeedMessage()  # pyright: ignore[reportAttributeAccessIssue]
    try:
        with text_lines.open_binary(path) as file:
            feed.ParseFromString(file.read())
        whole = feed.IsInitialized()
    except (EOFError, gzip.BadGzipFile, zlib.error, DecodeError):
        whole = False
    if not whole:
        raise BadInput(f"{path}: not a whole FeedMessage of GTFS-Realtime; fetch it again, or check dataset.format")
    return feed


def _position() -> Any:
    from google.transit import gtfs_realtime_pb2

    return gtfs_realtime_pb2.VehiclePosition.DESCRIPTOR  # pyright: ignore[reportAttributeAccessIssue]


def _field(message: Any, name: str, role: str, whole: str) -> Callable[[Any], Any]:
    """Return a function that gives a field of a message by its path; None if the message does not have it."""
    first, _, rest = name.partition(".")
    field = message.fields_by_name.get(first)
    if field is None or field.is_repeated or bool(field.message_type) != bool(rest):
        known = ", ".join(sorted(one.name for one in message.fields if not one.is_repeated))
        raise BadInput(f'GTFS-Realtime has no value "{whole}" (columns.{role}); at "{first}" there are: {known}')
    if field.message_type is None:
        if field.type == field.TYPE_STRING:
            return lambda one: getattr(one, first) or None
        return lambda one: getattr(one, first) if one.HasField(first) else None
    inner = _field(field.message_type, rest, role, whole)
    return lambda one: inner(getattr(one, first)) if one.HasField(first) else None

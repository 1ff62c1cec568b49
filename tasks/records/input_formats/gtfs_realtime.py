"""Decodes GTFS-Realtime: the vehicle positions of a FeedMessage in protobuf, as a table for the engine.

An entity that is damaged costs no other its place: if a feed cannot be decoded whole, each entity is decoded by itself.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.records.input_formats import compressed
from tasks.records.input_formats.columns import called, source_names

TIME_OF_FEED = "header.timestamp"
_OF_HEADER = "header."
_LARGEST_FEED = 1 << 25  # bytes; decoded they may take a hundred times as many
_LATEST = (1 << 63) - 1  # times are signed in the engine; later ones are not readable in any unit
_TEXT, _WHOLE, _POINT = "a text", "a whole number", "a number with a point"
_KINDS = {
    "user": (_TEXT, _WHOLE),
    "time": (_TEXT, _WHOLE),
    "latitude": (_POINT,),
    "longitude": (_POINT,),
    "value": (_WHOLE, _POINT),
    "age": (_WHOLE, _POINT),
}
"""The kinds of fields that a role can have; one that says which rows count has those of a user."""


class Feed(NamedTuple):
    """A feed.

    Attributes:
        header: Its FeedHeader.
        vehicles: The VehiclePosition of each entity that has one, and None for each entity that cannot be decoded.
    """

    header: Any
    vehicles: list[Any]


def read_feed(path: Path) -> Feed:
    """Return the header and the vehicles of a feed.

    Raises:
        BadInput: The file is no whole FeedMessage: it is truncated, or its header is none.
    """
    feed = feed_of(_content(path))
    if feed is None:
        raise BadInput(f"{path}: not a whole FeedMessage of GTFS-Realtime; fetch it again, or check dataset.format")
    return feed


def feed_of(content: bytes) -> Feed | None:
    """Return the feed that some bytes are; None if they are none, or too many."""
    from google.protobuf.message import DecodeError

    try:
        header, entities = _decoded(content if len(content) <= _LARGEST_FEED else b"")
    except DecodeError:
        return None
    return Feed(header, list(_vehicles(entities))) if header.IsInitialized() else None


def positions(path: Path, config: Config) -> pa.Table:
    """Return one row per vehicle position of a feed; what a position does not say, or cannot be read, is null.

    Args:
        path: The file.
        config: Names the fields, from the VehiclePosition on: `vehicle.id`. `header.timestamp` is that of the feed.

    Returns:
        The columns ``row_number``, ``is_whole``, ``user``, ``time``, ``latitude``, ``longitude`` and ``value``,
        and further ones by their roles. An entity that cannot be decoded has a row that is not whole.

    Raises:
        BadInput: The file is no whole FeedMessage, or the specification has no such field.
    """
    feed = read_feed(path)
    columns: dict[str, Any] = {
        "row_number": pa.array(range(1, len(feed.vehicles) + 1), pa.int64()),
        "is_whole": pa.array([one is not None for one in feed.vehicles], pa.bool_()),
    }
    for role, name in source_names(config).items():
        field = _field(name, role)
        written = field.of(feed)
        if role == "time" and config.columns.time_else is not None:
            written = _with_other_times(written, field, feed, config.columns.time_else)
        columns[role] = _column(role, field.kind, written)
    return pa.table(columns)


def column(feed: Feed, name: str) -> list[Any]:
    """Return what each vehicle of a feed that can be decoded says in a field; None where it says nothing."""
    return _field(name, None).of(feed._replace(vehicles=[one for one in feed.vehicles if one is not None]))


def contents(path: Path) -> set[str]:
    """Return what the entities of a whole feed have, such as ``vehicle`` and ``trip_update``."""
    _, entities = _decoded(_content(path))
    return {field.name for one in entities if one is not None for field, _ in one.ListFields() if field.message_type}


def names() -> list[str]:
    """Return the names of all fields that a column can be: those with one value, of a vehicle and of the header."""
    return [*_leaves(_types().vehicle.DESCRIPTOR, ""), *_leaves(_types().header.DESCRIPTOR, _OF_HEADER)]


def _content(path: Path) -> bytes:
    return compressed.whole(path, _LARGEST_FEED, "has more than 32 MiB, as no feed of vehicles has; fetch it again")


class _Types(NamedTuple):
    """The types of messages; ``envelope`` is a FeedMessage whose header and entities are bytes."""

    feed: Any
    envelope: Any
    header: Any
    entity: Any
    vehicle: Any


@functools.cache
def _types() -> _Types:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.transit import gtfs_realtime_pb2

    known: Any = gtfs_realtime_pb2
    kinds: Any = descriptor_pb2.FieldDescriptorProto
    file: Any = descriptor_pb2.FileDescriptorProto(name="hexveil/envelope.proto", package="hexveil")
    envelope = file.message_type.add(name="Envelope")
    for field in known.FeedMessage.DESCRIPTOR.fields:
        label = kinds.LABEL_REPEATED if field.is_repeated else kinds.LABEL_OPTIONAL
        envelope.field.add(name=field.name, number=field.number, type=kinds.TYPE_BYTES, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName("hexveil.Envelope"))
    return _Types(known.FeedMessage, made, known.FeedHeader, known.FeedEntity, known.VehiclePosition)


def _decoded(content: bytes) -> tuple[Any, Iterable[Any]]:
    """Return the header and the entities of a feed; None for an entity that cannot be decoded.

    Raises:
        DecodeError: The bytes are no feed, or end within an entity.
    """
    from google.protobuf.message import DecodeError

    types = _types()
    try:
        feed = types.feed.FromString(content)
    except DecodeError:
        envelope = types.envelope.FromString(content)
        return types.header.FromString(envelope.header), map(_entity, envelope.entity)
    return feed.header, feed.entity


def _entity(content: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return _types().entity.FromString(content)
    except DecodeError:
        return None


def _vehicles(entities: Iterable[Any]) -> Iterator[Any]:
    """Yield the vehicle of each entity that has one, and None for each that cannot be decoded."""
    for entity in entities:
        if entity is None:
            yield None
        elif entity.HasField("vehicle"):
            yield entity.vehicle
        elif _has_misread_field(entity):
            yield None


def _has_misread_field(entity: Any) -> bool:
    """Return whether an entity has a field of the specification with another wire type: it may be its vehicle."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    return any(one.field_number in entity.DESCRIPTOR.fields_by_number for one in UnknownFieldSet(entity))


class _Field(NamedTuple):
    """A field that a column names.

    Attributes:
        kind: What it holds.
        is_of_header: Whether it is a field of the header, and not of a vehicle.
        read: Returns what a message has there; None if it has nothing.
    """

    kind: str
    is_of_header: bool
    read: Callable[[Any], Any]

    def of(self, feed: Feed) -> list[Any]:
        """Return what the field is for each vehicle of a feed."""
        if self.is_of_header:
            return [self.read(feed.header)] * len(feed.vehicles)
        return [None if one is None else self.read(one) for one in feed.vehicles]


def _field(name: str, role: str | None) -> _Field:
    """Return the field of a name, for a role if one is given.

    Raises:
        BadInput: There is no such field, or it cannot have the role.
    """
    of_header = name.startswith(_OF_HEADER)
    message = (_types().header if of_header else _types().vehicle).DESCRIPTOR
    about = f'"{name}"' + (f" (columns.{called(role)})" if role else "")
    kind, read = _by_path(message, name.removeprefix(_OF_HEADER), about)
    kinds = _KINDS.get(role or "", _KINDS["user"])
    if role and kind not in kinds:
        raise BadInput(f"GTFS-Realtime has {kind} in {about}, which must be {' or '.join(kinds)}")
    return _Field(kind, of_header, read)


def _by_path(message: Any, path: str, about: str) -> tuple[str, Callable[[Any], Any]]:
    """Return the kind of a field of a message, and a function that reads it; None if the message does not have it."""
    first, _, rest = path.partition(".")
    field = message.fields_by_name.get(first)
    if field is None or field.is_repeated or bool(field.message_type) != bool(rest):
        known = ", ".join(sorted(one.name for one in message.fields if not one.is_repeated))
        raise BadInput(f'GTFS-Realtime has no value {about}; at "{first}" there are: {known}')
    if field.message_type is None:
        kind = _kind(field)
        plain = _text if kind == _TEXT else lambda number: number
        return kind, lambda one: plain(getattr(one, first)) if one.HasField(first) else None
    kind, inner = _by_path(field.message_type, rest, about)
    return kind, lambda one: inner(getattr(one, first)) if one.HasField(first) else None


def _kind(field: Any) -> str:
    if field.cpp_type == field.CPPTYPE_STRING:
        return _TEXT
    return _POINT if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE) else _WHOLE


def _text(written: str | bytes) -> str | None:
    """Return a text; None if it is empty, or is not in UTF-8 and therefore given as bytes."""
    return written or None if isinstance(written, str) else None


def _with_other_times(written: list[Any], field: _Field, feed: Feed, other: str) -> list[Any]:
    """Return the times of a feed's vehicles, from another field where a vehicle has none, or 0."""
    instead = _field(other, "time")
    if instead.kind != field.kind:
        raise BadInput(
            f'GTFS-Realtime has {instead.kind} in "{other}" (columns.time_else), and {field.kind} in the time'
        )
    return [own or at for own, at in zip(written, instead.of(feed), strict=True)]


def _column(role: str, kind: str, written: list[Any]) -> pa.Array:
    """Return what a feed has for a role. Any number of the field's type keeps its record: no value may end the day."""
    if kind == _TEXT:
        return pa.array(written, pa.string())
    if role not in _KINDS or role == "user":
        return pa.array([None if one is None else str(one) for one in written], pa.string())
    if role == "time":
        return pa.array([None if one is None or one > _LATEST else one for one in written], pa.int64())
    return pa.array([None if one is None else float(one) for one in written], pa.float64())


def _leaves(message: Any, before: str) -> Iterator[str]:
    for field in message.fields:
        if field.message_type is None and not field.is_repeated:
            yield before + field.name
        elif field.message_type is not None and not field.is_repeated:
            yield from _leaves(field.message_type, f"{before}{field.name}.")

"""Files of GTFS-Realtime: snapshots of a feed of vehicle positions."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.records.input_formats import gtfs_realtime, recognise
from tasks.records.input_formats.compressed import packed
from tasks.records.input_formats.incoming import keep_rows
from tasks.records.input_formats.input_format import Given, InputFormat, Left, Look, Merged, Snapshot
from tasks.records.input_formats.merged import merged_rows
from tasks.records.input_formats.thinning import MOST_RECORDS, evenly
from tasks.records.input_formats.times import N_LOOKED_AT, time_form

_FIELDS = {
    "user": ("vehicle.id", "vehicle.label", "vehicle.license_plate"),
    "time": ("timestamp", gtfs_realtime.TIME_OF_FEED),
}
"""What a feed may have for a role. The id of a trip is none of a vehicle: it changes with each trip."""


def _look(path: Path, _: Given) -> Look:
    feed = gtfs_realtime.read_feed(path)
    first = feed._replace(vehicles=feed.vehicles[:MOST_RECORDS])
    spread = feed._replace(vehicles=evenly(feed.vehicles, MOST_RECORDS))
    first_of, spread_of = partial(gtfs_realtime.column, first), partial(gtfs_realtime.column, spread)
    return Look(GTFS_REALTIME, gtfs_realtime.names(), first_of, spread_of)


def _read(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    return keep_rows(connection, path, "gtfs-rt", gtfs_realtime.positions(path, config), file, config)


def _merged(paths: Sequence[Path], _: Path, config: Config) -> list[Merged]:
    def rows(path: Path) -> tuple[Hashable, pa.Table]:
        positions = gtfs_realtime.positions(path, config)
        form = time_form(positions["time"].slice(0, N_LOOKED_AT).to_pylist(), config)
        return tuple(form.values()), positions

    return merged_rows("gtfs-rt", paths, rows)


def _refuse_absent_fields(files: Sequence[Path], looks: Sequence[Look], columns: Mapping[str, str]) -> None:
    """Refuse feeds in which no vehicle has what the columns name for the user or the time; no value is looked at.

    Raises:
        BadInput: So it is, and which other fields they have; or they have no vehicles but other contents.
    """
    if not any(look.column("timestamp") for look in looks):
        others = sorted(set().union(*(gtfs_realtime.contents(path) for path in files[: len(looks)])))
        if others:
            held = " and ".join(others)
            raise BadInput(
                f"{files[0]}: has no vehicle positions, only {held}; name files of a feed of VehiclePositions"
            )
        return
    for role, fields in _FIELDS.items():
        if _is_there(columns[role], looks):
            continue
        instead = [f"--{role} {name}" for name in fields if _is_there(name, looks)]
        lacking = f"it has none of {', '.join(fields)}, so it cannot be used"
        remedy = f"say {', or '.join(instead)}" if instead else lacking
        raise BadInput(f'{files[0]}: no vehicle in the feed has "{columns[role]}" ({role}); {remedy}')


def _is_there(name: str, looks: Sequence[Look]) -> bool:
    return any(one is not None for look in looks for one in look.column(name))


def _snapshot(_: bytes, whole: Callable[[], bytes]) -> Snapshot | None:
    return Snapshot(frozenset(), True) if gtfs_realtime.feed_of(whole()) else None


GTFS_REALTIME = InputFormat(
    name="gtfs-rt",
    endings=packed(".pb"),
    domain="in GTFS-Realtime any number of the field, or none",
    begins=lambda start: start.startswith(b"\n") and recognise.is_binary(start),  # field 1 is a message: the header
    look=_look,
    count=lambda path, _: len(gtfs_realtime.read_feed(path).vehicles),
    read=_read,
    merge=_merged,
    snapshot=_snapshot,
    refuse_columns=_refuse_absent_fields,
    holds_snapshots=True,
    time_else=gtfs_realtime.TIME_OF_FEED,
)

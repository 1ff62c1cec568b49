"""Says which fields of GTFS-Realtime can be named where a feed does not fill those that are usual."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.base.errors import BadInput
from tasks.records import gtfs_realtime
from tasks.records.looks import Look

_FIELDS = {
    "user": ("vehicle.id", "vehicle.label", "vehicle.license_plate"),
    "time": ("timestamp", "header.timestamp"),
}
"""What a feed may have for a role. The id of a trip is none of a vehicle: it changes with each trip."""


def refuse_absent_fields(files: Sequence[Path], looks: Sequence[Look], columns: Mapping[str, str]) -> None:
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

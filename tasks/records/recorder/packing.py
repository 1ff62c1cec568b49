"""Packing: one archive for the snapshots of each hour that is over, so that a year is thousands of files."""

import logging
import os
import tarfile
from collections import defaultdict
from pathlib import Path

import pyarrow as pa

from tasks.base.durable import flush_folder
from tasks.base.logs import warn
from tasks.records.input_formats.archives import PACK

_HOUR = len("2026-03-02T07")

log = logging.getLogger("hexveil.recorder")


class Packer:
    """Packs the hours that are over, when a new one begins."""

    def __init__(self) -> None:
        self._hour = ""

    def pack_before(self, newest: Path) -> None:
        """Pack the hours before that of the newest snapshot; if the disk does not take it, in the next hour."""
        if newest.name[:_HOUR] != self._hour:
            self._hour = newest.name[:_HOUR]
            try:
                pack_hours(newest)
            except OSError as error:
                warn(log, "snapshots stay unpacked", reason=os.strerror(error.errno or 0))


def pack_hours(newest: Path) -> int:
    """Pack the snapshots of hours before a snapshot's own, in its folder and the folder of the day before.

    An archive is whole before its snapshots are removed; a reader in between finds the same records twice, which is
    as good as once. The newest snapshot stays as it is: the recorder compares the next one with it.

    Args:
        newest: The newest snapshot.

    Returns:
        How many archives were written.
    """
    days = sorted(one for one in newest.parent.parent.glob("????-??-??") if one.is_dir() and one <= newest.parent)
    hours = defaultdict[tuple[Path, str, str], list[Path]](list)
    for day in days[-2:]:
        for path in sorted(day.glob("????-??-??T??-*Z.*")):
            if path.name[:_HOUR] < newest.name[:_HOUR]:
                hours[day, path.name[:_HOUR], path.name.partition("Z")[2]].append(path)
    for (day, hour, ending), snapshots in hours.items():
        _pack(day / f"{hour}{ending}{PACK}", snapshots)
    return len(hours)


def _pack(path: Path, snapshots: list[Path]) -> None:
    """Write an archive of snapshots, whole or not at all, and remove them; what it holds already stays in it."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.touch(mode=0o600)
    with pa.CompressedOutputStream(str(unfinished), "zstd") as packed, tarfile.open(fileobj=packed, mode="w|") as to:
        if path.exists():  # the recorder was killed before it had removed them
            _copy_others(path, {one.name for one in snapshots}, to)
        for one in snapshots:
            to.add(one, one.name)
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(path)
    flush_folder(path.parent)
    for one in snapshots:
        one.unlink()


def _copy_others(path: Path, names: set[str], to: tarfile.TarFile) -> None:
    with pa.CompressedInputStream(str(path), "zstd") as packed, tarfile.open(fileobj=packed, mode="r|") as before:
        for one in before:
            if one.name not in names:
                to.addfile(one, before.extractfile(one))

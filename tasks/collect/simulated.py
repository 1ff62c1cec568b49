"""Simulated devices, for the demo: they report by the same code as real ones. Their values come from their names."""

import hashlib
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from dpmath.local.device import round_of
from tasks.base.durable import write_whole
from tasks.collect.config import PERIOD_PLACEHOLDER, CollectionConfig
from tasks.device.parameters import RoundParameters
from tasks.device.report import as_line, drawn_report

_LARGEST = 1 << 16


def write_reports(n_devices: int, asked: RoundParameters, config: CollectionConfig) -> int:
    """Write the reports of all devices that answer a round, to one file; a file that is there stays.

    Args:
        n_devices: Devices, in all areas together.
        asked: The parameters of the round.
        config: Says where the reports are read, as ``.../{period}/*.jsonl``.

    Returns:
        How many reports the file has.
    """
    folder = config.folder / Path(config.collection.reports.replace(PERIOD_PLACEHOLDER, asked.period)).parent
    path = folder / f"round-{asked.round}.jsonl"
    if not path.exists():
        write_whole(path, "".join(_lines(n_devices, asked, config)).encode())
    return path.read_bytes().count(b"\n")


def simulated_ticks(device: str, area_number: int, asked: RoundParameters, config: CollectionConfig) -> list[int]:
    """Return a device's values: about a mean of its area, moved by a little for each device and for each value."""
    stream = hashlib.shake_256(device.encode())
    place, own = (int.from_bytes(stream.digest(4)[i : i + 2], "big") for i in (0, 2))
    bounds = list(accumulate(float(share) * _LARGEST for share in config.collection.shares))
    n = next((count for count, end in zip(config.collection.counts, bounds, strict=True) if place < end), 0)
    largest = asked.protocol.value_range
    middle = largest * (25 + 6 * (area_number % 7)) // 100 + largest * (own - _LARGEST // 2) // (10 * _LARGEST)
    moves = stream.digest(4 + n)[4:]
    return [min(max(middle + largest * (move - 128) // 1000, 0), largest) for move in moves]


def _lines(n_devices: int, asked: RoundParameters, config: CollectionConfig) -> Iterator[str]:
    areas = config.collection.areas
    for number in range(n_devices):
        device, at = f"device-{number:06}", number % len(areas)
        if round_of(asked.key, device) == asked.round and areas[at] in asked.bins:
            ticks = simulated_ticks(device, at, asked, config)
            yield as_line(drawn_report(asked, areas[at], device, ticks))

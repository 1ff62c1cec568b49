"""Many devices' reports of a period, written as files of lines: what a collector of a large city reads."""

import hashlib
from pathlib import Path

import numpy as np
from collections_of import Fleet, ballots, estimates

from tasks.device.parameters import RoundParameters

_BATCH = 500_000
_SEED = 20260302


def write_reports(n_devices: int, asked: RoundParameters, path: Path) -> int:
    """Write the reports of all devices that answer a round, as they would send them, and return how many there are.

    Args:
        n_devices: Devices of both rounds, in all areas together.
        asked: The parameters of the round.
        path: The file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    rng, n_written = np.random.default_rng(_SEED + asked.round), 0
    with path.open("wb") as file:
        for start in range(0, n_devices, _BATCH):
            numbers = np.arange(start, min(start + _BATCH, n_devices))
            numbers = numbers[_answers(numbers, asked)]
            lines = _lines(numbers, asked, rng)
            file.write("".join(lines).encode())
            n_written += len(lines)
    return n_written


def _answers(numbers: np.ndarray, asked: RoundParameters) -> np.ndarray:
    """Return which devices answer the round, by the hash that ``round_of`` takes."""
    key = f"{asked.key.hex()}:"
    odd = [hashlib.sha256(f"{key}device-{number:08}".encode()).digest()[0] & 1 for number in numbers]
    return np.array(odd) == asked.round - 1


def _lines(numbers: np.ndarray, asked: RoundParameters, rng: np.random.Generator) -> list[str]:
    areas = list(asked.bins)
    place = numbers % len(areas)
    size = asked.protocol.value_range
    means = np.clip(rng.normal(size * (0.3 + 0.05 * (place % 7)), size / 50), 0, size).astype(np.int64)
    fleet = Fleet(means, np.full(means.size, asked.protocol.effective_size))
    if asked.round == 1:
        said = ['"ballot": "' + "".join(row) + '"' for row in np.where(ballots(fleet, asked.protocol, rng), "1", "0")]
    else:
        said = [""] * numbers.size
        for at, found in enumerate(asked.bins.values()):
            mine = np.flatnonzero(place == at)
            for row, one in zip(mine, estimates(fleet.part(mine), found or 0, asked.protocol, rng), strict=True):
                said[row] = f'"estimate": {one}'
    head = f'", "collection": "{asked.collection}", "device": "device-'
    tail = f'"period": "{asked.period}", "round": {asked.round}}}\n'
    rows = zip(place.tolist(), numbers.tolist(), said, strict=True)
    if asked.round == 1:
        return [f'{{"area": "{areas[at]}", {one}{head[1:]}{number:08}", {tail}' for at, number, one in rows]
    return [f'{{"area": "{areas[at]}{head}{number:08}", {one}, {tail}' for at, number, one in rows]

"""The questions of a release as they were asked, with their noisy answers: stored, and read back."""

from pathlib import Path

import numpy as np

from dpmath.core.occupancy import Occupancy
from dpmath.estimate.bounded_sums import BoundedSums
from dpmath.estimate.law_layers import LARGEST, Layered, layered
from dpmath.estimate.measurement import Measurement, Norm
from dpmath.estimate.questions import Centre, Check, Measured, Question, Questions, Shrunk, Spread
from dpmath.estimate.taken import Read, Reading
from tasks.kinds.estimated.stored_arrays import Arrays, read_arrays, write_arrays

QUESTIONS = "questions"
"""What the file is called among those that stay with a release."""

_READING = "reading"
_OF_READING = ("share", "noise", "error")
_OF_CHECK = ("centre", "expected", "half_width", "of_pair")
_OF_MEASUREMENT = ("row", "centre", "weight", "loading", "radius")


def write_questions(folder: Path, questions: Questions, read: Read) -> str:
    """Write questions, their noisy answers and how they were read, and return the hash of the file.

    The file holds public numbers only. It stays private all the same, because it has a row for each user and cell.
    """
    arrays: Arrays = {
        f"{_READING}.{number}.{name}": np.array(getattr(one, name))
        for number, one in enumerate(read.readings)
        for name in _OF_READING
    } | {f"{_READING}.all.shocks": read.shocks}
    for number, (question, answers) in enumerate(questions):
        found = _arrays_of(question) | {"answers": np.array([int(one) for one in answers], dtype=np.int64)}
        arrays |= {f"{number}.{_name_of(question)}.{name}": array for name, array in found.items()}
    return write_arrays(folder, arrays)


def read_questions(folder: Path, name: str, occupancy: Occupancy, value_range: int, norm: Norm) -> Questions:
    """Return the questions of a release and their noisy answers.

    Args:
        folder: Where the file is.
        name: Its hash.
        occupancy: The occupancy array of the release.
        value_range: Largest value of a record, in ticks.
        norm: The norm of the balls.

    Raises:
        LedgerBroken: The file is missing or changed.
    """
    found: dict[tuple[int, str], Arrays] = {}
    for key, array in read_arrays(folder, name).items():
        number, kind, field = key.split(".")
        if number == _READING:
            continue
        found.setdefault((int(number), kind), {})[field] = array
    return [
        (_question(kind, arrays, occupancy, value_range, norm), arrays["answers"].astype(object))
        for (_, kind), arrays in sorted(found.items())
    ]


def read_readings(folder: Path, name: str) -> Read | None:
    """Return how the sums of a release were read; None if its version did not keep that.

    Raises:
        LedgerBroken: The file is missing or changed.
    """
    found = read_arrays(folder, name, f"{_READING}.")
    shocks = found.pop(f"{_READING}.all.shocks", None)
    if shocks is None:
        return None
    numbers = range(len(found) // len(_OF_READING))
    of_each = ([found[f"{_READING}.{number}.{field}"] for field in _OF_READING] for number in numbers)
    return Read(tuple(Reading(share, float(noise), error) for share, noise, error in of_each), shocks)


def _name_of(question: Question) -> str:
    return type(question).__name__.lower()


def _arrays_of(question: Question) -> Arrays:
    if isinstance(question, Layered):
        measurement, n_pairs = question.measurement, question.n_pairs
        numbers = (measurement.pair_shift, measurement.shift, measurement.inverse_scale)
        arrays = {name: getattr(measurement, name) for name in ("centre", "loading", "radius")}
        return arrays | {"weight": measurement.weight[:n_pairs], "table": question.table, "numbers": np.array(numbers)}
    if isinstance(question, Measured):
        measurement = question.measurement
        numbers = (measurement.pair_shift, measurement.shift, measurement.inverse_scale)
        return {name: getattr(measurement, name) for name in _OF_MEASUREMENT} | {"numbers": np.array(numbers)}
    if isinstance(question, Centre | Spread | Shrunk | Check):
        numbers = [question.sums.inverse_scale, *([question.centre] if isinstance(question, Spread) else [])]
        arrays: Arrays = {"limit": question.sums.limit, "numbers": np.array(numbers)}
        if isinstance(question, Check):
            arrays |= {name: getattr(question, name) for name in _OF_CHECK}
        return arrays
    raise TypeError(type(question).__name__)


def _question(kind: str, arrays: Arrays, occupancy: Occupancy, value_range: int, norm: Norm) -> Question:
    if kind == "measured":
        pair_shift, shift, inverse_scale = (int(number) for number in arrays["numbers"])
        row, centre, weight, loading, radius = (arrays[name] for name in _OF_MEASUREMENT)
        return Measured(
            Measurement(
                occupancy, row, value_range, centre, weight, pair_shift, loading, shift, radius, inverse_scale, norm
            )
        )
    if kind == "layered":
        layers = layered(occupancy, len(arrays["table"]))
        pair_shift, shift, inverse_scale = (int(number) for number in arrays["numbers"])
        weight = np.tile(arrays["weight"], len(arrays["table"]))
        centre, loading, radius = (arrays[name] for name in ("centre", "loading", "radius"))
        measurement = Measurement(
            layers, layers.cell, LARGEST, centre, weight, pair_shift, loading, shift, radius, inverse_scale, norm
        )
        return Layered(measurement, arrays["table"])
    sums = BoundedSums(arrays["limit"], int(arrays["numbers"][0]), norm)
    if kind == "shrunk":
        return Shrunk(sums)
    if kind == "check":
        return Check(sums, *(arrays[name] for name in _OF_CHECK))
    if kind == "centre":
        return Centre(sums, value_range)
    if kind != "spread":
        raise ValueError(kind)
    return Spread(sums, value_range, int(arrays["numbers"][1]))

"""What of the values could be read: told to the operator alone, in a private file, and to nobody else."""

import json
import os

import pytest
from support import DATE, ENGINES, HEADER, Dataset

from tasks.upkeep.forget import forget_days


def noted(dataset: Dataset) -> dict[str, object]:
    return json.loads((dataset.folder / "store" / "private" / "values" / f"{DATE}.json").read_bytes())


def write(dataset: Dataset, values: list[str]) -> None:
    rows = (f"bus{one},{DATE}T08:00:00Z,47.05,8.31,{value}\n" for one, value in enumerate(values))
    dataset.write("day.csv", HEADER + "".join(rows))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_private_file_says_how_many_values_could_be_read(dataset: Dataset) -> None:
    dataset.set(missing=[255])
    write(dataset, ["N/A", "", '"12,3"', "255", "-1", "30", "31", "101"])
    dataset.prepare()
    said = noted(dataset)
    assert (said["n_records"], said["n_read_as_numbers"], said["n_empty_unreadable_or_missing"]) == (8, 4, 4)
    assert (said["n_below_lower"], said["n_above_upper"]) == (1, 1)


def test_only_the_owner_can_read_it_and_it_is_forgotten_with_any_day(dataset: Dataset) -> None:
    write(dataset, ["N/A"] * 3)
    dataset.prepare()
    path = dataset.folder / "store" / "private" / "values" / f"{DATE}.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.parent.stat().st_mode & 0o777 == 0o700
    forget_days([DATE], dataset.config)
    assert not path.parent.exists()


@pytest.mark.quick(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_log_is_the_same_whatever_the_values_are(dataset: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    said = []
    for seconds, value in enumerate(["30", "N/A", "999"]):
        write(dataset, [value] * 3)
        os.utime(dataset.folder / "raw" / "day.csv", (seconds, seconds))
        caplog.clear()
        dataset.prepare()
        said.append(caplog.messages)
    assert said[0] == said[1] == said[2]
    assert any(line.endswith(f"private/values/{DATE}.json") for line in said[0])

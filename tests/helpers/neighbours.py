"""Datasets that differ in the values of one bus, and configurations by which each user is charged something."""

import datetime as dt
from typing import Any

from configurations import with_settings
from replayed import Replay
from support import CONFIG, DATE, HEADER, Dataset

from tasks.proposals.mechanisms import MECHANISMS

LATER = DATE + dt.timedelta(days=1)


def configured(mechanism: str, **settings: Any) -> str:
    """Return a configuration by a mechanism that charges each user something."""
    row = MECHANISMS[mechanism]
    needed = {"target_error": 40.0 if row.promises else None} | ({"cell_epsilon": 4.0} if row.needs else {})
    definition = "zcdp" if row.noise_by_definition else "pure"
    of_all = {"mechanism": mechanism, "definition": definition, "epsilon_per_day": 40.0, "epsilon_total": 130.0}
    return with_settings(CONFIG, **of_all | needed | settings)


def write_days(dataset: Dataset, is_other: bool) -> None:
    """Write two days of buses, and odd rows; the values of one bus are the least ones, or the largest."""
    lines = []
    for date in (DATE, LATER):
        for bus in range(12):
            for hour in (8, 9, 10):
                for minute in range(bus % 3, 60, 12):
                    speed = ("100" if is_other else "0") if bus == 3 else str(10 + (7 * bus + minute + hour) % 50)
                    place = f"{47.05 + 0.1 * ((bus + hour) % 3):.2f},8.31"
                    lines.append(f"bus{bus:02},{date}T{hour:02}:{minute:02}:00Z,{place},{speed}")
        lines += [
            lines[-1],
            f"bus03,{date}T11:00:00Z,0,0,{speed_of(is_other)}",
            f"bus04,soon,47.05,8.31,{30}",
            "bus03,1",
        ]
    dataset.write("days.csv", HEADER + "\n".join(lines) + "\n")


def speed_of(is_other: bool) -> str:
    return "N/A" if is_other else "50"


def check(replay: Replay) -> None:
    """Check that nothing differs, and that there was something to be told."""
    assert replay.differences == []
    assert replay.losses
    assert all(moved > 0 for moved, _ in replay.losses)

"""Of two runs over values that differ in one user's, with the same noise, nothing differs but noisy sums.

So what nobody has paid for is told by nothing: no line, file, size, count, choice, message or exit code.
"""

import datetime as dt
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzzing import FEEDS, draw_case, draw_feed, feed_settings
from neighbours import LATER, check, configured, write_days
from replayed import Auditor
from support import DATE, ENGINES, HEADER, OF_SUMS, Dataset, Say, slow

from tasks.proposals.mechanisms import PROMISING

DAYS = (
    ("plan", "--date", DATE),
    ("run", "--date", DATE, "--verbose"),
    ("run", "--date", DATE),
    ("run", "--date", LATER, "--json"),
    ("ledger verify",),
)
EVERYTHING = (
    ("explore", "--date", DATE),
    ("plan", "--date", DATE, "--cells"),
    ("plan", "--date", DATE, "--compare"),
    ("plan", "--date", DATE, "--year", "--json"),
    *DAYS,
    ("run", "--date", DATE, "--revision", "again"),
    ("ledger show",),
    ("ledger show", "--json"),
    ("ledger export",),
    ("ledger head",),
    ("backup", "--to", Path("copy")),
    ("forget", "--date", DATE, "--yes"),
    ("run", "--date", LATER, "--revision", "dear"),
    ("backfill", "--from", DATE, "--to", LATER + dt.timedelta(days=1)),
    ("ledger verify", "--json"),
)
FORMATS = [("csv", 5), ("parquet", 6), slow("ndjson.gz", 6), slow("csv.gz", 7), slow("ndjson", 8), slow("json", 9)]


def of_cases(mechanism: str, engine: str = "", **settings: Any) -> str:
    """Return a configuration for files with many unusable rows."""
    coarse = {"h3_resolution": 3, "slot_minutes": 1440, "max_quarantined_share": 1}
    return configured(mechanism, **coarse, **settings) + engine


Make = Callable[..., Auditor]


@pytest.mark.parametrize("definition", ["zcdp", slow("pure")])
def test_of_two_estimated_days_nothing_else_differs(definition: str, auditor: Make, say: Say) -> None:
    replay = auditor(configured("estimated", definition=definition)).replay(write_days, *DAYS)
    check(replay)
    assert len(replay.losses) == 2
    parts = {name.partition(":")[0] if ":" in name else name.split("/")[0] for name in replay.first}
    say(f"{len(replay.first)} outputs of a replayed run ({definition}) were the same, in {len(parts)} places")


@pytest.mark.quick(1)
@pytest.mark.parametrize("mechanism", [name if name in ("planned", "quantile") else slow(name) for name in OF_SUMS])
@pytest.mark.parametrize("definition", ["pure", slow("zcdp")])
def test_of_a_day_by_each_mechanism_nothing_else_differs(mechanism: str, definition: str, auditor: Make) -> None:
    variance = {"variance": True, "epsilon_per_day": 80.0} if mechanism in PROMISING else {}
    text = configured(mechanism, definition=definition, map=mechanism == "levy", **variance)
    check(auditor(text).replay(write_days, *DAYS[1:2]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "definition", "engine"),
    [("estimated", "zcdp", ""), ("planned", "pure", ""), ("quantile", "zcdp", ""), ("estimated", "zcdp", ENGINES[1])],
)
def test_whatever_is_asked_of_a_dataset_nothing_else_differs(
    mechanism: str, definition: str, engine: str, auditor: Make
) -> None:
    """The budget ends before the commands do, so that refusals are compared too."""
    replay = auditor(configured(mechanism, definition=definition) + engine).replay(write_days, *EVERYTHING)
    check(replay)
    codes = [text for name, text in replay.first.items() if name.endswith(": code")]
    assert {*codes} == {b"0", b"1"}


@pytest.mark.quick(1)
@pytest.mark.parametrize(("form", "seed"), FORMATS)
@pytest.mark.parametrize("engine", [ENGINES[0], slow(ENGINES[1])])
def test_values_of_any_form_are_told_by_nothing(form: str, seed: int, engine: str, auditor: Make) -> None:
    cases = (draw_case(number, form, n_buses=10) for number in itertools.count(seed, 100))
    case = next(one for one in cases if one.n_changed > 100)

    def write(dataset: Dataset, is_other: bool) -> None:
        dataset.write(case.name, case.changed if is_other else case.plain)

    replay = auditor(of_cases("estimated", engine), user="bus3").replay(write, DAYS[1])
    check(replay)


@pytest.mark.slow
@pytest.mark.parametrize("odd", FEEDS)
@pytest.mark.parametrize("engine", ENGINES)
def test_values_of_any_snapshot_are_told_by_nothing(odd: str, engine: str, auditor: Make) -> None:
    case = draw_feed(11, odd)
    text = of_cases("estimated", engine)
    before, _, after = text.partition("[columns]\n")
    text = before + feed_settings(odd) + after[after.index("[value]") :]

    def write(dataset: Dataset, is_other: bool) -> None:
        dataset.write(case.name, case.changed if is_other else case.plain)

    assert auditor(text, user="bus3").replay(write, DAYS[1]).differences == []


@pytest.mark.quick(1)
@pytest.mark.parametrize("mechanism", ["estimated", slow("planned"), slow("levy")])
@pytest.mark.parametrize("is_stopped", [False, True])
def test_of_a_screened_day_only_the_noisy_count_tells(mechanism: str, is_stopped: bool, auditor: Make) -> None:
    """Of a day that is stopped nothing else of the draw may be left, so the rest of it is not made alike here."""

    def write(dataset: Dataset, is_other: bool) -> None:
        lines = [
            f"bus{bus:02},{DATE}T{hour:02}:{minute:02}:00Z,47.05,8.31,{'N/A' if unread else 20 + bus + minute}"
            for bus in range(24)
            for unread in [(is_other and bus == 3) or (is_stopped and bus > 4)]
            for hour in (8, 9)
            for minute in (5, 25, 50)
        ]
        dataset.write("day.csv", HEADER + "\n".join(lines) + "\n")

    text = configured(mechanism, screen=True, epsilon_per_day=4000.0, epsilon_total=9000.0)
    replay = auditor(text, only_counts=is_stopped).replay(write, DAYS[1], DAYS[2], ("ledger verify",))
    assert replay.first["0 run: code"] == (b"1" if is_stopped else b"0")
    check(replay)

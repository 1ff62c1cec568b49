"""A day that cannot be read is stopped for the operator too: message, the ledger's table, a range that goes on."""

import datetime as dt
import json
import re
import subprocess

import pytest
from screened import N_BUSES, screen, write_day
from support import DATE, Dataset, Hexveil

from tasks.account import ledger

DATES = [DATE + dt.timedelta(days=number) for number in range(3)]


@pytest.fixture
def week(dataset: Dataset) -> Dataset:
    """Return three days, of which the second cannot be read, and a budget for exactly three days."""
    screen(dataset, "pure", "clip-user", total="1200")
    for number, date in enumerate(DATES):
        write_day(dataset, N_BUSES * (number == 1), date)
    return dataset


def kinds(dataset: Dataset) -> list[str]:
    return [entry.kind for entry in ledger.read_entries(dataset.config)]


def told(ended: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines of an answer, without those of steps, which have seconds."""
    return [line for line in ended.stderr.splitlines() if not re.search(r"\d s$", line)]


def test_a_run_says_why_it_stopped_and_the_ledger_shows_it(week: Dataset, hexveil: Hexveil) -> None:
    day = ("run", "--config", week.config_file, "--date", DATES[1])
    stopped = hexveil(*day)
    assert stopped.returncode != 0
    assert "is stopped before the rest of its budget is spent. Of 24 users, about" in stopped.stderr.replace("\n", " ")
    assert told(hexveil(*day)) == told(stopped)
    assert kinds(week) == ["stopped"]
    shown = hexveil("ledger", "show", "--config", week.config_file).stdout
    assert f"test-{DATES[1]}-h3r7-60min-mean-stopped-1" in shown
    assert hexveil("ledger", "verify", "--config", week.config_file).returncode == 0
    week.set(screen=False)
    assert hexveil(*day).returncode == 0
    assert kinds(week) == ["stopped", "release"]


@pytest.mark.slow
@pytest.mark.quick(1)
@pytest.mark.parametrize("options", [(), ("--spread",)], ids=["in full", "spread"])
def test_a_backfill_goes_on_and_is_run_again_at_no_cost(
    week: Dataset, hexveil: Hexveil, options: tuple[str, ...]
) -> None:
    if options:
        week.set(epsilon_total=1000)
    days = ("backfill", "--config", week.config_file, "--from", DATES[0], "--to", DATES[-1], *options)
    first = hexveil(*days)
    assert "1 of 3 days have problems" in first.stderr
    assert f"{DATES[1]} is stopped" in first.stderr
    assert kinds(week) == ["release", "stopped", "release"]
    line = ledger.ledger_path(week.config).read_bytes()
    again = hexveil(*days)
    assert f"{DATES[1]} is stopped" in again.stderr
    assert ledger.ledger_path(week.config).read_bytes() == line
    assert hexveil("ledger", "verify", "--config", week.config_file).returncode == 0
    asked = {json.loads(one)["settings"]["privacy"]["epsilon_per_day"] for one in line.splitlines()}
    assert len(asked) == 1


@pytest.mark.slow
def test_a_mended_day_of_a_spread_range_is_asked_anew_within_the_budget(week: Dataset, hexveil: Hexveil) -> None:
    week.set(epsilon_total=1000)
    days = ("backfill", "--config", week.config_file, "--from", DATES[0], "--to", DATES[-1], "--spread")
    hexveil(*days)
    write_day(week, 0, DATES[1])
    week.set(missing=[255])
    again = hexveil(*days)
    assert again.returncode == 0, again.stderr
    assert kinds(week) == ["release", "stopped", "release", "release"]
    assert hexveil("ledger", "verify", "--config", week.config_file).returncode == 0

"""The commands that help to choose settings: what they show, write and refuse."""

import json
from pathlib import Path

import pytest
from support import DATE, HEADER, Dataset, Hexveil

from tasks.account import ledger


def test_the_command_shows_a_table_a_picture_and_json(roaming: Dataset, hexveil: Hexveil, tmp_path: Path) -> None:
    asked = ("explore", "--config", roaming.config_file, "--date", DATE, "--resolution", 7, "--slot", 60, "--slot", 120)
    shown = hexveil(*asked, "--epsilon", "0.001", "--epsilon", 4)
    assert shown.returncode == 0, shown.stderr
    assert " x " in shown.stdout
    assert "how much values differ is what is usual" in shown.stdout
    assert "Nothing was spent." in shown.stdout
    assert (roaming.folder / "store" / "explored" / f"{DATE}.png").read_bytes().startswith(b"\x89PNG")
    drawn = hexveil(*asked, "--epsilon", 4, "--picture", tmp_path / "one.svg", "--json")
    choices = json.loads(drawn.stdout)["choices"]
    assert [one["slot_minutes"] for one in choices] == [60, 120]
    assert "<svg" in (tmp_path / "one.svg").read_text()
    assert "must end in one of .png" in hexveil(*asked, "--picture", tmp_path / "one.gif").stderr
    assert "--slot 7 must divide a day" in hexveil(*asked, "--slot", 7).stderr
    assert ledger.read_entries(roaming.config) == []


@pytest.mark.slow
def test_it_says_what_screening_takes_and_that_a_cluster_s_day_is_read_here(roaming: Dataset, hexveil: Hexveil) -> None:
    roaming.set(screen=True)
    roaming.set(n_shards=2, engine={"name": "dask"})
    asked = ("explore", "--config", roaming.config_file, "--date", DATE, "--resolution", 7, "--slot", 60)
    some = hexveil(*asked, "--epsilon", 2, "--epsilon", 300)
    assert some.returncode == 0, some.stderr
    nothing = "At epsilon 2 value.screen takes nothing: its count could tell nothing of so few users."
    assert f"value.screen takes a hundredth of epsilon at epsilon 300. {nothing}" in some.stdout
    assert "so the day was read once more here, with the local engine" in some.stdout
    alone = hexveil(*asked, "--epsilon", 2).stdout
    assert nothing in alone
    assert "takes a hundredth" not in alone
    choices = json.loads(hexveil(*asked, "--epsilon", 2, "--epsilon", 300, "--json").stdout)["choices"]
    assert [one["is_screened"] for one in choices] == [False, True]
    assert not (roaming.folder / "store" / "private" / "warehouse.duckdb").exists()


@pytest.mark.slow
def test_a_promise_of_nothing_is_no_better_than_a_constant(roaming: Dataset, hexveil: Hexveil) -> None:
    roaming.set(mechanism="planned", target_error=0.5)
    asked = ("explore", "--config", roaming.config_file, "--date", DATE, "--resolution", 7, "--slot", 60)
    shown = hexveil(*asked, "--epsilon", 0.001, "--json")
    (choice,) = json.loads(shown.stdout)["choices"]
    assert (choice["error_over_all_records"], choice["share_within_target"]) == (50, 0)
    assert choice["worse_than_constant"]
    assert " 50 0% x " in hexveil(*asked, "--epsilon", 0.001).stdout


def test_a_day_that_cannot_be_explored_is_said(roaming: Dataset, hexveil: Hexveil) -> None:
    asked = ("explore", "--config", roaming.config_file, "--resolution", 7, "--slot", 60)
    absent = hexveil(*asked, "--date", "2026-02-01")
    assert "2026-02-01 has no valid records; the files hold" in absent.stderr
    roaming.set(files=["raw/{date}.csv"])
    assert "no file for 2026-02-01 matches dataset.files" in hexveil(*asked, "--date", "2026-02-01").stderr
    roaming.write(f"{DATE}.csv", HEADER)
    assert f"{DATE} has no valid records; the files hold no readable day" in hexveil(*asked, "--date", DATE).stderr
    roaming.write(f"{DATE}.csv", f"{HEADER}b1,{DATE}T08:00:00Z,47.0,8.3,9\n")
    one = hexveil(*asked, "--date", DATE, "--epsilon", 2)
    assert one.returncode == 0, one.stderr
    assert " x " in one.stdout


def test_a_picture_that_cannot_be_written_is_said_before_the_work(roaming: Dataset, hexveil: Hexveil) -> None:
    asked = ("explore", "--config", roaming.config_file, "--date", DATE, "--picture")
    folder = roaming.folder / "a.png"
    folder.mkdir()
    assert "cannot be written: name a file in a folder that you may write to" in hexveil(*asked, folder).stderr
    inside = roaming.config_file / "a.png"
    assert f"{roaming.config_file} is a file and no folder; name another place" in hexveil(*asked, inside).stderr
    assert not (roaming.folder / "store" / "private").exists()

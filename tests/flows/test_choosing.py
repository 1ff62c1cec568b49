"""The commands that help to choose settings: what they show, write and refuse."""

import json
from pathlib import Path

from support import DATE, Dataset, Hexveil

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


def test_it_says_what_screening_takes_and_that_a_cluster_s_day_is_read_here(roaming: Dataset, hexveil: Hexveil) -> None:
    roaming.set("tick = 0.01", "tick = 0.01\nscreen = true")
    roaming.set("[storage]", '[engine]\nname = "dask"\nn_shards = 2\n[storage]')
    asked = ("explore", "--config", roaming.config_file, "--date", DATE, "--resolution", 7, "--slot", 60)
    some = hexveil(*asked, "--epsilon", 2, "--epsilon", 300)
    assert some.returncode == 0, some.stderr
    assert "value.screen takes a hundredth at epsilon 300: where its count could tell anything" in some.stdout
    assert "so the day was read once more here, with the local engine" in some.stdout
    assert "takes a hundredth at none of these epsilons" in hexveil(*asked, "--epsilon", 2).stdout
    choices = json.loads(hexveil(*asked, "--epsilon", 2, "--epsilon", 300, "--json").stdout)["choices"]
    assert [one["is_screened"] for one in choices] == [False, True]
    assert not (roaming.folder / "store" / "private" / "warehouse.duckdb").exists()

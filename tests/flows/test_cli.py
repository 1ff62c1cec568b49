import json
import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest
from support import CLIP_USER, DATE, HEADER, Dataset, Hexveil, later_day

from tasks.account import ledger

ROOT = Path(__file__).parents[2]
HEAVY = (
    *("apprise", "bokeh", "duckdb", "frictionless", "fsspec", "google.protobuf", "h3", "h3ronpy", "httpx"),
    *("matplotlib", "pandas", "pandera", "polars", "prefect", "pyarrow", "rdflib", "scipy", "tzfpy"),
)
STEP_LINES = f"""\
ingest test {DATE} 288 rows seconds
validate test {DATE} 288 kept seconds
occupancy test {DATE} 24 pairs seconds
plan test {DATE} 2 cells total, 2 cells published seconds
release test {DATE} 2 cells seconds
publish test-{DATE}-h3r7-60min-mean 5 files seconds
"""


def test_help_explains_every_command(hexveil: Hexveil) -> None:
    whole = hexveil("--help")
    assert whole.returncode == 0
    for command in ("demo", "run", "plan", "ledger"):
        assert re.search(rf"\b{command}\b", whole.stdout)
        assert hexveil(command, "--help").returncode == 0


def test_the_version_is_said_and_shells_can_complete(hexveil: Hexveil) -> None:
    assert hexveil("--version").stdout == f"hexveil {version('hexveil')}\n"
    assert "--install-completion" in hexveil("--help").stdout


def test_help_and_a_configuration_load_no_heavy_library(environment: dict[str, str], busy_dataset: Dataset) -> None:
    code = (
        "import sys, pathlib, flows.cli, tasks.base.config as c\n"
        f"c.load_config(pathlib.Path({str(busy_dataset.config_file)!r}))\n"
        "print(*sorted(set(sys.argv[1:]) & sys.modules.keys()))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, *HEAVY], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout == "\n"


def test_a_day_is_run_again_shown_verified_and_exported(
    process: Hexveil, hexveil: Hexveil, busy_dataset: Dataset
) -> None:
    busy_dataset.set(**CLIP_USER)
    where = ("--config", busy_dataset.config_file)
    first = process("run", *where, "--date", DATE)
    assert first.returncode == 0, first.stderr
    assert re.sub(r" +", " ", re.sub(r"\d+\.\d s$", "seconds", first.stderr, flags=re.MULTILINE)) == STEP_LINES
    assert "288 read = 288 kept + 0 quarantined" in first.stdout
    assert "2 published, 0 withheld" in first.stdout
    assert "  budget     epsilon 5.0 pays 1 more day like this\n" in first.stdout
    before = {path: path.read_bytes() for path in busy_dataset.published(".").iterdir()}
    again = hexveil("run", *where, "--date", DATE)
    assert again.stdout == first.stdout
    assert {path: path.read_bytes() for path in busy_dataset.published(".").iterdir()} == before
    busy_dataset.write("late.csv", HEADER + f"bus90,{DATE}T08:01:30Z,47.05,8.31,12\n")
    late = f"  late       1 records of {DATE} came after its release; they change nothing\n"
    assert hexveil("run", *where, "--date", DATE).stdout == first.stdout.rstrip("\n") + f"\n{late}\n"
    bad = busy_dataset.write("bad.csv", "")
    for command in (("run", "--date", DATE), ("backfill", "--from", DATE, "--to", DATE)):
        said = hexveil(*command, *where).stdout
        assert late in said
        assert f"  late       records in a file that cannot be read were not counted: {bad}: " in said
    bad.unlink()
    assert {path: path.read_bytes() for path in busy_dataset.published(".").iterdir()} == before
    shown = hexveil("ledger", "show", *where).stdout
    assert "test-2026-01-15-h3r7-60min-mean" in shown
    assert "The budget, epsilon 5.0, pays 1 more day in full, at 2.0 a day" in shown
    assert "1 releases: chain, losses, sums and published files agree" in hexveil("ledger", "verify", *where).stdout
    head = busy_dataset.folder / "head"
    head.write_text(hexveil("ledger", "head", *where).stdout)
    assert head.read_text().startswith("hexveil/test\n1\n")
    assert hexveil("ledger", "verify", *where, "--expect", head).returncode == 0
    assert "was rewritten since" in hexveil("ledger", "verify", *where, "--expect", f"1:{'0' * 64}").stderr
    as_json = {
        words: json.loads(hexveil(*words, *where, *rest, "--json").stdout)
        for words, rest in ((("run",), ("--date", DATE)), (("ledger", "show"), ()), (("ledger", "verify"), ()))
    }
    assert as_json[("run",)]["release_id"] == "test-2026-01-15-h3r7-60min-mean"
    assert as_json[("run",)]["n_more_like_it"] == as_json[("ledger", "show")]["budget"]["n_days_left"] == 1
    assert [one["number"] for one in as_json[("ledger", "show")]["entries"]] == [1]
    assert (as_json[("ledger", "verify")]["verified"], as_json[("ledger", "verify")]["n_releases"]) == (True, 1)
    exported = hexveil("ledger", "export", *where).stdout
    assert [json.loads(line) for line in exported.splitlines()] == [
        one.stated for one in ledger.read_entries(busy_dataset.config)
    ]


def test_a_failing_step_has_a_line_and_the_end_says_what_to_do(hexveil: Hexveil, busy_dataset: Dataset) -> None:
    (busy_dataset.folder / "raw" / "day.csv").unlink()
    done = hexveil("run", "--config", busy_dataset.config_file, "--date", DATE)
    *_, failed, said = done.stderr.splitlines()
    assert re.fullmatch(rf"ingest test {DATE} +FAILED +\d\.\d s", failed)
    assert "run the day again once the file is there" in said


@pytest.mark.slow
def test_a_backfill_shows_each_step_of_each_day(hexveil: Hexveil, busy_dataset: Dataset) -> None:
    days = [DATE, later_day(busy_dataset, 1)]
    done = hexveil("backfill", "--config", busy_dataset.config_file, "--from", days[0], "--to", days[1])
    assert done.returncode == 0, done.stderr
    lines = [re.sub(r"  +.*", "", line) for line in done.stderr.splitlines()]
    prepared = [f"{name} test {day}" for day in days for name in ("validate", "occupancy")]
    released = [line for day in days for line in (f"release test {day}", f"publish test-{day}-h3r7-60min-mean")]
    assert [line for line in lines if line in prepared] == prepared
    assert [line for line in lines if line in released] == released
    assert re.search(r"^plan the days of test +2 days +\d+\.\d s$", done.stderr, re.MULTILINE)


@pytest.mark.slow
def test_the_bench_tells_a_day_from_its_start(environment: dict[str, str], busy_dataset: Dataset) -> None:
    command = [sys.executable, "-m", "tests.bench.whole", str(busy_dataset.config_file), str(DATE)]
    began = time.perf_counter()
    run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert 0 < float(run.stdout.split()[-1]) < time.perf_counter() - began
    assert "288 read = 288 kept" in run.stdout
    assert len(ledger.read_entries(busy_dataset.config)) == 1


def test_a_plan_is_shown_as_a_table_and_as_json_and_spends_nothing(hexveil: Hexveil, busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER)
    where = ("--config", busy_dataset.config_file, "--date", DATE)
    plan = json.loads(hexveil("plan", *where, "--json").stdout)
    assert plan["cells_published"] == 2
    assert plan["cells_total"] == 2
    assert plan["mechanism"] == "clip-user"
    assert float(plan["epsilon"]) == pytest.approx(2)
    table = hexveil("plan", *where).stdout
    assert "Nothing was spent" in table
    compared, _, _ = hexveil("plan", *where, "--compare").stdout.rpartition("Errors are")
    assert 60 < max(map(len, compared.splitlines())) <= 100
    assert plan["plan_hash"] in table
    assert ledger.read_entries(busy_dataset.config) == []


def test_a_looser_budget_is_refused_until_it_is_amended_after_asking(hexveil: Hexveil, busy_dataset: Dataset) -> None:
    where = ("--config", busy_dataset.config_file)
    busy_dataset.run_day()
    busy_dataset.set(epsilon_total=9.0)
    tomorrow = later_day(busy_dataset, 1)
    planned = hexveil("plan", *where, "--date", tomorrow).stdout
    assert "A run would be refused: [budget] is looser than the budget in force" in planned
    assert json.loads(hexveil("plan", *where, "--date", tomorrow, "--json").stdout)["refused"]
    assert "[budget] is looser" in hexveil("run", *where, "--date", tomorrow).stderr
    amend = ("ledger", "amend-budget", *where, "--reason", "[bold]a decision[/bold]")
    asked = hexveil(*amend)
    assert asked.returncode == 1
    assert "now   epsilon 5.0 over everything ever released\n  then  epsilon 9.0 over" in asked.stdout
    assert "Let every user lose more" in asked.stdout
    assert len(ledger.read_entries(busy_dataset.config)) == 1
    assert "Entry 2 of the ledger says so" in hexveil(*amend, "--yes").stdout
    assert hexveil("run", *where, "--date", tomorrow).returncode == 0
    shown = hexveil("ledger", "show", *where).stdout
    assert re.search(r"2 +the budget: 5\.0 -> 9\.0", shown)
    assert "the budget was loosened from 5.0 to 9.0: [bold]a decision[/bold]" in shown


@pytest.mark.slow
def test_another_definition_is_refused_and_the_account_is_described_to_a_registry(
    hexveil: Hexveil, busy_dataset: Dataset, tmp_path: Path
) -> None:
    where = ("--config", busy_dataset.config_file)
    busy_dataset.set(epsilon_total=40.0)
    year = hexveil("plan", *where, "--date", DATE, "--year")
    assert "72.6404" in year.stdout
    assert "Losses are epsilon, of one user. Nothing was spent." in year.stdout
    assert [row["days"] for row in json.loads(hexveil("plan", *where, "--date", DATE, "--year", "--json").stdout)] == [
        1,
        7,
        28,
        365,
    ]
    assert "give one of" in hexveil("plan", *where, "--date", DATE, "--year", "--cells").stderr
    busy_dataset.set(definition="zcdp")
    hexveil("run", *where, "--date", DATE)
    busy_dataset.set(definition="pure")
    tomorrow = later_day(busy_dataset, 1)
    refused = hexveil("run", *where, "--date", tomorrow)
    assert (refused.returncode, 'definition = "zcdp" and delta = 0.000001' in refused.stderr) == (1, True)
    looked = hexveil("ledger", "show", *where)
    assert "Everything released so far together is (2, 1e-6)-DP for each user, if its amounts" in looked.stdout
    assert "The promise is the limit: each user loses at most (40, 1e-6)-DP" in looked.stdout
    assert "Nothing can be released now: the ledger counts losses in zCDP at delta 0.000001" in looked.stdout
    busy_dataset.set(definition="zcdp")
    run = hexveil("run", *where, "--date", tomorrow)
    assert run.returncode == 0, run.stderr
    assert "guarantee  each user, all values of the day: (2, 1e-6)-DP; everything released so far" in run.stdout
    assert "2 releases" in hexveil("ledger", "verify", *where).stdout
    written = hexveil("ledger", "registry", *where, "--to", tmp_path / "registry")
    assert written.returncode == 0, written.stderr
    registry = json.loads((tmp_path / "registry" / "registry.json").read_text())
    assert registry["privacy_guarantee"]["delta"] == "0.000001"
    assert "| Delta | 0.000001 |" in (tmp_path / "registry" / "registry.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--config", "absent.toml", "--date", "2026-01-15"), "absent.toml: cannot be read"),
        (("plan", "--config", "absent.toml", "--date", "2026-01-15"), "absent.toml: cannot be read"),
        (("run", "--config", "absent.toml", "--date", "15.1.2026"), "does not match the format"),
        (("run",), "--config"),
        (("ledger", "verify", "--config", "absent.toml"), "absent.toml: cannot be read"),
    ],
)
def test_wrong_arguments_are_named_and_the_exit_code_is_not_zero(
    hexveil: Hexveil, arguments: tuple[str, ...], said: str
) -> None:
    ended = hexveil(*arguments)
    assert ended.returncode != 0
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_day_that_fails_says_why_spends_nothing_and_leaves_nothing_published(
    hexveil: Hexveil, dataset: Dataset
) -> None:
    dataset.write("a.csv", HEADER + f"bus1,{DATE}T08:00:00Z,0,0,30\n")
    ended = hexveil("run", "--config", dataset.config_file, "--date", DATE)
    assert ended.returncode == 1
    assert "\nhexveil: 2026-01-15 has no valid records (1 place_zero)" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ledger.read_entries(dataset.config) == []
    assert not (dataset.folder / "store" / "published").exists()


@pytest.mark.slow
def test_a_whole_day_of_the_city_is_published_as_the_demo_does(hexveil: Hexveil, city: Path, tmp_path: Path) -> None:
    text = (ROOT / "deploy" / "config" / "demo.toml").read_text()
    config_file = tmp_path / "demo.toml"
    config_file.write_text(
        text.replace("../../var/demo/raw", str(city)).replace("../../var/demo/store", str(tmp_path / "store"))
    )
    ended = hexveil("run", "--config", config_file, "--date", "2026-03-02")
    assert ended.returncode == 0, ended.stderr
    for reason in ("duplicate", "malformed_row", "no_user", "place_zero", "time_unreadable", "time_outside_day"):
        assert reason in ended.stdout

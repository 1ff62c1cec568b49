"""Without a server nothing of Prefect is there, and a run is the same as with one."""

import fcntl
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from deployed import free_ports
from prefect_api import asked
from processes import listening
from support import CLIP_USER, DATE, Dataset, Hexveil, later_day, slow

from flows import daily, services
from flows.services import LocalServices
from tasks.account import ledger
from tasks.base import steps
from tasks.base.errors import HexveilError

ROOT = Path(__file__).parents[2]
DRIVER = """
import atexit, datetime, os, sys
from pathlib import Path
atexit.register(lambda: Path(os.environ["NOTE"]).write_text("\\n".join(sys.modules)))
from flows import cli, demonstrating, options
options.VAR = demonstrating._BUSES = Path(os.environ["DEMO"])
demonstrating._DATES = demonstrating._DATES[:1]
cli.main()
"""
MADE_ANEW = ("hash", "previous_hash", "files", "intended_at", "committed_at", "attempt")
STEPS = (
    "find test 2026-01-15",
    "ingest test 2026-01-15",
    "validate test 2026-01-15",
    "occupancy test 2026-01-15",
    "plan test 2026-01-15",
    "release test 2026-01-15",
    "publish test-2026-01-15-h3r7-60min-mean",
    "late records test 2026-01-15",
    "event of test 2026-01-15",
    "artifact of test 2026-01-15",
    "budget of test",
)
COUNTED = list(STEPS[1:7])
"""The steps that have a line on standard error; that of the budget's picture has one where there is a server."""


def test_the_search_finds_a_process_that_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert server.getsockname()[1] in listening(os.getpid())


def watched(arguments: list[str], environment: dict[str, str], folder: Path) -> tuple[set[int], set[str], str]:
    """Run a command; return where it listened meanwhile, the modules it had at its end, and what it printed."""
    named = {"NOTE": folder / "modules", "DEMO": folder, "PREFECT_HOME": folder / "prefect"}
    there = environment | {name: str(path) for name, path in named.items()}
    command = [sys.executable, "-c", DRIVER, *arguments]
    heard: set[int] = set()
    with subprocess.Popen(command, env=there, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None:
            heard |= listening(process.pid)
            time.sleep(0.1)
        out, said = process.communicate()
    assert process.returncode == 0, said
    assert all(re.search(r" \d+\.\d s$", line) for line in said.decode().splitlines()), said
    return heard, set((folder / "modules").read_text().splitlines()), out.decode()


@pytest.mark.parametrize("command", ["run", slow("backfill"), slow("demo")])
def test_without_a_server_nothing_listens_and_prefect_is_not_even_imported(
    command: str, environment: dict[str, str], busy_dataset: Dataset, tmp_path: Path
) -> None:
    where = ["--config", str(busy_dataset.config_file)]
    tomorrow = str(later_day(busy_dataset, 1))
    arguments = {"run": [*where, "--date", str(DATE)], "backfill": [*where, "--from", str(DATE), "--to", tomorrow]}
    heard, modules, printed = watched([command, *arguments.get(command, [])], environment, tmp_path)
    assert heard == set()
    roots = {name.partition(".")[0] for name in modules}
    assert {"flows", "tasks", "duckdb"} <= roots
    assert roots & {"prefect", "prefect_dask", "distributed", "matplotlib", "uvicorn"} == set()
    assert not (tmp_path / "prefect").exists()
    assert "published" in printed or "2 of 2 days are released" in printed


def with_key(dataset: Dataset) -> None:
    """Give a dataset the key that users are hashed with, since plans name users by it."""
    private = dataset.folder / "store" / "private"
    private.mkdir(parents=True)
    (private / "user-key").write_bytes(bytes(range(32)))


def run_day(dataset: Dataset, environment: dict[str, str]) -> str:
    command = [sys.executable, "-m", "flows.cli", "run", "--config", str(dataset.config_file), "--date", str(DATE)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert [line.partition("  ")[0] for line in done.stderr.splitlines() if "budget" not in line] == COUNTED
    return done.stdout


@pytest.mark.slow
def test_a_day_is_the_same_as_a_flow_run_and_without_a_server(
    environment: dict[str, str], server: dict[str, str], busy_dataset: Dataset
) -> None:
    busy_dataset.set(**CLIP_USER)  # of an estimate noise is in all that is said
    printed, entries = [], []
    before = {run["id"] for run in asked(server, "flow_runs")}
    for there in (environment, server):
        with_key(busy_dataset)
        printed.append(run_day(busy_dataset, there))
        [entry] = ledger.read_entries(busy_dataset.config)
        entries.append({key: value for key, value in entry.stated.items() if key not in MADE_ANEW})
        (busy_dataset.folder / "store").rename(busy_dataset.folder / f"store-{len(entries)}")
    assert printed[0] == printed[1]
    assert entries[0] == entries[1]
    [run] = [run for run in asked(server, "flow_runs") if run["id"] not in before]
    assert run["name"] == f"daily test {DATE}"
    assert run["state"]["type"] == "COMPLETED"
    tasks = [task for task in asked(server, "task_runs") if task["flow_run_id"] == run["id"]]
    assert tuple(task["name"] for task in sorted(tasks, key=lambda task: task["start_time"])) == STEPS


def test_without_a_server_the_steps_are_those_of_a_flow_run_in_its_order(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    called, call = [], steps.Step.__call__

    def noted(made: steps.Step[..., Any], *args: Any, **kwargs: Any) -> Any:
        called.append(made._run_name)
        return call(made, *args, **kwargs)

    monkeypatch.setattr(steps.Step, "__call__", noted)
    with steps.run():
        daily.daily(busy_dataset.config_file, DATE)
    named = {"date": DATE, "release_id": "test-2026-01-15-h3r7-60min-mean"}
    assert tuple(name.format(config=busy_dataset.config, **named) for name in called) == STEPS


def test_verbose_shows_the_lines_of_the_steps_on_standard_error(hexveil: Hexveil, busy_dataset: Dataset) -> None:
    done = hexveil("run", "--config", busy_dataset.config_file, "--verbose", "--date", DATE)
    assert done.returncode == 0, done.stderr
    assert "288 read = 288 kept" in done.stdout
    for said in ("ingest - read file=day.csv n_rows=288", "plan - planned date=2026-01-15", "publish - published"):
        assert re.search(rf"^\d\d:\d\d:\d\d \| INFO    \| hexveil\.{said}", done.stderr, re.MULTILINE)


@pytest.mark.slow
def test_a_flow_that_is_called_where_no_server_is_configured_starts_none(
    environment: dict[str, str], busy_dataset: Dataset, tmp_path: Path
) -> None:
    home = tmp_path / "prefect"
    code = "import sys, pathlib; from flows.deployed import verify; verify(pathlib.Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(busy_dataset.config_file)],
        env=environment | {"PREFECT_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 1
    assert "HexveilError: PREFECT_API_URL is not set, and a flow runs at a server only" in done.stderr
    assert not (home / "prefect.db").exists()


def test_what_needs_a_server_is_refused_where_none_is_configured(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", "resume"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("hexveil: PREFECT_API_URL is not set")


def test_a_server_that_runs_and_does_not_answer_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_ANSWER_SECONDS", 0.1)
    assert services.running_services(tmp_path) is None
    with socket.socket() as probe, (tmp_path / "server.pid").open("w") as note:
        probe.bind(("127.0.0.1", 0))
        (tmp_path / "port").write_text(str(probe.getsockname()[1]))
        fcntl.flock(note, fcntl.LOCK_EX)
        with pytest.raises(HexveilError, match=r"does not answer; .* stop it with `hexveil down`"):
            services.running_services(tmp_path)
        monkeypatch.setattr(services, "_answers", lambda url: url.endswith("/api/health"))
        local = services.running_services(tmp_path)
    assert isinstance(local, LocalServices)
    assert local.port == int((tmp_path / "port").read_text())


def test_services_keep_their_port_until_another_is_given(tmp_path: Path) -> None:
    first, second = free_ports(), free_ports()
    assert services.open_services(tmp_path, first).port == first
    assert services.open_services(tmp_path, None).port == first
    assert services.open_services(tmp_path, second).port == second
    assert services.open_services(tmp_path, None).port == second


def test_a_service_that_does_not_start_shows_the_end_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("a\nno disk\n")
    with pytest.raises(HexveilError, match=r"the server did not start; mend what .*server.log says.*:\na\nno disk$"):
        services._wait(lambda: False, "server", tmp_path)


@pytest.mark.slow
def test_names_that_look_like_markup_are_printed_as_they_are(hexveil: Hexveil, busy_dataset: Dataset) -> None:
    busy_dataset.set(unit="[/b]km/h[red]")
    busy_dataset.set(purpose="[/i]speeds [bold]of all[/]")
    where = ["--config", str(busy_dataset.config_file)]
    day = str(DATE)
    for arguments in (
        ["plan", *where, "--date", day],
        ["plan", *where, "--date", day, "--compare"],
        ["run", *where, "--date", day],
        ["backfill", *where, "--from", day, "--to", day],
        ["ledger", "show", *where],
    ):
        done = hexveil(*arguments)
        assert done.returncode == 0, done.stderr
        assert arguments[0] == "ledger" or "[/b]km/h[red]" in done.stdout, done.stdout

"""Ctrl-C at many moments of commands that publish: they end at once and plainly, and the same command goes on."""

import os
import pty
import random
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import victim
from prefect_api import asked
from processes import alive_in_group
from support import CLIP_USER, DATE, ENGINES, Campaign, Dataset, Say, all_files, later_day

from tasks.account import ledger
from tasks.base.locks import turn
from tasks.upkeep import verify

SAID = "hexveil: interrupted. Nothing was charged twice; the same command goes on where it was.\n"
INTERRUPTED = 130
N_SLOW = 15

Press = Callable[[int, int], None]


def to_all(pid: int, kind: int) -> None:
    """Send a signal as a terminal does: to the command and to all that it started."""
    os.killpg(pid, kind)


def start(arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def interrupted(arguments: list[str], environment: dict[str, str], moment: float | Path, press: Press) -> bool:
    """Start a command and press Ctrl-C after so many seconds, or when a file is there.

    Returns:
        Whether that was before the command's end, which must be as it should.
    """
    with start(arguments, environment) as process:
        if isinstance(moment, Path):
            while process.poll() is None and not moment.exists():
                time.sleep(0.01)
        else:
            with suppress(subprocess.TimeoutExpired):
                process.wait(moment)
        if process.poll() is None:
            press(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        for _ in range(100):
            if not alive_in_group(process.pid):
                break
            time.sleep(0.1)
        assert alive_in_group(process.pid) == []
    said = "".join(line for line in said.splitlines(keepends=True) if not re.search(r" \d+\.\d s$", line))
    assert (process.returncode, said) in ((INTERRUPTED, SAID), (0, "")), said
    return process.returncode == INTERRUPTED


def interrupt_until_released(
    arguments: list[str], dataset: Dataset, environment: dict[str, str], n_times: int
) -> tuple[int, float]:
    """Interrupt a command time and again, then let it end; return how often it was, and how long it takes alone."""
    began = time.perf_counter()
    assert not interrupted(arguments, environment, 600, os.kill)
    whole = time.perf_counter() - began
    n_interrupted, ended = 0, True
    for number in range(n_times):
        moment: float | Path = random.Random(number).uniform(0.15, 1) * whole
        if ended:
            (dataset.folder / "store").rename(dataset.folder / f"store-{number}")
        if number == 0:
            moment = dataset.folder / "store" / "private" / "warehouse.duckdb"
        ended = not interrupted(arguments, environment, moment, (os.kill, to_all)[number % 2])
        n_interrupted += not ended
    seen = all_files(dataset) if (dataset.folder / "store" / "published").exists() else {}
    assert not interrupted(arguments, environment, 600, os.kill)
    assert all(
        all_files(dataset)[name] == content for name, content in seen.items() if not Path(name).name.startswith(".")
    )
    return n_interrupted, whole


def run_of(dataset: Dataset) -> list[str]:
    return ["run", "--config", str(dataset.config_file), "--date", str(DATE)]


@pytest.fixture(params=ENGINES[:1])
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


def interrupt_day(n_times: int, dataset: Dataset, environment: dict[str, str], say: Say) -> None:
    n_interrupted, whole = interrupt_until_released(run_of(dataset), dataset, environment, n_times)
    victim.run(victim.check_released_once, dataset.folder, {})
    assert n_interrupted > 0
    say(f"{n_interrupted} of {n_times} days of {whole:.1f} s were interrupted; each was released once")


def test_a_day_that_is_interrupted_ends_at_once_and_is_released_once(
    busy_dataset: Dataset, environment: dict[str, str]
) -> None:
    busy_dataset.set(**CLIP_USER)
    warehouse = busy_dataset.folder / "store" / "private" / "warehouse.duckdb"
    assert interrupted(run_of(busy_dataset), environment, warehouse, os.kill)
    assert not interrupted(run_of(busy_dataset), environment, 600, os.kill)
    victim.run(victim.check_released_once, busy_dataset.folder, {})


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_days_that_are_interrupted_anywhere_are_released_once(
    busy_dataset: Dataset, environment: dict[str, str], campaign: Campaign, say: Say
) -> None:
    interrupt_day(campaign.size(N_SLOW), busy_dataset, environment, say)


def interrupt_range(n_times: int, dataset: Dataset, environment: dict[str, str], say: Say) -> None:
    dataset.set(epsilon_total=50.0)
    days = [DATE, *(later_day(dataset, n) for n in range(1, 5))]
    arguments = ["backfill", "--config", str(dataset.config_file), "--from", str(days[0]), "--to", str(days[-1])]
    n_interrupted, whole = interrupt_until_released(arguments, dataset, environment, n_times)
    assert [entry.stated["date"] for entry in ledger.read_entries(dataset.config)] == [str(day) for day in days]
    assert verify.verify_ledger(dataset.config).n_releases == len(days)
    assert n_interrupted > 0
    say(f"{n_interrupted} of {n_times} backfills of {whole:.1f} s were interrupted; each day was released once")


@pytest.mark.slow
def test_backfills_that_are_interrupted_anywhere_end_with_their_planners_and_go_on(
    busy_dataset: Dataset, environment: dict[str, str], campaign: Campaign, say: Say
) -> None:
    interrupt_range(campaign.size(N_SLOW), busy_dataset, environment, say)


@pytest.mark.slow
def test_a_flow_run_that_is_interrupted_is_known_to_its_server_as_such(
    busy_dataset: Dataset, server: dict[str, str]
) -> None:
    slow = server | {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL"}
    before = {run["id"] for run in asked(server, "flow_runs")}

    def states() -> list[str]:
        new = [run["state"] for run in asked(server, "flow_runs") if run["id"] not in before]
        return [state["type"] for state in new if state is not None]

    def wait_for(state: str) -> None:
        for _ in range(600):
            if states() == [state]:
                return
            time.sleep(0.1)
        pytest.fail(f"the run is {states()}, not {state}")

    with start(run_of(busy_dataset), slow) as process, closing_by_kill(process), ledger.locked(busy_dataset.config):
        wait_for("RUNNING")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (INTERRUPTED, SAID)
        wait_for("CRASHED")
    assert not interrupted(run_of(busy_dataset), server, 600, os.kill)
    victim.run(victim.check_released_once, busy_dataset.folder, {})


@contextmanager
def closing_by_kill(process: subprocess.Popen[str]) -> Iterator[None]:
    """Kill a process whatever happens, so that a test that fails does not wait for one that waits for it."""
    try:
        yield
    finally:
        process.kill()


def test_at_a_terminal_the_bar_is_cleared_and_the_cursor_shown(
    busy_dataset: Dataset, environment: dict[str, str]
) -> None:
    arguments = ["backfill", "--config", str(busy_dataset.config_file), "--from", str(DATE), "--to", str(DATE)]
    command = [sys.executable, "-m", "flows.cli", *arguments]
    mine, its = pty.openpty()
    shown, sent = b"", False
    private = busy_dataset.folder / "store" / "private"
    private.mkdir(parents=True)
    with (
        turn(private / "warehouse.lock"),
        subprocess.Popen(
            command, env=environment | {"TERM": "xterm"}, stdout=subprocess.DEVNULL, stderr=its
        ) as process,
    ):
        is_over = False
        while not is_over:
            is_over = process.poll() is not None  # what it said before is read once more
            while select.select([mine], [], [], 0.2)[0]:
                shown += os.read(mine, 1024)
                if b"preparing and planning days" in shown and not sent:
                    process.send_signal(signal.SIGINT)
                    sent = True  # a second one would end the command at once, bar and all
    os.close(its)
    os.close(mine)
    assert process.returncode == INTERRUPTED
    assert b"\x1b[?25l" in shown, "the bar hides the cursor"
    assert shown.endswith(b"\r\x1b[2K\x1b[?25h" + SAID.replace("\n", "\r\n").encode())

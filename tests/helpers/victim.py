"""Processes that are killed: each starts in milliseconds, from a server that has imported everything once."""

import datetime as dt
import multiprocessing
import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from collected import DATE as COLLECTED
from collected import Collected
from support import DATE, Campaign, Dataset, all_files

from tasks.account import commit, ledger, mirror
from tasks.base import warehouse
from tasks.base.errors import DayStopped, WarehouseDamaged
from tasks.collect import rounds
from tasks.device.report import as_line, make_report
from tasks.upkeep import verify

_one_thread = threading.Lock()
"""Starting a process asks after all others too; two threads that ask at once may take the answer from each other."""

_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["victim", "hypothesis.strategies"])  # of which pandera's first check makes use
_WATCHED = ("fsync", "write", "replace", "link", "unlink", "ftruncate", "mkdir")


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a process."""
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # the server finds what it is to import there
    process = _server.Process(target=target, args=arguments)
    with _one_thread:
        process.start()
    return process


def exit_code(process: BaseProcess, seconds: float | None = None) -> int | None:
    """Return a process's exit code once it has ended; None where it has not after so long."""
    connection.wait([process.sentinel], seconds)
    with _one_thread:
        return process.exitcode


def run(target: Callable[..., None], *arguments: Any) -> None:
    """Run a process to its end, which must be a good one."""
    code = exit_code(start(target, *arguments))
    assert code == 0, f"{target.__name__} ended with {code}"


def killed(seconds: float, target: Callable[..., None], *arguments: Any) -> bool:
    """Start a process, kill it after so long unless something else does, and return whether that was before its end."""
    process = start(target, *arguments)
    exit_code(process, seconds)
    process.kill()
    return exit_code(process) in (-signal.SIGKILL, -signal.SIGXFSZ)


def seconds_of(target: Callable[..., None], *arguments: Any) -> float:
    """Return how long a process takes once the server has imported everything, which it does for its first."""
    run(_nothing)
    begin = time.perf_counter()
    run(target, *arguments)
    return time.perf_counter() - begin


def n_operations(killed_at: Callable[..., None], folder: Path, *arguments: Any) -> int:
    """Return how many operations on files a process does that may be killed before each; it lives, and does them."""
    run(killed_at, folder, *arguments, 0)
    return int((folder / "n_operations").read_text())


def killed_before_each(
    template: Path, killed_at: Callable[[Path, int], None], check: Callable[[Path], None], campaign: Campaign
) -> tuple[int, int]:
    """Kill processes on copies of a folder, each before another operation on files, and check each copy after.

    Returns:
        How many were killed, which is all but two at most; and how many operations there are.
    """

    def copied(name: str) -> Path:
        return Path(shutil.copytree(template, template.with_name(f"{template.name}-{name}")))

    n_all = n_operations(killed_at, copied("counted"))
    chosen = campaign.of(range(1, n_all + 1))

    def tried(number: int) -> bool:
        folder = copied(str(number))
        was_killed = killed(600, killed_at, folder, number)
        run(check, folder)
        shutil.rmtree(folder)
        return was_killed

    with ThreadPoolExecutor(2) as pool:
        n_killed = sum(pool.map(tried, chosen))
    assert n_killed >= max(1, len(chosen) - 2)
    return n_killed, n_all


def _nothing() -> None:
    pass


def whole_day(folder: Path, date: dt.date = DATE) -> None:
    """Run a day from its files to what is published."""
    Dataset(folder).run_day(date)


def whole_day_after_damage(folder: Path) -> None:
    """Run a day; if its warehouse is damaged, do what the error says first, and leave a note of it."""
    try:
        whole_day(folder)
    except WarehouseDamaged:
        for name in ("warehouse.duckdb", "warehouse.duckdb.wal"):
            (folder / "store" / "private" / name).unlink(missing_ok=True)
        (folder / "was_damaged").touch()
        whole_day(folder)


def released_once(folder: Path, seen: dict[str, bytes], run: Callable[[Path], None] = whole_day) -> None:
    """Run a day, and check what is there then."""
    run(folder)
    check_released_once(folder, seen)


def whole_range(folder: Path, dates: list[dt.date]) -> None:
    """Run a range of days as the backfill does."""
    Dataset(folder).run_range(dates)


def whole_day_killed_at(folder: Path, number: int) -> None:
    """Run a day and die before the file-system operation of that number; with 0 live and write down how many."""
    with _counted(number) as count:
        Dataset(folder).run_day()
    if not number:
        (folder / "n_operations").write_text(str(count()))


def collection_step(folder: Path, name: str) -> None:
    """Do a step of a collection's period."""
    getattr(rounds, name).fn(COLLECTED, Collected(folder, anew=False).config)


def collection_step_killed_at(folder: Path, name: str, number: int) -> None:
    """Do a step of a collection and die before the operation of that number; with 0 live and write down how many."""
    with _counted(number) as count:
        collection_step(folder, name)
    if not number:
        (folder / "n_operations").write_text(str(count()))


def report_killed_at(folder: Path, number: int) -> None:
    """Let a device report and die before the operation of that number; with 0 live and write down how many."""
    with _counted(number) as count:
        report = make_report(folder / "round.json", folder / "values.txt", folder / "account.json").report
        print(as_line(report or {}), end="", file=(folder / "sent.txt").open("a"))
    if not number:
        (folder / "n_operations").write_text(str(count()))


def whole_day_killed_after_commit(folder: Path, number: int) -> None:
    """Run a day and die right after the engine's commit of that number, before it tidies its log away."""
    real, n_seen = warehouse.transaction, 0

    @contextmanager
    def watched(connection: warehouse.Connection) -> Iterator[None]:
        nonlocal n_seen
        with real(connection):
            yield
        n_seen += 1
        if n_seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    warehouse.transaction = watched
    Dataset(folder).run_day()


def whole_day_killed_at_size(folder: Path, n_bytes: int) -> None:
    """Run a day and be killed by the system at the first write past that place of a file, the engine's own included."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
    Dataset(folder).run_day()


def whole_day_killed_in_append(folder: Path, share: float) -> None:
    """Run a day and die when a share of its line is in the ledger."""

    def die(path: Path, line: bytes) -> None:
        with path.open("ab") as file:
            file.write(line[: round(share * len(line))])
        os.kill(os.getpid(), signal.SIGKILL)

    commit.append_line = die
    Dataset(folder).run_day()


def stopped_day_killed_at(folder: Path, number: int) -> None:
    """Run a day that is stopped, and die before the operation of that number; with 0 live and write down how many."""
    with _counted(number) as count, suppress(DayStopped):
        Dataset(folder).run_day()
    if not number:
        (folder / "n_operations").write_text(str(count()))


def check_stopped_once(folder: Path) -> None:
    """Check that the day is stopped when it is run again, and that one count was charged, and nothing is published."""
    dataset = Dataset(folder)
    for _ in range(2):
        with suppress(DayStopped):
            dataset.run_day()
            raise AssertionError("the day was released")
        assert [entry.kind for entry in ledger.read_entries(dataset.config)] == ["stopped"]
    assert verify.verify_ledger(dataset.config).n_releases == 0
    assert not all_files(dataset)


def check_released_once(folder: Path, seen: dict[str, bytes]) -> None:
    """Check that the day was released once, the account agrees, and no byte that was seen is another now."""
    dataset = Dataset(folder)
    entries = ledger.read_entries(dataset.config)
    assert len(entries) == 1
    assert verify.verify_ledger(dataset.config).n_releases == 1
    files = all_files(dataset)
    day = f"date={DATE}"
    assert files.keys() == {f"{day}/{name}" for name in entries[0].stated["files"]}
    assert all(files[name] == content for name, content in seen.items() if not Path(name).name.startswith("."))


@contextmanager
def _counted(number: int) -> Iterator[Callable[[], int]]:
    """Count what changes files, commits of the engine included, and die before the one of that number."""
    n_seen = 0

    def watch(change: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            nonlocal n_seen
            n_seen += 1
            if n_seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*arguments, **options)

        return watched

    for name in _WATCHED:
        setattr(os, name, watch(getattr(os, name)))
    for module, name in ((warehouse, "connect"), (warehouse, "transaction"), (mirror, "connect")):
        setattr(module, name, watch(getattr(module, name)))
    yield lambda: n_seen

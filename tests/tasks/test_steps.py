"""Steps are tried again where the machine failed, and only those that may be repeated."""

import logging
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pytest
from support import slow

from tasks.account import releases
from tasks.base import steps
from tasks.base.errors import BadInput, HexveilError, TemporaryFailure
from tasks.base.logs import STEPS, say
from tasks.base.progress import show_steps
from tasks.base.steps import Step, step, step_seconds
from tasks.engines import late
from tasks.occupancy import user_cells
from tasks.planning import plan
from tasks.records.judge import validate
from tasks.records.read import ingest
from tasks.release import draw, publish

FULL = OSError(28, "No space left on device")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[None]:
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=600):
        yield


def in_flow(work: Callable[[], Any]) -> None:
    from prefect import flow

    @flow
    def run() -> None:
        with steps.run():
            work()

    run()


def in_this_process(work: Callable[[], Any]) -> None:
    with steps.run():
        work()


@pytest.fixture(params=[slow(in_flow), in_this_process])
def in_run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Any]], None]:
    """Run work as a run, at a server and without one."""
    if request.param is in_flow:
        request.getfixturevalue("scheduler")
    return request.param


InRun = Callable[[Callable[[], Any]], None]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_DELAYS", [0.0, 0.0])


def n_tries(in_run: InRun, failure: Exception, *, repeatable: bool = True, n_failures: int = 9) -> int:
    tries: list[int] = []

    def work() -> None:
        tries.append(1)
        if len(tries) <= n_failures:
            raise failure

    made = step("work", repeatable=repeatable)(work)
    if n_failures < 3:
        in_run(made)
        return len(tries)
    with pytest.raises(HexveilError) as caught:
        in_run(made)
    assert caught.value.__context__ is None
    return len(tries)


@pytest.mark.parametrize("failure", [FULL, TemporaryFailure("in use")])
def test_a_failure_of_the_machine_is_tried_three_times(in_run: InRun, failure: Exception) -> None:
    assert n_tries(in_run, failure) == 3


def test_what_succeeds_when_it_is_tried_again_has_succeeded(in_run: InRun) -> None:
    assert n_tries(in_run, FULL, n_failures=1) == 2


@pytest.mark.parametrize("failure", [BadInput("no file"), ValueError("a defect"), OSError(13, "Permission denied")])
def test_a_failure_of_the_data_or_a_defect_or_a_lacking_permission_is_not_tried_again(
    in_run: InRun, failure: Exception
) -> None:
    assert n_tries(in_run, failure) == 1


def test_what_may_not_be_repeated_is_not(in_run: InRun) -> None:
    assert n_tries(in_run, FULL, repeatable=False) == 1


def test_before_it_waits_a_step_without_a_server_says_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(steps, "_DELAYS", [10.0, 60.0])
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        assert f"seconds={seconds:g}" in caplog.records[-1].getMessage()
        assert "No space left on device" in caplog.records[-1].getMessage()
        waited.append(seconds)

    monkeypatch.setattr(steps.time, "sleep", sleep)
    assert n_tries(in_this_process, FULL) == 3
    assert waited == [10, 60]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert caplog.records[-1].getMessage().startswith("failed step=work seconds=")


def test_of_the_steps_of_a_day_only_the_one_that_draws_and_charges_is_never_repeated() -> None:
    days_steps: dict[str, Step[..., Any]] = {
        made.fn.__name__: made
        for made in (
            ingest.ingest_records,
            validate.validate_records,
            user_cells.build_occupancy,
            plan.plan_release,
            releases.find_release,
            draw.release_statistics,
            publish.publish_files,
            late.count_late_records,
        )
    }
    assert {name for name, made in days_steps.items() if not made.delays} == {"release_statistics"}
    tasks = {name: made.as_task(made.fn) for name, made in days_steps.items()}
    assert {name for name, task in tasks.items() if task.retries == 0} == {"release_statistics"}
    assert all(task.persist_result is False for task in tasks.values())
    assert {task.name for task in tasks.values()} == set(days_steps)


def test_the_seconds_of_each_step_of_a_run_are_known_to_it_alone(in_run: InRun) -> None:
    made = step("work")(len)
    shown: list[dict[str, float]] = []

    def work() -> None:
        shown.append(step_seconds())
        made([1])
        shown.append(step_seconds())

    in_run(work)
    in_run(work)
    made([1])
    assert step_seconds() == {}
    assert [list(seconds) for seconds in shown] == [[], ["len"], [], ["len"]]


def test_a_step_says_when_it_ends_what_it_counted(in_run: InRun, caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("hexveil.test")

    def work() -> None:
        say(log, "read", file="a.csv", n_rows=1200, n_malformed=0, share=0.5)
        say(log, "read", file="b.csv", n_rows=34, n_malformed=0, share=0.5)

    with caplog.at_level(logging.INFO, "hexveil"):
        in_run(step("work")(work))
        in_run(step("idle")(lambda: None))
    [record] = [one for one in caplog.records if one.name == STEPS]
    fields = vars(record)["fields"]
    assert fields.pop("seconds") >= 0
    assert (record.getMessage().split()[0], fields) == ("done", {"step": "work", "n_rows": 1234, "n_malformed": 0})


def test_the_line_of_a_step_shows_its_first_counts_and_why_it_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger("hexveil"), "handlers", [])
    show_steps()
    log, tries = logging.getLogger("hexveil.test"), []

    def work() -> None:
        say(log, "counted", n_rows=1234, n_none=0, n_cells=5, duplicate=6, n_users=7)
        tries.append(1)
        if len(tries) == 1:
            raise FULL

    in_this_process(step("work")(work))
    failing, done = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"work +is tried again in 0 s: work failed: No space left on device\..*", failing)
    assert re.fullmatch(r"work +2,468 rows, 10 cells, 12 duplicate, … +\d+\.\d s", done)


def test_log_lines_are_words_then_fields_and_the_record_holds_them(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("hexveil.test")
    with caplog.at_level(logging.INFO, "hexveil"):
        say(log, "read", file="a day.csv", n_rows=3, share=1 / 3, empty="", quote='a"b')
    [record] = caplog.records
    assert record.getMessage() == 'read file="a day.csv" n_rows=3 share=0.333333 empty="" quote="a\\"b"'
    assert vars(record)["fields"]["n_rows"] == 3


@contextmanager
def pressed_soon() -> Iterator[None]:
    """Raise KeyboardInterrupt in the main thread after a moment, as Ctrl-C does."""

    def press(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_interruption_in_a_query_is_one_and_no_failure() -> None:
    # DuckDB raises RuntimeError in its place, which would be told as a failure of the step.
    def work() -> None:
        with pressed_soon(), duckdb.connect(config={"threads": 1}) as connection:
            connection.execute("SELECT sum(sqrt(range)) FROM range(30_000_000_000)")

    with pytest.raises(KeyboardInterrupt):
        in_this_process(step("work")(work))

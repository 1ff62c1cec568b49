"""Steps are tried again where the machine failed, and only those that may be repeated."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from prefect import Task, flow
from prefect.testing.utilities import prefect_test_harness

from tasks import ingest, late, occupancy, plan, publish, release, steps, validate
from tasks.errors import BadInput, HexveilError, TemporaryFailure
from tasks.logs import say
from tasks.steps import step, step_seconds


@pytest.fixture(scope="module", autouse=True)
def _scheduler() -> object:
    with prefect_test_harness(server_startup_timeout=600):
        yield


def n_tries(failure: Callable[[], Exception], monkeypatch: pytest.MonkeyPatch, *, repeatable: bool = True) -> int:
    monkeypatch.setattr(steps, "_DELAYS", [0.0, 0.0])
    tries: list[int] = []

    def work() -> None:
        tries.append(1)
        raise failure()

    made = step("work", repeatable=repeatable)(work)

    @flow
    def run() -> None:
        made()

    with pytest.raises(HexveilError) as caught:
        run()
    assert caught.value.__context__ is None
    return len(tries)


def test_a_failure_of_the_machine_is_tried_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    assert n_tries(lambda: OSError(28, "No space left on device"), monkeypatch) == 3
    assert n_tries(lambda: TemporaryFailure("in use"), monkeypatch) == 3


def test_a_failure_of_the_data_or_a_defect_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert n_tries(lambda: BadInput("no file"), monkeypatch) == 1
    assert n_tries(lambda: ValueError("a defect"), monkeypatch) == 1


def test_what_may_not_be_repeated_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert n_tries(lambda: OSError(28, "No space left on device"), monkeypatch, repeatable=False) == 1


def test_of_the_steps_of_a_day_only_the_one_that_draws_and_charges_is_never_repeated() -> None:
    days_steps: dict[str, Task[..., Any]] = {
        made.fn.__name__: made
        for made in (
            ingest.ingest_records,
            validate.validate_records,
            occupancy.build_occupancy,
            plan.plan_release,
            release.find_release,
            release.release_statistics,
            publish.publish_files,
            late.count_late_records,
        )
    }
    assert {name for name, made in days_steps.items() if made.retries == 0} == {"release_statistics"}
    assert all(made.persist_result is False for made in days_steps.values())


def test_the_seconds_of_each_step_of_a_flow_are_known_to_it_alone() -> None:
    made = step("work")(len)
    shown: list[dict[str, float]] = []

    @flow
    def run() -> None:
        shown.append(step_seconds())
        made([1])
        shown.append(step_seconds())

    run()
    run()
    assert [list(seconds) for seconds in shown] == [[], ["len"], [], ["len"]]


def test_log_lines_are_words_then_fields_and_the_record_holds_them(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("hexveil.test")
    with caplog.at_level(logging.INFO, "hexveil"):
        say(log, "read", file="a day.csv", n_rows=3, share=1 / 3, empty="", quote='a"b')
    [record] = caplog.records
    assert record.getMessage() == 'read file="a day.csv" n_rows=3 share=0.333333 empty="" quote="a\\"b"'
    assert vars(record)["fields"]["n_rows"] == 3

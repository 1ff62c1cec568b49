"""The flows as operators run them: deployed to a real server, started through its interface, run by a real worker."""

import datetime as dt
import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx
import planted
import pytest
from house import FIRST, ZONE, House, free_ports

from tasks.account import ledger
from tasks.upkeep.verify import verify_ledger


def day(number: int) -> dt.date:
    return FIRST + dt.timedelta(days=number)


def released(house: House) -> list[str]:
    return [entry.stated["date"] for entry in ledger.read_entries(house.dataset.config)]


def test_the_deployments_are_scheduled_in_the_time_zone_of_the_dataset(house: House) -> None:
    with house.api as api:
        daily, verify, backfill = (
            api.get(f"/deployments/name/{flow}/{flow}-test").raise_for_status().json()
            for flow in ("daily", "verify", "backfill")
        )
        queue = api.get("/work_pools/hexveil/queues/runs-test").raise_for_status().json()
    for deployment in (daily, verify):
        [schedule] = deployment["schedules"]
        assert schedule["schedule"]["timezone"] == ZONE
        assert schedule["active"]
    assert backfill["schedules"] == []
    assert queue["concurrency_limit"] == 1
    assert daily["work_queue_name"] == backfill["work_queue_name"] == "runs-test"
    form = backfill["parameter_openapi_schema"]["properties"]
    assert form["first"]["format"] == form["last"]["format"] == "date"
    assert form["shortage"]["enum"] == ["refuse", "spread", "clip"]
    assert all(form[name]["description"] for name in form)


def test_the_server_makes_the_runs_of_the_schedules(house: House) -> None:
    local: set[dt.time] = set()
    wanted = {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}, "tags": {"all_": ["hexveil"]}}}
    for _ in range(120):  # the server makes the runs of one schedule after the other
        starts = [dt.datetime.fromisoformat(run["expected_start_time"]) for run in house.listed("flow_runs", **wanted)]
        local = {start.astimezone(ZoneInfo(ZONE)).time() for start in starts}
        if len(local) >= 2:
            break
        time.sleep(1)
    assert local == {dt.time(4, 15), dt.time(6, 45)}
    assert "InvalidRequestError" not in (house.home / "server.log").read_text()


def test_nobody_without_the_password_is_let_in(house: House) -> None:
    with httpx.Client(base_url=f"{house.url}/api", timeout=60) as api:
        assert api.post("/flow_runs/filter", json={}).status_code == 401
        assert api.post("/deployments/filter", json={}, auth=("admin", "")).status_code == 401
        asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
        allowed = api.options("/flow_runs/filter", headers=asked).headers.get("access-control-allow-origin")
    assert allowed in (None, house.url)
    assert (house.home / "password").stat().st_mode & 0o077 == 0
    assert house.home.stat().st_mode & 0o077 == 0


def test_two_days_and_a_week_started_through_the_interface_are_published_and_shown(house: House) -> None:
    days = [house.start("daily", date=day(number)) for number in (0, 1)]
    week = house.start("backfill", first=day(2), last=day(8))
    runs = [house.ended(run_id) for run_id in (*days, week)]
    assert [run["state"]["type"] for run in runs] == ["COMPLETED"] * 3
    assert [run["name"] for run in runs] == [
        f"daily test {day(0)}",
        f"daily test {day(1)}",
        f"backfill test {day(2)} to {day(8)}",
    ]
    assert sorted(released(house)) == [str(day(number)) for number in range(9)]
    for number in range(9):
        assert house.dataset.published("statistics.parquet", day(number)).exists()
        assert house.dataset.published("map.html", day(number)).exists()

    names = {run["name"] for run in house.listed("task_runs")}
    assert {f"ingest test {day(0)}", f"release test {day(8)}"} <= names

    shown = house.artifacts(days[0])
    page = str(shown["day-test"]["data"])
    for told in (
        "| read | 577 |",
        "| kept | 577 |",
        "| published | 4 |",
        "| withheld at no cost | 1 |",
        "| plan release |",
    ):
        assert told in page
    link = f"http://127.0.0.1:{house.port + 1}/test/date%3D{day(0)}/map.html"
    assert link in page
    assert link in str(shown["map-test"]["data"])
    with house.api as api:
        assert b"<html" in api.get(link).raise_for_status().content
    assert "9 days" not in str(shown["budget-test"]["data"])
    week_page = str(house.artifacts(week)["backfill-test"]["data"])
    assert all(str(day(number)) in week_page for number in range(2, 9))
    assert {artifact["type"] for artifact in house.artifacts(week).values()} == {"markdown", "progress"}

    events = house.events("hexveil.released", n=9)
    assert sorted({event["payload"]["date"] for event in events}) == [str(day(number)) for number in range(9)]
    assert all(event["payload"]["whole_day"] is False for event in house.events("hexveil.withheld"))


def test_a_day_that_is_run_by_the_command_line_is_a_flow_run_at_the_server_that_is_up(house: House) -> None:
    done = house.run_by_command(day(0))
    assert "577 read = 577 kept" in done.stdout
    [run] = [run for run in house.listed("flow_runs") if run["deployment_id"] is None]
    assert run["name"] == f"daily test {day(0)}"
    assert run["state"]["type"] == "COMPLETED"
    link = f"http://127.0.0.1:{house.port + 1}/test/date%3D{day(0)}/map.html"
    assert link in str(house.artifacts(run["id"])["day-test"]["data"])


@pytest.mark.slow
def test_a_start_that_is_interrupted_says_how_to_stop_what_was_started(house: House, tmp_path: Path) -> None:
    other = replace(house, home=tmp_path / "home", port=free_ports())
    command = [sys.executable, "-m", "flows.cli", "up", "--config", str(other.dataset.config_file)]
    begun = subprocess.Popen(
        [*command, "--home", str(other.home), "--port", str(other.port)], stderr=subprocess.PIPE, text=True
    )
    while not (other.home / "server.pid").exists():
        time.sleep(0.05)
    begun.send_signal(signal.SIGINT)
    _, said = begun.communicate(timeout=60)
    assert (begun.returncode, said) == (130, "hexveil: interrupted; `hexveil down` stops what was started\n")
    assert "Stopped: server" in other.down().stdout


def test_a_scheduled_run_is_for_the_local_day_before_however_late_it_starts(house: House) -> None:
    just_before_midnight = dt.datetime.combine(day(10), dt.time(5, 30), dt.UTC)
    run = house.ended(house.schedule("daily", just_before_midnight))
    assert run["state"]["type"] == "COMPLETED", run["state"]
    assert run["name"] == f"daily test {day(8)}", "05:30 UTC is 23:30 of the day before in Chicago"


def test_a_day_that_cannot_be_read_fails_with_what_to_do(house: House) -> None:
    run = house.ended(house.start("daily", date="2026-03-01"))
    assert run["state"]["type"] == "FAILED"
    assert "no file for 2026-03-01" in run["state"]["message"]
    assert "run the day again once the file is there" in run["state"]["message"]


@pytest.mark.slow
def test_a_worker_killed_in_a_run_has_the_run_resumed_and_nothing_charged_twice(house: House) -> None:
    """So has a run that was submitted and had not begun: no heartbeat can tell of that one."""
    before, days = released(house), [str(day(number)) for number in range(9, 23)]
    running = house.start("backfill", first=days[0], last=days[-1])
    wait_for_releases(house, len(before) + 2)
    begun = house.engines()
    with ledger.locked(house.dataset.config):  # so that the backfill does not end before the other run is submitted
        n_before = len(released(house))
        pending = house.start("verify")
        while house.engines() == begun:
            time.sleep(0.01)
        assert house.run(pending)["state"]["type"] == "PENDING"
        house.kill_worker()
    assert len(before) + 2 <= n_before < len(before) + len(days)
    assert len(released(house)) == n_before
    house.up()
    for run_id in (running, pending):
        state = house.ended(run_id)["state"]
        assert state["type"] == "COMPLETED", state["message"]
        with house.api as api:
            states = [state["name"] for state in api.get("/flow_run_states/", params={"flow_run_id": run_id}).json()]
        assert "Resumed" in states
    assert sorted(released(house)) == sorted(before + days), "each day once"
    verify_ledger(house.dataset.config)


@pytest.mark.slow
def test_a_house_closed_in_a_run_goes_on_where_it_was_when_it_is_opened_again(house: House) -> None:
    run_id = house.start("daily", date=day(23))
    wait_for_state(house, run_id, "RUNNING")
    house.down()
    assert house.engines() == []
    house.up()
    assert house.ended(run_id)["state"]["type"] == "COMPLETED"
    assert released(house).count(str(day(23))) == 1


def test_verify_tells_where_files_and_ledger_disagree(house: House) -> None:
    assert house.ended(house.start("verify"))["state"]["type"] == "COMPLETED"
    published = house.dataset.published("statistics.csv", day(3))
    content = published.read_bytes()
    published.write_bytes(content.replace(b"2026", b"2027"))
    try:
        run = house.ended(house.start("verify"))
    finally:
        published.write_bytes(content)
    assert run["state"]["type"] == "FAILED"
    [event] = house.events("hexveil.verify.failed")
    assert str(published) in event["payload"]["reason"]


def test_a_spent_budget_withholds_the_day_and_tells_so(house: House) -> None:
    text = house.dataset.config_file.read_text()
    house.dataset.set("epsilon_total = 100.0", "epsilon_total = 1.0")
    try:
        run = house.ended(house.start("daily", date=day(0), revision="again"))
    finally:
        house.dataset.config_file.write_text(text)
    assert run["state"]["type"] == "FAILED"
    assert "budget.epsilon_total" in run["state"]["message"]
    assert len(house.events("hexveil.withheld", whole_day=True)) == 1
    assert house.events("hexveil.budget.low")


def test_a_run_that_crashes_time_and_again_ends_as_failed(house: House) -> None:
    with house.api as api:
        pause = "/work_pools/hexveil/queues/runs-test"
        api.patch(pause, json={"is_paused": True}).raise_for_status()
        run_id = house.start("daily", date=day(0))
        for _ in range(5):
            crashed = {"state": {"type": "CRASHED", "message": "as a test has it"}, "force": True}
            api.post(f"/flow_runs/{run_id}/set_state", json=crashed).raise_for_status()
            wait_for_state(house, run_id, "SCHEDULED")
        api.patch(pause, json={"is_paused": False}).raise_for_status()
    run = house.ended(run_id)
    assert run["state"]["type"] == "FAILED"
    assert "interrupted 5 times" in run["state"]["message"]


@pytest.mark.slow
def test_a_house_is_opened_twice_without_harm_and_not_over_another_programs_port(house: House, tmp_path: Path) -> None:
    pids = {path.name: path.read_text() for path in house.home.glob("*.pid")}
    assert set(pids) == {"server.pid", "worker.pid", "files.pid"}
    house.up()
    assert {path.name: path.read_text() for path in house.home.glob("*.pid")} == pids
    with ThreadPoolExecutor(2) as hands:
        assert all(done.returncode == 0 for done in hands.map(House.up, [house, house]))
    with pytest.raises(AssertionError, match=f"port {house.port} is in use by another program"):
        replace(house, home=tmp_path).up()
    with pytest.raises(AssertionError, match=f"the services run at port {house.port}"):
        replace(house, port=house.port + 2).up()
    assert "Nothing was running" in replace(house, home=tmp_path).down().stdout


def test_nothing_planted_is_found_in_what_the_scheduler_keeps_and_says(house: House) -> None:
    searched = planted.files_of(house.home) | planted.files_of(house.dataset.folder)
    for what in ("flow_runs", "task_runs", "artifacts", "logs", "deployments"):
        answers = house.listed(what)
        assert answers, what
        searched[f"answer: {what}"] = json.dumps(answers).encode()
    searched["answer: events"] = json.dumps(house.events("hexveil.", "prefect.flow-run")).encode()
    assert any(name.endswith("prefect.db") for name in searched)
    assert any(name.endswith("worker.log") for name in searched)
    assert planted.leaks(searched) == []
    log = searched[str(house.home / "worker.log")]
    assert b"planned date=" in log, "the steps' own lines are there"
    assert b"ingest" in searched["answer: logs"] or b"read file=" in searched["answer: logs"]


def wait_for_state(house: House, run_id: str, wanted: str) -> None:
    for _ in range(600):
        if house.run(run_id)["state"]["type"] == wanted:
            return
        time.sleep(0.1)
    pytest.fail(str(house.run(run_id)["state"]))


def wait_for_releases(house: House, n_releases: int) -> None:
    for _ in range(2000):
        if len(released(house)) >= n_releases:
            return
        time.sleep(0.1)
    pytest.fail((house.home / "worker.log").read_text()[-3000:])

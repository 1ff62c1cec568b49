"""The flows as operators run them: deployed to a real server, started through its interface, run by a real worker."""

import datetime as dt
import fcntl
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
from deployed import FIRST, ZONE, Deployed, free_ports

from flows import services
from tasks.account import ledger
from tasks.upkeep.verify import verify_ledger

pytestmark = pytest.mark.slow


def day(number: int) -> dt.date:
    return FIRST + dt.timedelta(days=number)


def released(deployed: Deployed) -> list[str]:
    return [entry.stated["date"] for entry in ledger.read_entries(deployed.dataset.config)]


def test_the_deployments_are_scheduled_in_the_time_zone_of_the_dataset(deployed: Deployed) -> None:
    with deployed.api as api:
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


def test_the_server_makes_the_runs_of_the_schedules(deployed: Deployed) -> None:
    local: set[dt.time] = set()
    wanted = {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}, "tags": {"all_": ["hexveil"]}}}
    for _ in range(120):  # the server makes the runs of one schedule after the other
        starts = [
            dt.datetime.fromisoformat(run["expected_start_time"]) for run in deployed.listed("flow_runs", **wanted)
        ]
        local = {start.astimezone(ZoneInfo(ZONE)).time() for start in starts}
        if len(local) >= 2:
            break
        time.sleep(1)
    assert local == {dt.time(4, 15), dt.time(6, 45)}
    assert "InvalidRequestError" not in (deployed.home / "server.log").read_text()


def test_nobody_without_the_password_is_let_in(deployed: Deployed) -> None:
    with httpx.Client(base_url=f"{deployed.url}/api", timeout=60) as api:
        assert api.post("/flow_runs/filter", json={}).status_code == 401
        assert api.post("/deployments/filter", json={}, auth=("admin", "")).status_code == 401
        asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
        allowed = api.options("/flow_runs/filter", headers=asked).headers.get("access-control-allow-origin")
    assert allowed in (None, deployed.url)
    assert (deployed.home / "password").stat().st_mode & 0o077 == 0
    assert deployed.home.stat().st_mode & 0o077 == 0


def test_two_days_and_a_week_started_through_the_interface_are_published_and_shown(deployed: Deployed) -> None:
    days = [deployed.start("daily", date=day(number)) for number in (0, 1)]
    week = deployed.start("backfill", first=day(2), last=day(8))
    runs = [deployed.ended(run_id) for run_id in (*days, week)]
    assert [run["state"]["type"] for run in runs] == ["COMPLETED"] * 3
    assert [run["name"] for run in runs] == [
        f"daily test {day(0)}",
        f"daily test {day(1)}",
        f"backfill test {day(2)} to {day(8)}",
    ]
    assert sorted(released(deployed)) == [str(day(number)) for number in range(9)]
    for number in range(9):
        assert deployed.dataset.published("statistics.parquet", day(number)).exists()
        assert deployed.dataset.published("map.html", day(number)).exists()

    names = {run["name"] for run in deployed.listed("task_runs")}
    assert {f"ingest test {day(0)}", f"release test {day(8)}"} <= names

    shown = deployed.artifacts(days[0])
    page = str(shown["day-test"]["data"])
    for told in (
        "| read | 577 |",
        "| kept | 577 |",
        "| published | 4 |",
        "| withheld at no cost | 1 |",
        "| plan release |",
    ):
        assert told in page
    link = f"http://127.0.0.1:{deployed.port + 1}/test/date%3D{day(0)}/map.html"
    assert link in page
    assert link in str(shown["map-test"]["data"])
    with deployed.api as api:
        assert b"<html" in api.get(link).raise_for_status().content
    assert "9 days" not in str(shown["budget-test"]["data"])
    week_page = str(deployed.artifacts(week)["backfill-test"]["data"])
    assert all(str(day(number)) in week_page for number in range(2, 9))
    assert {artifact["type"] for artifact in deployed.artifacts(week).values()} == {"markdown", "progress"}

    events = deployed.events("hexveil.released", n=9)
    assert sorted({event["payload"]["date"] for event in events}) == [str(day(number)) for number in range(9)]
    assert all(event["payload"]["whole_day"] is False for event in deployed.events("hexveil.withheld"))


def test_a_day_that_is_run_by_the_command_line_is_a_flow_run_at_the_server_that_is_up(deployed: Deployed) -> None:
    done = deployed.run_by_command(day(0))
    assert "577 read = 577 kept" in done.stdout
    [run] = [run for run in deployed.listed("flow_runs") if run["deployment_id"] is None]
    assert run["name"] == f"daily test {day(0)}"
    assert run["state"]["type"] == "COMPLETED"
    link = f"http://127.0.0.1:{deployed.port + 1}/test/date%3D{day(0)}/map.html"
    assert link in str(deployed.artifacts(run["id"])["day-test"]["data"])


def test_a_start_that_is_interrupted_says_how_to_stop_what_was_started(deployed: Deployed, tmp_path: Path) -> None:
    other = replace(deployed, home=tmp_path / "home", port=free_ports())
    command = [sys.executable, "-m", "flows.cli", "up", "--config", str(other.dataset.config_file)]
    begun = subprocess.Popen(
        [*command, "--home", str(other.home), "--port", str(other.port)], stderr=subprocess.PIPE, text=True
    )
    note = other.home / "server.pid"
    while not (note.exists() and note.read_text()):  # the server itself writes it, maybe before `up` knows that it runs
        time.sleep(0.001)
    begun.send_signal(signal.SIGINT)
    _, said = begun.communicate(timeout=60)
    assert (begun.returncode, said) == (130, "hexveil: interrupted; `hexveil down` stops what was started\n")
    assert "Stopped: server" in other.down().stdout


def test_a_service_is_stopped_although_its_process_is_not_yet_written_down(tmp_path: Path) -> None:
    """As when `down` comes at once after a start that was interrupted."""
    note = tmp_path / "server.pid"
    late = ["/bin/sh", "-c", 'sleep 1; echo $$ > "$0"; exec sleep 60', str(note)]
    with note.open("a") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        service = subprocess.Popen(late, start_new_session=True, pass_fds=[locked.fileno()])
    assert note.read_text() == ""
    assert services.stop(tmp_path) == ["server"]
    assert service.wait(timeout=10) == -signal.SIGTERM
    assert services.stop(tmp_path) == []


def test_a_scheduled_run_is_for_the_local_day_before_however_late_it_starts(deployed: Deployed) -> None:
    just_before_midnight = dt.datetime.combine(day(10), dt.time(5, 30), dt.UTC)
    run = deployed.ended(deployed.schedule("daily", just_before_midnight))
    assert run["state"]["type"] == "COMPLETED", run["state"]
    assert run["name"] == f"daily test {day(8)}", "05:30 UTC is 23:30 of the day before in Chicago"


def test_a_day_that_cannot_be_read_fails_with_what_to_do(deployed: Deployed) -> None:
    run = deployed.ended(deployed.start("daily", date="2026-03-01"))
    assert run["state"]["type"] == "FAILED"
    assert "no file for 2026-03-01" in run["state"]["message"]
    assert "run the day again once the file is there" in run["state"]["message"]


def test_a_worker_killed_in_a_run_has_the_run_resumed_and_nothing_charged_twice(deployed: Deployed) -> None:
    """So has a run that was submitted and had not begun: no heartbeat can tell of that one."""
    before, days = released(deployed), [str(day(number)) for number in range(9, 23)]
    running = deployed.start("backfill", first=days[0], last=days[-1])
    wait_for_releases(deployed, len(before) + 2)
    begun = deployed.engines()
    with ledger.locked(deployed.dataset.config):  # so that the backfill does not end before the other run is submitted
        n_before = len(released(deployed))
        pending = deployed.start("verify")
        while deployed.engines() == begun:
            time.sleep(0.01)
        assert deployed.run(pending)["state"]["type"] == "PENDING"
        deployed.kill_worker()
    assert len(before) + 2 <= n_before < len(before) + len(days)
    assert len(released(deployed)) == n_before
    deployed.up()
    for run_id in (running, pending):
        state = deployed.ended(run_id)["state"]
        assert state["type"] == "COMPLETED", state["message"]
        with deployed.api as api:
            states = [state["name"] for state in api.get("/flow_run_states/", params={"flow_run_id": run_id}).json()]
        assert "Resumed" in states
    assert sorted(released(deployed)) == sorted(before + days), "each day once"
    verify_ledger(deployed.dataset.config)


def test_a_house_closed_in_a_run_goes_on_where_it_was_when_it_is_opened_again(deployed: Deployed) -> None:
    run_id = deployed.start("daily", date=day(23))
    wait_for_state(deployed, run_id, "RUNNING")
    deployed.down()
    assert deployed.engines() == []
    deployed.up()
    assert deployed.ended(run_id)["state"]["type"] == "COMPLETED"
    assert released(deployed).count(str(day(23))) == 1


def test_verify_tells_where_files_and_ledger_disagree(deployed: Deployed) -> None:
    assert deployed.ended(deployed.start("verify"))["state"]["type"] == "COMPLETED"
    published = deployed.dataset.published("statistics.csv", day(3))
    content = published.read_bytes()
    published.write_bytes(content.replace(b"2026", b"2027"))
    try:
        run = deployed.ended(deployed.start("verify"))
    finally:
        published.write_bytes(content)
    assert run["state"]["type"] == "FAILED"
    [event] = deployed.events("hexveil.verify.failed")
    assert str(published) in event["payload"]["reason"]


def test_a_spent_budget_withholds_the_day_and_tells_so(deployed: Deployed) -> None:
    text = deployed.dataset.config_file.read_text()
    deployed.dataset.set(epsilon_total=1.0)
    try:
        run = deployed.ended(deployed.start("daily", date=day(0), revision="again"))
    finally:
        deployed.dataset.config_file.write_text(text)
    assert run["state"]["type"] == "FAILED"
    assert "budget.epsilon_total" in run["state"]["message"]
    assert len(deployed.events("hexveil.withheld", whole_day=True)) == 1
    assert deployed.events("hexveil.budget.low")


def test_a_run_that_crashes_time_and_again_ends_as_failed(deployed: Deployed) -> None:
    with deployed.api as api:
        pause = "/work_pools/hexveil/queues/runs-test"
        api.patch(pause, json={"is_paused": True}).raise_for_status()
        run_id = deployed.start("daily", date=day(0))
        for _ in range(5):
            crashed = {"state": {"type": "CRASHED", "message": "as a test has it"}, "force": True}
            api.post(f"/flow_runs/{run_id}/set_state", json=crashed).raise_for_status()
            wait_for_state(deployed, run_id, "SCHEDULED")
        api.patch(pause, json={"is_paused": False}).raise_for_status()
    run = deployed.ended(run_id)
    assert run["state"]["type"] == "FAILED"
    assert "interrupted 5 times" in run["state"]["message"]


def test_a_house_is_opened_twice_without_harm_and_not_over_another_programs_port(
    deployed: Deployed, tmp_path: Path
) -> None:
    pids = {path.name: path.read_text() for path in deployed.home.glob("*.pid")}
    assert set(pids) == {"server.pid", "worker.pid", "files.pid"}
    deployed.up()
    assert {path.name: path.read_text() for path in deployed.home.glob("*.pid")} == pids
    with ThreadPoolExecutor(2) as hands:
        assert all(done.returncode == 0 for done in hands.map(Deployed.up, [deployed, deployed]))
    with pytest.raises(AssertionError, match=f"port {deployed.port} is in use by another program"):
        replace(deployed, home=tmp_path).up()
    with pytest.raises(AssertionError, match=f"the services run at port {deployed.port}"):
        replace(deployed, port=deployed.port + 2).up()
    assert "Nothing was running" in replace(deployed, home=tmp_path).down().stdout


def test_nothing_planted_is_found_in_what_the_scheduler_keeps_and_says(deployed: Deployed) -> None:
    searched = planted.files_of(deployed.home) | planted.files_of(deployed.dataset.folder)
    for what in ("flow_runs", "task_runs", "artifacts", "logs", "deployments"):
        answers = deployed.listed(what)
        assert answers, what
        searched[f"answer: {what}"] = json.dumps(answers).encode()
    searched["answer: events"] = json.dumps(deployed.events("hexveil.", "prefect.flow-run")).encode()
    assert any(name.endswith("prefect.db") for name in searched)
    assert any(name.endswith("worker.log") for name in searched)
    assert planted.leaks(searched) == []
    log = searched[str(deployed.home / "worker.log")]
    assert b"planned date=" in log, "the steps' own lines are there"
    assert b"ingest" in searched["answer: logs"] or b"read file=" in searched["answer: logs"]


def wait_for_state(deployed: Deployed, run_id: str, wanted: str) -> None:
    for _ in range(600):
        if deployed.run(run_id)["state"]["type"] == wanted:
            return
        time.sleep(0.1)
    pytest.fail(str(deployed.run(run_id)["state"]))


def wait_for_releases(deployed: Deployed, n_releases: int) -> None:
    for _ in range(2000):
        if len(released(deployed)) >= n_releases:
            return
        time.sleep(0.1)
    pytest.fail((deployed.home / "worker.log").read_text()[-3000:])

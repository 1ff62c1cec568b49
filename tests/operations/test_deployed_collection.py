"""A collection as operators run it: deployed to a real server, by its schedule, with what the server keeps searched."""

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from collected import CELLS, DATE, Collected
from deployed import ZONE, Deployed, free_ports

pytestmark = pytest.mark.slow
STEPS = ("open", "localise", "estimate")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Collected:
    made = Collected(tmp_path_factory.mktemp("collection"))
    made.change('"north", "south", "empty"', '"{}", "{}", "{}"'.format(*CELLS))
    made.change("alpha = 4", f'alpha = 4\ntimezone = "{ZONE}"')
    return made


@pytest.fixture(scope="module")
def deployed(collected: Collected, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    made = Deployed(collected, tmp_path_factory.mktemp("home"), free_ports())
    said = made.up().stdout
    assert "open-phones, localise-phones, estimate-phones, backfill-phones and verify-phones" in said
    yield made
    made.down()


def scheduled(step: str) -> dt.datetime:
    """Return when a step of the period is scheduled: on the day after, in the collection's time zone."""
    hours = {"open": dt.time(0, 5), "localise": dt.time(12), "estimate": dt.time(23, 45)}
    local = dt.datetime.combine(DATE + dt.timedelta(days=1), hours[step], ZoneInfo(ZONE))
    return local.astimezone(dt.UTC)


def test_the_steps_are_scheduled_in_the_time_zone_of_the_collection(deployed: Deployed) -> None:
    crons = {}
    with deployed.api as api:
        for step in STEPS:
            found = api.get(f"/deployments/name/collect/{step}-phones").raise_for_status().json()
            [schedule] = found["schedules"]
            assert schedule["active"]
            assert schedule["schedule"]["timezone"] == ZONE
            crons[step] = schedule["schedule"]["cron"]
    assert crons == {"open": "5 0 * * *", "localise": "0 12 * * *", "estimate": "45 23 * * *"}


@pytest.fixture(scope="module")
def runs(deployed: Deployed, collected: Collected) -> dict[str, dict[str, Any]]:
    """Return the run of each step of a period, by schedule, with reports between them."""
    ended = {}
    for number, step in enumerate(STEPS, start=1):
        ended[step] = deployed.ended(deployed.schedule(f"collect_{step}", scheduled(step)))
        if number < 3:
            collected.report(number)
    return ended


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_run_by_schedule_for_the_period_that_is_over(runs: dict[str, dict[str, Any]], step: str) -> None:
    assert runs[step]["state"]["type"] == "COMPLETED", runs[step]["state"]
    assert runs[step]["name"] == f"collect {step} phones {DATE}"


@pytest.mark.usefixtures("runs")
def test_a_step_and_a_range_that_are_run_again_publish_the_same_bytes(deployed: Deployed, collected: Collected) -> None:
    before = collected.published()
    again = deployed.ended(deployed.start("collect_estimate", date=DATE))
    assert again["state"]["type"] == "COMPLETED"
    whole = deployed.ended(deployed.start("collect_backfill", first=DATE, last=DATE + dt.timedelta(days=3)))
    assert whole["state"]["type"] == "COMPLETED", whole["state"]
    assert collected.published() == before
    assert len(collected.entries()) == 3
    assert "1 of 4 periods released" in str(deployed.artifacts(whole["id"])["periods-phones"]["data"])


def test_a_period_is_shown_with_its_means_and_the_link_to_its_map(
    deployed: Deployed, runs: dict[str, dict[str, Any]]
) -> None:
    shown = deployed.artifacts(runs["estimate"]["id"])
    page = str(shown["period-phones"]["data"])
    assert "| released |" in page
    assert CELLS[0] in page
    link = f"http://127.0.0.1:{deployed.port + 1}/phones/period%3D{DATE}/map.html"
    assert link in page
    assert link in str(shown["period-map-phones"]["data"])
    with deployed.api as api:
        assert b"<html" in api.get(link).raise_for_status().content


@pytest.mark.usefixtures("runs")
def test_a_collection_is_verified_by_schedule(deployed: Deployed) -> None:
    checked = deployed.ended(deployed.start("verify"))
    assert "1 periods, 1 of them released" in str(deployed.artifacts(checked["id"])["verify-phones"]["data"])


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(("name", "told"), [("opened", {}), ("localised", {}), ("released", {"areas_published": 2})])
def test_a_step_that_is_done_is_told(deployed: Deployed, name: str, told: dict[str, int]) -> None:
    event = deployed.events(f"hexveil.{name}", date=str(DATE), **told)[0]
    assert event["resource"]["prefect.resource.id"] == "hexveil.collection.phones"
    assert event["resource"]["hexveil.date"] == str(DATE)


@pytest.mark.usefixtures("runs")
def test_the_server_keeps_nothing_of_a_device(deployed: Deployed) -> None:
    searched = {str(path): path.read_bytes() for path in deployed.home.rglob("*") if path.is_file()}
    for what in ("flow_runs", "task_runs", "artifacts", "logs"):
        searched[what] = json.dumps(deployed.listed(what)).encode()
    assert any(name.endswith("prefect.db") for name in searched)
    assert not [name for name, content in searched.items() if b"device-0" in content]


def test_a_period_without_enough_reports_is_withheld_and_told(deployed: Deployed, collected: Collected) -> None:
    later = DATE + dt.timedelta(days=10)
    assert deployed.ended(deployed.start("collect_open", date=later))["state"]["type"] == "COMPLETED"
    folder = collected.file.parent / "reports" / str(later)
    folder.mkdir(parents=True)
    (folder / "few.jsonl").write_text("\n")
    run = deployed.ended(deployed.start("collect_localise", date=later))
    assert run["state"]["type"] == "FAILED"
    assert "no area has 50 ballots" in run["state"]["message"]
    [event] = deployed.events("hexveil.withheld", date=str(later))
    assert event["resource"]["hexveil.whole_day"] == "true"

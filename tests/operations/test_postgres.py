"""Prefect with PostgreSQL in place of SQLite, as the image and larger houses have it: a real server of Debian's."""

import datetime as dt
from collections.abc import Iterator

import pytest
from deployed import FIRST, Deployed, day_rows, free_ports
from postgres import Postgres, running_postgres
from support import CONFIG, Dataset

from tasks.account import ledger
from tasks.upkeep.verify import verify_ledger

pytestmark = pytest.mark.slow
WEEK = [FIRST + dt.timedelta(days=number) for number in range(7)]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres(free_ports()) as made:
        yield made


@pytest.fixture(scope="module")
def deployed(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    dataset = Dataset(tmp_path_factory.mktemp("dataset"))
    settings = CONFIG.replace("raw/*", "raw/day_{date}.csv").replace("epsilon_total = 5.0", "epsilon_total = 50.0")
    dataset.config_file.write_text(settings)
    for day in WEEK:
        dataset.write(f"day_{day}.csv", day_rows(day))
    home, port = tmp_path_factory.mktemp("home"), free_ports()
    made = Deployed(dataset, home, port, settings={"PREFECT_SERVER_DATABASE_CONNECTION_URL": postgres.address})
    made.up()
    yield made
    made.down()


def test_a_week_is_backfilled_and_verified(deployed: Deployed, postgres: Postgres) -> None:
    run = deployed.ended(deployed.start("backfill", first=WEEK[0], last=WEEK[-1]))
    assert run["state"]["type"] == "COMPLETED", run["state"]
    assert deployed.ended(deployed.start("verify"))["state"]["type"] == "COMPLETED"
    assert [entry.stated["date"] for entry in ledger.read_entries(deployed.dataset.config)] == [
        str(day) for day in WEEK
    ]
    assert verify_ledger(deployed.dataset.config).n_releases == 7
    assert postgres.query(f"select count(*) from flow_run where name = '{run['name']}'") == "1"
    assert int(postgres.query("select count(*) from task_run where name like 'publish test-%'")) == 7
    assert len(deployed.events("hexveil.released", n=7)) == 7
    assert not list(deployed.home.glob("prefect.db*")), "nothing is kept in SQLite"


def test_what_was_run_is_there_after_a_new_start(deployed: Deployed, postgres: Postgres) -> None:
    before = postgres.query("select count(*) from flow_run where state_type = 'COMPLETED'")
    deployed.down()
    deployed.up()
    assert postgres.query("select count(*) from flow_run where state_type = 'COMPLETED'") == before
    shown = {run["name"] for run in deployed.listed("flow_runs")}
    assert f"backfill test {WEEK[0]} to {WEEK[-1]}" in shown
    again = deployed.ended(deployed.start("daily", date=WEEK[0]))
    assert again["state"]["type"] == "COMPLETED"
    assert len(ledger.read_entries(deployed.dataset.config)) == 7

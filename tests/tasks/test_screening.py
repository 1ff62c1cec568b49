"""A day on which most users have no readable value is stopped for a hundredth of its budget, once, and says so."""

import datetime as dt
import itertools
import json
import os

import polars as pl
import pytest
from screened import N_BUSES, paid, screen, write_day
from support import DATE, ENGINES, HEADER, Dataset, all_files

from dpmath.core.accounting import LARGEST_INVERSE_SCALE
from dpmath.core.currency import LAPLACE
from dpmath.estimate.screening import Screening
from tasks.account import ledger, private_files
from tasks.account.budgets import Account
from tasks.account.chain import releases
from tasks.account.releases import stopped_days
from tasks.account.screenings import SHARE, screening_of
from tasks.account.stopped import stops
from tasks.base.errors import WITHHELD, BudgetExceeded, DayStopped
from tasks.kinds.estimated.states import read_state
from tasks.kinds.stored_plan import StoredPlan
from tasks.kinds.table import load_plan
from tasks.planning.plan import make_plan, plan_release
from tasks.planning.preview import preview_plan
from tasks.release import screening as released_screening
from tasks.release.draw import release_statistics
from tasks.upkeep.verify import verify_ledger


def of_a_day(dataset: Dataset) -> int:
    return dataset.config.privacy.currency.within(dataset.config.privacy.epsilon_per_day)


def test_a_day_that_cannot_be_read_stops_and_has_cost_a_hundredth(screened: Dataset) -> None:
    write_day(screened, N_BUSES)
    with pytest.raises(
        DayStopped, match=r"2026-01-15 is stopped .* Of 24 users, about 2\d have mostly values that"
    ) as said:
        screened.run_day()
    assert isinstance(said.value, WITHHELD)
    assert "value.missing. Mend the settings and run the day again" in str(said.value)
    (stop,) = stops(ledger.read_entries(screened.config))
    losses = private_files.losses(stop, screened.config)
    assert len(losses) == N_BUSES
    assert 0.99 * of_a_day(screened) < SHARE * max(losses.values()) <= of_a_day(screened)
    assert Account(ledger.read_entries(screened.config), screened.config).total == losses
    assert not all_files(screened)
    drawn = [*private_files.releases(screened.config).iterdir(), *private_files.states(screened.config).glob("*")]
    assert not drawn, "what was drawn beside the count is nowhere"
    assert verify_ledger(screened.config).n_releases == 0
    line = ledger.ledger_path(screened.config).read_bytes()
    with pytest.raises(DayStopped) as again:
        screened.run_day()
    assert str(again.value) == str(said.value)
    assert ledger.ledger_path(screened.config).read_bytes() == line
    assert "bus0" not in line.decode() + str(said.value)


@pytest.mark.quick(1)
def test_a_day_with_a_tenth_unreadable_goes_on_within_what_a_day_may_cost(screened: Dataset) -> None:
    write_day(screened, 2)
    screened.run_day()
    (entry,) = paid(screened)
    stated, screening = entry.stated["screening"], screening_of(screened.config)
    assert screening is not None
    assert stated["verdict"] == "go on"
    assert (stated["n_asked"], abs(stated["noisy_count"] - 2) <= 12) == (N_BUSES, True)
    assert 0.9 * of_a_day(screened) * (entry.settings["privacy"]["mechanism"] == "estimated") < int(
        entry.stated["loss"]
    )
    assert int(stated["loss"]) < int(entry.stated["loss"]) <= of_a_day(screened)
    assert "HV-L54" in entry.stated["theorems"]
    manifest = json.loads(screened.published("manifest.json").read_text())
    assert manifest["screening"] == stated
    assert verify_ledger(screened.config).n_releases == 1
    files, line = all_files(screened), ledger.ledger_path(screened.config).read_bytes()
    screened.run_day()
    assert (all_files(screened), ledger.ledger_path(screened.config).read_bytes()) == (files, line)


def test_screening_a_first_day_leaves_no_question_of_it_unanswered(one: Dataset) -> None:
    """The values are 30 to 38 of 0 to 100, and noise is small: nobody asked, the centre would stay in the middle."""
    write_day(one, 0)
    one.run_day()
    (entry,) = paid(one)
    assert entry.stated["screening"]["verdict"] == "go on"
    after = read_state(entry.states["after"], one.config)
    assert after.centre == pytest.approx(34, abs=3)
    assert after.scale < 10, "it is 17 before anything is asked"


def test_without_the_setting_nothing_is_asked_or_recorded(screened: Dataset) -> None:
    screened.set(screen=False)
    write_day(screened, N_BUSES)
    screened.run_day()
    (entry,) = paid(screened)
    assert "screening" not in entry.stated
    assert "screen" not in entry.settings["value"]
    assert set(json.loads(private_files.read(private_files.plans(screened.config), entry.plan))["files"]) == {
        "cells",
        "pairs",
        "losses",
    }


@pytest.mark.slow
def test_turning_the_question_on_or_off_lets_the_estimate_go_on(one: Dataset) -> None:
    for number, (old, new) in enumerate(
        [("", ""), ("screen = true", "screen = false"), ("screen = false", "screen = true")]
    ):
        one.edit(old or "screen = true", new or "screen = true")
        write_day(one, 0, DATE + dt.timedelta(days=number))
        one.run_day(DATE + dt.timedelta(days=number))
    learned = [entry.stated["learned_from"] for entry in releases(ledger.read_entries(one.config))]
    assert learned == [0, 1, 2]
    assert verify_ledger(one.config).n_releases == 3


@pytest.mark.quick(1)
@pytest.mark.parametrize("left", ["400", "400.5"])
def test_a_user_without_budget_is_not_asked_and_moves_nothing(dataset: Dataset, left: str) -> None:
    """Buses that had a day before have half an epsilon left or nothing; the count costs 4."""
    screen(dataset, "pure", "estimated", total=left)
    before = DATE - dt.timedelta(days=1)
    write_day(dataset, 0, before, n_buses=12)
    dataset.set(screen=False)
    dataset.run_day(before)
    dataset.set(screen=True)
    write_day(dataset, 12, n_buses=60)
    dataset.run_day()
    entry = paid(dataset)[-1]
    plan = load_plan(entry.plan, dataset.config)
    spent = private_files.losses(paid(dataset)[0], dataset.config)
    assert entry.stated["screening"]["n_asked"] == len(plan.charges) == 48
    assert not spent.keys() & plan.charges.keys()
    assert abs(entry.stated["screening"]["noisy_count"]) <= 12, "the 12 whose values cannot be read were not asked"
    assert verify_ledger(dataset.config).n_releases == 2


@pytest.mark.slow
def test_so_few_users_that_the_count_cannot_tell_are_not_asked_and_pay_nothing_for_it(one: Dataset) -> None:
    one.set(epsilon_per_day=4.0)
    write_day(one, N_BUSES)
    one.prepare()
    assert any("cannot tell" in caution for caution in preview_plan(DATE, one.config)["cautions"])
    one.run_day()
    (entry,) = paid(one)
    assert "screening" not in entry.stated
    assert int(entry.stated["loss"]) == of_a_day(one)
    assert verify_ledger(one.config).n_releases == 1


def test_at_an_everyday_epsilon_a_city_of_400_buses_is_stopped(one: Dataset) -> None:
    one.set(epsilon_per_day=4.0)
    write_day(one, 400, n_buses=400)
    with pytest.raises(DayStopped, match="Of 400 users"):
        one.run_day()
    assert float(paid(one)[0].epsilon) < 0.4


@pytest.mark.slow
@pytest.mark.quick(1)
def test_a_plan_leaves_the_hundredth_aside_also_where_little_is_left(screened: Dataset) -> None:
    screened.set(epsilon_total=600)
    for number in range(2):
        date = DATE + dt.timedelta(days=number)
        write_day(screened, 0, date)
        screened.prepare(date)
        account = Account(ledger.read_entries(screened.config), screened.config)
        plan = make_plan(date, screened.config)
        may_lose = account.may_lose(date, plan.user_hashes)
        assert (plan.losses <= may_lose).all()
        assert set(plan.charges) == {screening_of(screened.config).loss(screened.config.privacy.currency)}  # type: ignore[union-attr]
        screened.run_day(date)
    assert verify_ledger(screened.config).n_releases == 2


@pytest.mark.parametrize("n_users", range(1, 5))
def test_whatever_one_user_changes_moves_the_count_by_one_at_most(
    n_users: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every pattern of missing values of users with one to three records, and every change of one user."""
    records = [1, 2, 3, 2][:n_users]

    def count(missing: tuple[int, ...]) -> int:
        private = pl.DataFrame(
            {"user_hash": [f"{user}" for user in range(n_users)], "n_records": records, "private_n_missing": missing}
        )
        return int(released_screening.screen_day(Asked(n_users), private, None, os.urandom)["screening"])  # type: ignore[arg-type]

    class Asked(StoredPlan):
        def __init__(self, n_users: int) -> None:
            self.__dict__["charges"] = {f"{user}": 1 for user in range(n_users)}

    monkeypatch.setattr(released_screening, "screening_of", lambda _: Screening(LARGEST_INVERSE_SCALE, LAPLACE))
    monkeypatch.setattr(released_screening, "describe_screening", lambda noisy_count, *_: noisy_count)
    for missing in itertools.product(*(range(n + 1) for n in records)):
        here = count(missing)
        assert here == sum(2 * lost > n for lost, n in zip(missing, records, strict=True))
        for user, n_records in enumerate(records):
            for other in range(n_records + 1):
                neighbour = (*missing[:user], other, *missing[user + 1 :])
                assert abs(count(neighbour) - here) <= 1


@pytest.mark.quick(1)
@pytest.mark.parametrize("window", ["", "\nwindow_days = 2"])
def test_a_range_stops_the_day_that_cannot_be_read_and_releases_the_others(one: Dataset, window: str) -> None:
    """The budget pays for exactly so many days; a stopped day is not planned again when the range goes on."""
    one.edit("epsilon_total = 4000", f"epsilon_total = 400{window}")
    one.set(epsilon_per_day=150)
    dates = [DATE + dt.timedelta(days=number) for number in range(2)]
    for number, date in enumerate(dates):
        write_day(one, N_BUSES * (number == 0), date)
    planned = one.plan_range(dates).plans
    with pytest.raises(DayStopped):
        release_statistics.fn(dates[0], planned[dates[0]], one.config)
    release_statistics.fn(dates[1], planned[dates[1]], one.config)
    assert list(stopped_days.fn(dates, one.config)) == dates[:1]
    assert [entry.kind for entry in paid(one)] == ["stopped", "release"]


def test_a_plan_that_is_older_than_a_stop_is_not_carried_out_beyond_the_limit(one: Dataset) -> None:
    one.set(epsilon_total=400)
    write_day(one, N_BUSES)
    one.prepare()
    plan = plan_release.fn(DATE, one.config)
    with pytest.raises(DayStopped):
        release_statistics.fn(DATE, plan, one.config)
    later = DATE + dt.timedelta(days=1)
    write_day(one, 0, later)
    one.run_day(later)
    account = Account(ledger.read_entries(one.config), one.config)
    assert max(account.total.values()) <= account.limit
    one.set(screen=False)
    with pytest.raises(BudgetExceeded):
        one.run_day()
    assert verify_ledger(one.config).n_releases == 1


@pytest.mark.quick(1)
@pytest.mark.parametrize("engine", ENGINES, ids=["local", "shards"])
def test_the_question_reads_what_could_not_be_read_as_a_number(one: Dataset) -> None:
    """Empty fields, sentinels and words are asked for alike; a value out of bounds is a value."""
    one.set(missing=[255])
    words = ["", "255", "N/A", "300", "-5", "31", "32", "33"]
    lines = [
        f"bus{bus:03},{DATE}T08:{minute:02}:00Z,47.05,8.31,{words[bus % 8] if minute < 20 else 30}"
        for bus in range(40)
        for minute in (5, 15, 25)
    ]
    one.write("day.csv", HEADER + "\n".join(lines) + "\n")
    one.run_day()
    assert abs(paid(one)[0].stated["screening"]["noisy_count"] - 15) <= 4

"""A day that the budget does not pay in full says so in its first line, or is withheld."""

import datetime as dt
import json
from decimal import Decimal

import polars as pl
import pytest
from estimates import day, released, write_day
from insider import forged
from support import CLIP_USER, DATE, Dataset, later_day, table

from tasks.account import ledger, private_files
from tasks.base import durable, frames
from tasks.base.errors import BudgetExceeded, LedgerBroken
from tasks.kinds.payment import Payment, payment_of
from tasks.kinds.table import load_plan
from tasks.planning.preview import preview_plan
from tasks.reporting.day_report import report_day
from tasks.reporting.pages import day_page, range_page
from tasks.upkeep.verify import verify_ledger


@pytest.fixture
def nearly_spent(dataset: Dataset) -> Dataset:
    """Return a dataset that pays one day of 2 in full, and of the second what 2.05 leaves in rho."""
    dataset.set(mechanism="estimated", target_error=None, definition="zcdp", epsilon_per_day=2.0, epsilon_total=2.05)
    for number in range(2):
        write_day(dataset, day(number), seed=number)
    dataset.run_day()
    return dataset


def last(dataset: Dataset) -> dict[str, object]:
    return released(dataset)[-1].stated


def test_a_day_of_which_too_little_is_paid_is_withheld_and_costs_nothing(nearly_spent: Dataset) -> None:
    before = ledger.read_entries(nearly_spent.config)
    said = r"2026-01-16 is withheld, .*: 24 of 24 users .* pay 19\.3% of it, and budget.least_share asks for 50\.0%"
    with pytest.raises(BudgetExceeded, match=said):
        nearly_spent.run_day(day(1))
    with pytest.raises(BudgetExceeded, match="is withheld"):
        preview_plan(day(1), nearly_spent.config)
    assert ledger.read_entries(nearly_spent.config) == before
    nearly_spent.set(least_share=0.2)
    with pytest.raises(BudgetExceeded, match="is withheld"):
        nearly_spent.run_day(day(1))


def test_a_budget_that_was_too_small_from_the_start_is_not_said_to_be_spent(busy_dataset: Dataset) -> None:
    busy_dataset.set(epsilon_per_day=2.0, epsilon_total=0.5)
    said = (
        r"budget.epsilon_total = 0\.5.* pays 25\.0% .* None of its users has spent anything yet\. Lower epsilon_per_day"
    )
    with pytest.raises(BudgetExceeded, match=said):
        busy_dataset.run_day()


def test_a_day_that_is_paid_in_part_says_so_first_wherever_it_is_shown(nearly_spent: Dataset) -> None:
    nearly_spent.with_map()
    nearly_spent.set(least_share=0.1)
    nearly_spent.prepare(day(1))
    planned = preview_plan(day(1), nearly_spent.config)
    sentence = "Paid in part: 24 of 24 users have too little left of the budget. As a mean over records, the day has "
    assert planned["users_short"] == 24
    assert next(iter(planned)) == "paid_in_part"
    assert planned["paid_in_part"] == f"{sentence}19.3% of epsilon_per_day."
    nearly_spent.run_day(day(1))
    entry, shown = released(nearly_spent)[-1], nearly_spent.published("map.html", day(1)).read_text()
    assert entry.stated["paid_in_part"] == {"users": 24, "users_short": 24, "share": "0.1934"}
    assert entry.paid_in_part == planned["paid_in_part"]
    manifest = json.loads(nearly_spent.published("manifest.json", day(1)).read_text())
    assert manifest["paid_in_part"] == entry.stated["paid_in_part"]
    about = shown[shown.index("</h1>") :]
    assert about[len("</h1>") :].lstrip().startswith(f"<p><strong>{sentence}")
    report = report_day(day(1), {}, nearly_spent.config)
    page = day_page(day(1), report, {}, {}, nearly_spent.config).split("\n\n")
    assert page[1].startswith(f"**{entry.paid_in_part}")
    assert f"**{day(1)}: {sentence}" in range_page({day(1): report}, {}, nearly_spent.config)
    assert sentence in (nearly_spent.config.storage_path / "published" / "index.html").read_text()
    assert verify_ledger(nearly_spent.config).n_releases == 2


def test_the_published_epsilon_is_what_the_release_cost(nearly_spent: Dataset) -> None:
    nearly_spent.set(least_share=0.1)
    nearly_spent.run_day(day(1))
    for number, cost in ((0, 2.0), (1, 0.387)):
        (epsilon,) = set(table(nearly_spent, day(number))["epsilon"])
        assert epsilon == float(released(nearly_spent)[number].epsilon) == pytest.approx(cost, abs=1e-3)


def test_one_new_user_does_not_hide_that_the_others_have_nothing_left(nearly_spent: Dataset) -> None:
    path = nearly_spent.folder / "raw" / f"day-{day(1)}.csv"
    path.write_text(path.read_text() + f"new,{day(1)}T08:00:00Z,47.05,8.31,30.0\n")
    with pytest.raises(BudgetExceeded, match=r"24 of 25 users"):
        nearly_spent.run_day(day(1))


@pytest.mark.quick(1)
@pytest.mark.parametrize("records_of_new", [1, 40])
def test_what_counts_is_how_many_records_the_users_who_are_short_have(dataset: Dataset, records_of_new: int) -> None:
    def write(date: dt.date, users: dict[str, int]) -> None:
        lines = (
            f"{user},{date}T{8 + number // 60:02}:{number % 60:02}:00Z,47.05,8.31,{20 + number % 9}"
            for user, n in users.items()
            for number in range(n)
        )
        dataset.write(f"day-{date}.csv", "bus,time,lat,lon,speed\n" + "\n".join(lines) + "\n")

    dataset.set(mechanism="estimated", epsilon_total=2.0)
    old = {f"old{number}": 10 for number in range(12)}
    write(day(0), old)
    write(day(1), old | {f"new{number}": records_of_new for number in range(12)})
    dataset.run_day()
    if records_of_new == 1:
        with pytest.raises(BudgetExceeded, match=r"12 of 24 users .* pay 9\.1%"):
            dataset.run_day(day(1))
        return
    dataset.run_day(day(1))
    assert last(dataset)["paid_in_part"] == {"users": 24, "users_short": 12, "share": "0.8000"}
    assert last(dataset)["epsilon"] == "2", "a user who is new pays the day"
    assert verify_ledger(dataset.config).n_releases == 2


@pytest.mark.slow
def test_a_promise_for_half_a_budget_is_kept_and_says_so(busy_dataset: Dataset) -> None:
    """5 in all at 2 a day, which half of the users spent on two days: on the third they have half a day left."""
    busy_dataset.set(**CLIP_USER | {"target_error": 49.0})
    for date in (DATE, later_day(busy_dataset, 1), later_day(busy_dataset, 2)):
        busy_dataset.run_day(date)
    first, second, third = released(busy_dataset)
    assert (first.paid_in_part, second.paid_in_part) == (None, None)
    assert third.stated["paid_in_part"] == {"users": 12, "users_short": 6, "share": "0.7500"}
    assert verify_ledger(busy_dataset.config).n_releases == 3


def test_verify_trusts_nothing_that_is_said_of_the_payment(nearly_spent: Dataset) -> None:
    nearly_spent.set(least_share=0.1)
    nearly_spent.run_day(day(1))
    path = ledger.ledger_path(nearly_spent.config)
    whole = path.read_bytes()
    first, second = whole.splitlines(keepends=True)
    store = nearly_spent.config.storage_path
    stated = json.loads(second)
    less = {name: value for name, value in stated.items() if name != "paid_in_part"}
    for change in (
        {"paid_in_part": {**stated["paid_in_part"], "users_short": 1}},
        {"paid_in_part": {**stated["paid_in_part"], "share": "0.9000"}},
        {"paid_in_part": None},
    ):
        path.write_bytes(first + forged(second, **change))
        (store / "private" / "ledger-head").unlink(missing_ok=True)
        (store / "release.duckdb").unlink(missing_ok=True)
        with pytest.raises(LedgerBroken, match="paid_in_part is not what users had left"):
            verify_ledger(nearly_spent.config)
    path.write_bytes(first + forged(json.dumps(less).encode()))
    with pytest.raises(LedgerBroken, match="paid_in_part is not what users had left"):
        verify_ledger(nearly_spent.config)
    plans = private_files.plans(nearly_spent.config)
    plan = json.loads((plans / stated["plan"]).read_bytes())
    silent = {**plan, "files": {name: file for name, file in plan["files"].items() if name != "budgets"}}
    made = {"plan": durable.write_named_by_hash(plans, durable.canonical_json(silent)), "code": "another"}
    path.write_bytes(first + forged(json.dumps(less).encode(), **made))
    with pytest.raises(LedgerBroken, match="the plan does not say so"):
        verify_ledger(nearly_spent.config)
    path.write_bytes(whole)
    assert verify_ledger(nearly_spent.config).n_releases == 2


@pytest.mark.slow
def test_the_share_of_very_many_different_budgets_is_that_of_fewer(dataset: Dataset) -> None:
    dataset.set(definition="zcdp")
    full = dataset.config.privacy.loss_per_day

    def paid(n: int) -> Payment:
        left = frames.exact_series(full * number // n for number in range(n))
        users = [str(number) for number in range(n)]
        return payment_of(pl.DataFrame({"user_hash": users, "n_records": [1] * n, "loss_units": left}), dataset.config)

    many, few = paid(20_000), paid(2_000)
    assert many.n_short == 20_000
    assert abs(many.share - few.share) < Decimal("0.001")


def test_a_plan_stores_budgets_only_where_somebody_is_short(nearly_spent: Dataset) -> None:
    nearly_spent.set(least_share=0.1)
    nearly_spent.run_day(day(1))
    plans = [load_plan(entry.plan, nearly_spent.config) for entry in released(nearly_spent)]
    assert plans[0].budgets is None
    assert plans[1].budgets is not None
    assert plans[1].budgets.height == 24

import datetime as dt
import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support import CLIP_USER, DATE, Dataset, examples, later_day

from dpmath.core.accounting import LOSS_UNITS
from tasks.account import ledger, private_files
from tasks.account.budgets import Account
from tasks.account.entry import Release
from tasks.base import frames
from tasks.base.errors import BudgetExceeded, HexveilError, LedgerBroken
from tasks.kinds.table import load_plan
from tasks.planning.plan import make_plan
from tasks.planning.spread import spread_budget
from tasks.reporting.budget_report import report_budget
from tasks.upkeep import verify
from tasks.upkeep.recompute import recomputed_losses


def days(dataset: Dataset, n: int) -> list[dt.date]:
    return [DATE, *(later_day(dataset, number) for number in range(1, n))]


def largest_window(losses: dict[dt.date, Counter[str]], n_days: int, date: dt.date) -> Counter[str]:
    """Return the most that each user lost within any window that holds a day, by adding up each window."""
    worst = Counter[str]()
    for start in range(1 - n_days, 1):
        window = Counter[str]()
        for shift in range(n_days):
            window += losses.get(date + dt.timedelta(days=start + shift), Counter())
        worst |= window
    return worst


@pytest.mark.parametrize("n_days", [1, 2, 3, 7])
def test_what_counts_within_a_window_is_the_largest_of_all_windows_that_hold_the_day(
    dataset: Dataset, n_days: int, rng: np.random.Generator
) -> None:
    dataset.edit("epsilon_total = 5.0", f"epsilon_total = 5.0\nwindow_days = {n_days}")
    account = Account([], dataset.config)
    losses: dict[dt.date, Counter[str]] = {}
    for _ in range(30):
        date = DATE + dt.timedelta(days=int(rng.integers(0, 20)))
        new = {user: int(rng.integers(1, 1 << 55)) for user in "abc" if rng.random() < 0.7}
        account.add(date, new)
        losses.setdefault(date, Counter()).update(new)
        asked = DATE + dt.timedelta(days=int(rng.integers(-3, 23)))
        assert account.used(asked) == largest_window(losses, n_days, asked)


def test_a_window_that_moves_on_reads_only_the_losses_that_are_new_in_it(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens the account: each release opens it anew."""
    dataset.set(definition="pure", window_days=30)
    folder = private_files.plans(dataset.config)
    entries, losses, read = [], {}, []
    for number in range(60):
        date = DATE + dt.timedelta(days=number)
        losses[date] = Counter({f"user{number % 7}": number + 1, "everybody": 1})
        frame = pl.DataFrame({"user_hash": [*losses[date]], "loss_units": [Decimal(n) for n in losses[date].values()]})
        name, totals = frames.write_frame(folder, frame), sum(losses.values(), Counter())
        total_name = frames.write_json(private_files.totals(dataset.config), totals)
        stated = {"release_id": f"{date}", "date": date.isoformat(), "losses": name, "totals": total_name}
        entries.append(Release(stated | {"definition": "pure", "delta": None}))
    real = private_files.read_losses
    monkeypatch.setattr(private_files, "read_losses", lambda *arguments: read.append(arguments) or real(*arguments))
    for number in range(1, 61):
        read.clear()
        date = DATE + dt.timedelta(days=number)
        account = Account(entries[:number], dataset.config)
        account.add(date, {"everybody": 5})
        known = {day: lost for day, lost in losses.items() if day < date} | {date: Counter({"everybody": 5})}
        assert account.used(date) == largest_window(known, 30, date)
        assert len(read) == 1
    assert Account(entries, dataset.config).used(DATE) == largest_window(losses, 30, DATE)


def test_a_loss_file_that_was_changed_before_it_was_counted_is_refused(busy_dataset: Dataset) -> None:
    busy_dataset.set(window_days=3)
    busy_dataset.run_day()
    (entry,) = ledger.read_entries(busy_dataset.config)
    path = private_files.plans(busy_dataset.config) / entry.stated["losses"]
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    account = Account([entry], busy_dataset.config)
    for _ in range(2):
        with pytest.raises(LedgerBroken, match="missing or was changed"):
            account.used(DATE)


def test_within_a_window_old_losses_come_back_and_later_days_count_too(busy_dataset: Dataset) -> None:
    """5 within any 3 days at 2 a day: the middle day of a gap is clipped to what both of its neighbours leave."""
    busy_dataset.set(definition="pure")
    busy_dataset.set(window_days=3)
    dates = days(busy_dataset, 5)
    for number in (0, 1, 3, 4):
        busy_dataset.release(dates[number])
    entries = ledger.read_entries(busy_dataset.config)
    assert [float(entry.stated["epsilon"]) for entry in entries] == pytest.approx([2, 2, 2, 2])
    assert float(entries[-1].stated["epsilon_total_after"]) == pytest.approx(8)
    busy_dataset.release(dates[2])
    entry = ledger.read_entries(busy_dataset.config)[-1]
    assert float(entry.stated["epsilon"]) == pytest.approx(1, abs=1e-3)
    assert float(entry.stated["epsilon_window_after"]) == pytest.approx(5, abs=1e-3)
    assert float(entry.stated["epsilon_left"]) == pytest.approx(0, abs=1e-3)
    assert verify.verify_ledger(busy_dataset.config).n_releases == 5


def test_a_revision_is_a_second_release_with_its_own_charge_and_files(busy_dataset: Dataset) -> None:
    busy_dataset.set(definition="pure")
    first = busy_dataset.run_day()
    before = busy_dataset.published("statistics.csv").read_bytes()
    second = busy_dataset.run_day(revision="corrected")
    assert second == f"{first}-revision-corrected"
    entries = ledger.read_entries(busy_dataset.config)
    assert [entry.stated["revision"] for entry in entries] == [None, "corrected"]
    assert Fraction(entries[1].stated["epsilon_total_after"]) == sum(
        Fraction(entry.stated["epsilon"]) for entry in entries
    )
    assert busy_dataset.published("statistics.csv").read_bytes() == before
    revised = busy_dataset.published("revision=corrected/statistics.csv").read_bytes()
    assert revised != before
    assert busy_dataset.run_day(revision="corrected") == second
    assert busy_dataset.published("revision=corrected/statistics.csv").read_bytes() == revised
    assert len(ledger.read_entries(busy_dataset.config)) == 2
    assert verify.verify_ledger(busy_dataset.config).n_releases == 2


def test_a_revision_may_change_the_grid_and_needs_a_release_and_a_sound_name(busy_dataset: Dataset) -> None:
    with pytest.raises(HexveilError, match="nothing to revise"):
        busy_dataset.run_day(revision="early")
    busy_dataset.run_day()
    for name in ("", "../up", "a" * 41, "Big", "_x", "a-b"):
        with pytest.raises(HexveilError, match="revision's name"):
            busy_dataset.run_day(revision=name)
    busy_dataset.set(h3_resolution=6)
    with pytest.raises(HexveilError, match="name a revision"):
        busy_dataset.run_day()
    assert "h3r6" in busy_dataset.run_day(revision="coarse")
    assert verify.verify_ledger(busy_dataset.config).n_releases == 2


def test_the_report_tells_the_worst_user_the_distribution_and_what_is_left_and_names_nobody(
    busy_dataset: Dataset,
) -> None:
    busy_dataset.set(definition="pure")
    assert report_budget(ledger.read_entries(busy_dataset.config), busy_dataset.config).n_users == 0
    busy_dataset.run_day()
    busy_dataset.run_day(revision="again")
    report = report_budget(ledger.read_entries(busy_dataset.config), busy_dataset.config)
    entries = ledger.read_entries(busy_dataset.config)
    account = Account(entries, busy_dataset.config)
    losses = [Fraction(loss, LOSS_UNITS) for loss in account.total.values()]
    assert Fraction(report.worst_total) == max(losses) == Fraction(entries[-1].stated["epsilon_total_after"])
    assert Fraction(report.left) == 5 - max(losses)
    assert report.n_users == sum(n_users for _, _, n_users in report.bars) == len(losses)
    assert report.deciles[0] == pytest.approx(float(min(losses)))
    assert report.deciles[-1] == pytest.approx(float(max(losses)))
    assert not any(user in str(report) for user in account.total)


@pytest.mark.slow
def test_totals_that_are_missing_are_added_up_again_and_wrong_losses_are_noticed(busy_dataset: Dataset) -> None:
    tomorrow = later_day(busy_dataset, 1)
    busy_dataset.run_day()
    busy_dataset.run_day(tomorrow)
    config = busy_dataset.config
    entries = ledger.read_entries(config)
    kept = Account(entries, config).total
    totals = private_files.totals(config) / entries[-1].stated["totals"]
    assert json.loads(totals.read_bytes()) == kept
    totals.write_bytes(b"{}")
    assert Account(entries, config).total == kept
    totals.unlink()
    assert Account(entries, config).total == kept
    (private_files.plans(config) / entries[0].stated["losses"]).unlink()
    with pytest.raises(LedgerBroken, match="missing or was changed"):
        Account(entries, config)


@pytest.mark.slow
def test_a_budget_is_spread_evenly_and_an_interrupted_spread_goes_on_with_the_same_number(
    busy_dataset: Dataset,
) -> None:
    busy_dataset.set(definition="pure")
    dates = days(busy_dataset, 9)
    config = spread_budget.fn(dates[:8], busy_dataset.config)
    assert config.privacy.epsilon_per_day == Decimal("0.625")
    busy_dataset.set(epsilon_per_day=0.625)
    busy_dataset.set(target_error=49.0)
    for date in dates[:3]:
        busy_dataset.run_day(date)
    busy_dataset.set(epsilon_per_day=2.0)
    assert spread_budget.fn(dates[:8], busy_dataset.config) == config.model_copy(
        update={"privacy": busy_dataset.config.privacy.model_copy(update={"epsilon_per_day": Decimal("0.625")})}
    )


@pytest.mark.slow
def test_what_was_spent_dearer_or_elsewhere_is_not_spread(busy_dataset: Dataset) -> None:
    busy_dataset.set(definition="pure")
    dates = days(busy_dataset, 8)
    busy_dataset.run_day(dates[0])
    left = 5 - Fraction(ledger.read_entries(busy_dataset.config)[0].stated["epsilon"])
    for range_of_days, n_days in ((dates[1:], 7), (dates, 7)):
        epsilon = spread_budget.fn(range_of_days, busy_dataset.config).privacy.epsilon_per_day
        assert 0 <= left / n_days - Fraction(epsilon) < Fraction(1, 100_000)
    busy_dataset.run_day(dates[0], "again")
    busy_dataset.set(epsilon_total=4.0)
    with pytest.raises(BudgetExceeded, match="too little is left"):
        spread_budget.fn(dates[1:], busy_dataset.config)


def test_a_window_pays_each_of_its_days_alike(busy_dataset: Dataset) -> None:
    busy_dataset.set(definition="pure", window_days=4)
    assert spread_budget.fn(days(busy_dataset, 8), busy_dataset.config).privacy.epsilon_per_day == Decimal("1.25")


@examples(12, 45)
@pytest.mark.parametrize("window", ["", "\nwindow_days = 2"])
def test_over_random_releases_revisions_retries_and_refusals_no_limit_is_ever_passed(
    busy_dataset: Dataset, window: str, n_examples: int, rng: np.random.Generator
) -> None:
    """The losses are added up from the intervals and scales of the stored plans alone."""
    busy_dataset.set(**CLIP_USER | {"target_error": 49.0})
    dates = days(busy_dataset, 5)
    busy_dataset.edit("epsilon_total = 5.0", f"epsilon_total = 4.0{window}")
    epsilons = ["2.0", "0.7", "1.3", "3.1"]
    n_refused = 0
    for _ in range(n_examples):
        old, new = f"epsilon_per_day = {busy_dataset.config.privacy.epsilon_per_day}", rng.choice(epsilons)
        busy_dataset.edit(old, f"epsilon_per_day = {new}")
        revision = [None, None, "a", "b", "c"][rng.integers(5)]
        try:
            busy_dataset.run_day(dates[rng.integers(len(dates))], revision)
        except HexveilError:
            n_refused += 1
        check_no_limit_is_passed(busy_dataset, 4, 2 if window else 10_000)
    assert n_refused >= n_examples // 9
    assert verify.verify_ledger(busy_dataset.config).n_releases >= n_examples // 9


def check_no_limit_is_passed(dataset: Dataset, limit: int, n_days: int) -> None:
    losses: dict[dt.date, Counter[str]] = {}
    for entry in ledger.read_entries(dataset.config):
        of_day = losses.setdefault(dt.date.fromisoformat(entry.stated["date"]), Counter())
        plan = load_plan(entry.stated["plan"], dataset.config)
        of_day.update(recomputed_losses(plan, dataset.config, dataset.config.privacy.currency))
    for first in losses:
        within = [of_day for date, of_day in losses.items() if 0 <= (date - first).days < n_days]
        assert max(sum(within, Counter()).values()) <= limit * LOSS_UNITS


def test_a_plan_counts_what_planned_days_before_it_would_spend(busy_dataset: Dataset) -> None:
    busy_dataset.set(definition="pure", epsilon_total=3.0)
    busy_dataset.set(target_error=49.0)
    tomorrow = later_day(busy_dataset, 1)
    for date in (DATE, tomorrow):
        busy_dataset.prepare(date)
    account = Account([], busy_dataset.config)
    first = make_plan(DATE, busy_dataset.config, account)
    account.add(DATE, dict(zip(first.user_hashes, first.losses, strict=True)))
    second = make_plan(tomorrow, busy_dataset.config, account)
    assert float(max(first.losses) / LOSS_UNITS) == pytest.approx(2)
    assert max(first.losses + second.losses) <= 3 * LOSS_UNITS
    assert Path(private_files.plans(busy_dataset.config)).exists() is False

"""Every mechanism that a configuration may name, from files to published rows, ledger and verification."""

from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from statistics import median_high

import polars as pl
import pytest
from support import DATE, HEADER, OF_SUMS, OF_SUMS_IN_BRIEF, Dataset, choose, later_day, slow, table

from dpmath.core.accounting import LOSS_UNITS
from tasks.account import chain, ledger, private_files
from tasks.base.errors import BadConfig, HexveilError, LedgerBroken, NothingToPublish
from tasks.kinds.cell_sums import kind
from tasks.kinds.cell_sums.plan import SumsPlan
from tasks.kinds.table import load_plan
from tasks.planning.spread import spread_budget
from tasks.proposals.mechanisms import MECHANISMS, PROMISING
from tasks.upkeep import verify

ARRAYS = ("array-averaging", "opt-array-averaging")
WITH_VARIANCE = ["array-averaging", "baseline", *map(slow, ("opt-array-averaging", "optimal-clipping"))]
"""The mechanisms that publish variances beside the planner's, one of each way to clip in brief."""


def users_of_cells(dataset: Dataset) -> dict[object, list[tuple[int, int]]]:
    """Return the records and total ticks of each user, by slot; users in the order of their names."""
    found = defaultdict(list)
    query = "select slot_start, n_records, total_ticks from user_cell order by slot_start, user_id"
    for slot, n_records, total in dataset.query(query):
        found[slot].append((n_records, int(total)))
    return found


def stored_losses(dataset: Dataset, number: int = 0) -> dict[str, int]:
    return private_files.losses(chain.releases(ledger.read_entries(dataset.config))[number], dataset.config)


PROJECTED = tuple(sorted(set(OF_SUMS) - set(PROMISING)))


@pytest.mark.quick(1)
@pytest.mark.parametrize("mechanism", OF_SUMS)
def test_each_mechanism_publishes_charges_and_verifies(uneven: Dataset, mechanism: str) -> None:
    uneven.set(definition="pure")
    choose(uneven, mechanism)
    uneven.run_day()
    (entry,) = ledger.read_entries(uneven.config)
    assert entry.stated["mechanism"] == mechanism
    assert 0 < Decimal(entry.stated["epsilon"]) <= 40
    assert Fraction(entry.stated["epsilon"]) == Fraction(max(stored_losses(uneven).values()), LOSS_UNITS)
    assert verify.verify_ledger(uneven.config).n_releases == 1

    published = table(uneven)
    assert published.height == entry.stated["cells"]["published"] > 0
    cells = users_of_cells(uneven)
    for row in published.iter_rows(named=True):
        users = cells[row["slot_start"]]
        assert (row["n_records"], row["n_users"]) == (sum(m for m, _ in users), len(users))
        true = sum(total for _, total in users) / row["n_records"] / 100
        if mechanism not in PROMISING:
            assert row["mean_ci95_low"] <= true <= row["mean_ci95_high"], "the interval drawn is allowed for"
            assert row["mean_error_bound"] <= 100
        else:
            assert row["mean_error_bound"] <= 40
        assert row["epsilon"] <= float(Decimal(entry.stated["epsilon"]))


@pytest.mark.parametrize("mechanism", WITH_VARIANCE)
def test_each_mechanism_that_can_publishes_the_variance(uneven: Dataset, mechanism: str) -> None:
    choose(uneven, mechanism)
    uneven.set(variance=True)
    uneven.run_day()
    assert verify.verify_ledger(uneven.config).n_releases == 1
    published = table(uneven)
    assert published.height > 0
    assert published["variance"].is_between(0, 2500).all()
    assert (published["variance_error_bound"] <= 2500).all()
    entry = ledger.read_entries(uneven.config)[0]
    assert set(entry.stated["sums"]) == {"mean", "square"}


def test_array_averaging_publishes_the_mean_of_full_arrays(uneven: Dataset) -> None:
    """With hardly any noise: users end to end, most records first, each value their mean, cut into full arrays."""
    uneven.set(definition="pure")
    choose(uneven, "array-averaging", epsilon="1000000")
    uneven.set(target_error=None)
    uneven.run_day()
    published = table(uneven)
    assert published.height == 3
    for row in published.iter_rows(named=True):
        users = sorted(users_of_cells(uneven)[row["slot_start"]], key=lambda user: -user[0])
        length = median_high([m for m, _ in users])
        places = [Fraction(total, m) for m, total in users for _ in range(min(m, length))]
        full = places[: len(places) // length * length]
        assert len(full) < row["n_records"], "some records are left out"
        assert row["mean"] == pytest.approx(float(sum(full) / len(full)) / 100, abs=0.005)


@pytest.mark.parametrize("mechanism", ARRAYS)
def test_arrays_are_charged_by_the_places_that_a_user_fills(uneven: Dataset, mechanism: str) -> None:
    uneven.set(definition="pure")
    choose(uneven, mechanism)
    uneven.run_day()
    (entry,) = ledger.read_entries(uneven.config)
    plan = load_plan(entry.stated["plan"], uneven.config)
    pairs = plan.pairs.join(plan.cells, on=["slot_start", "h3_cell"])
    losses: dict[str, int] = defaultdict(int)
    for row in pairs.iter_rows(named=True):
        assert row["mean_n_kept"] <= min(row["n_records"], row["mean_array_length"])
        losses[row["user_hash"]] += 10_000 * row["mean_n_kept"] * row["mean_inverse_scale"]
    assert losses == stored_losses(uneven)
    n_cells = pairs.group_by("user_hash").len()["len"].max()
    assert isinstance(n_cells, int)
    flat = n_cells * Fraction(entry.stated["sums"]["mean"]["epsilon_of_a_cell"])
    assert flat * Fraction(99, 100) < Fraction(entry.stated["epsilon"]) <= flat <= 40


@pytest.mark.parametrize("mechanism", PROJECTED)
def test_an_interval_and_a_sum_together_are_charged_in_full_to_everyone_in_the_arrays(
    uneven: Dataset, mechanism: str
) -> None:
    uneven.set(definition="pure")
    choose(uneven, mechanism, epsilon="20.0")
    uneven.run_day()
    assert table(uneven).height == 2, "a third cell would cost 24"
    assert set(stored_losses(uneven).values()) == {16 * LOSS_UNITS}


@pytest.mark.quick(1)
@pytest.mark.parametrize("mechanism", [*ARRAYS, *PROJECTED])
def test_a_user_who_cannot_pay_is_left_out_of_the_arrays(uneven: Dataset, mechanism: str) -> None:
    """Four of the buses were out the day before and have spent most of what they may."""
    uneven.set(definition="pure")
    choose(uneven, mechanism, epsilon="24.0")
    if mechanism in ARRAYS:
        uneven.set(target_error=None)
    later_day(uneven, 1)
    rows = (uneven.folder / "raw" / "day.csv").read_text().splitlines()
    uneven.write("day.csv", "\n".join([HEADER.strip(), *[row for row in rows[1:] if row < "bus04"]]) + "\n")
    uneven.set(epsilon_total=30.0)
    uneven.run_day()
    first = stored_losses(uneven)
    uneven.run_day(DATE.replace(day=DATE.day + 1))
    second = stored_losses(uneven, 1)
    assert verify.verify_ledger(uneven.config).n_releases == 2
    assert all(loss + second.get(user, 0) <= 30 * LOSS_UNITS for user, loss in first.items())
    entry = ledger.read_entries(uneven.config)[1]
    assert entry.stated["pairs"]["suppressed"] > 0
    newcomers = second.keys() - first.keys()
    assert len(newcomers) >= 20
    assert max(second[user] for user in newcomers) > max(second.get(user, 0) for user in first)


def test_the_published_bounds_of_a_quantile_allow_for_all_that_its_interval_takes_off(uneven: Dataset) -> None:
    """With hardly any noise: 22 of 24 buses stand still, so the upper end is drawn anywhere below the two others."""
    uneven.set(definition="pure")
    rows = [
        f"bus{bus:02},{DATE}T08:{minute:02}:00Z,47.0500,8.3100,{100 if bus > 21 else 0}"
        for bus in range(24)
        for minute in (0, 5)
    ]
    uneven.write("day.csv", HEADER + "\n".join(rows) + "\n")
    choose(uneven, "quantile", epsilon="900000", cell_epsilon="900000")
    uneven.set(user_is="record")
    uneven.run_day()
    (row,) = table(uneven).iter_rows(named=True)
    lost = 100 - row["mean_clip_high"]
    assert row["mean_clip_low"] == 0
    assert row["mean"] == pytest.approx((100 - lost) * 2 / 24, abs=0.01)
    assert row["mean_error_bound"] == pytest.approx(lost, abs=0.02), "the most that it can take off, not what it did"
    assert row["mean_ci95_low"] <= 100 * 2 / 24 <= row["mean_ci95_high"]


def test_the_quantiles_are_a_tenth_from_either_end(uneven: Dataset) -> None:
    uneven.set(definition="pure")
    rows = [f"bus{bus:02},{DATE}T08:00:00Z,47.0500,8.3100,{2 * bus}" for bus in range(40)]
    uneven.write("day.csv", HEADER + "\n".join(rows) + "\n")
    choose(uneven, "quantile", epsilon="900000", cell_epsilon="900000")
    uneven.set(user_is="record")
    uneven.run_day()
    (row,) = table(uneven).iter_rows(named=True)
    assert 2 * 3 < row["mean_clip_low"] <= 2 * 4, "four of forty are below"
    assert 2 * 35 < row["mean_clip_high"] <= 2 * 36, "four of forty are above"


@pytest.mark.parametrize("mechanism", [*ARRAYS, *PROJECTED])
def test_noise_that_is_not_the_plans_is_never_released(
    uneven: Dataset, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(uneven, mechanism)
    row = MECHANISMS[mechanism]
    honest = row.draws_cell
    assert honest is not None
    cheat = replace(row, draws_cell=lambda c, t, epsilon, r: honest(c, t, 4 * epsilon, r))
    monkeypatch.setitem(MECHANISMS, mechanism, cheat)
    with pytest.raises(HexveilError, match="not that of the plan"):
        uneven.run_day()
    assert ledger.read_entries(uneven.config) == []
    assert not uneven.published("statistics.parquet").exists()


@pytest.mark.quick(2)
@pytest.mark.parametrize("mechanism", OF_SUMS_IN_BRIEF)
@pytest.mark.parametrize("name", ["inverse_scale", slow("divisor"), slow("bias")])
def test_verify_notices_a_plan_whose_columns_do_not_follow_from_its_users(
    uneven: Dataset, mechanism: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = SumsPlan.cell_frame

    def tampered(plan: SumsPlan) -> pl.DataFrame:
        frame, column = honest(plan), f"mean_{name}"
        return frame.with_columns((pl.col(column).cast(pl.Int64) * 2 + 1).cast(frame[column].dtype))

    choose(uneven, mechanism, epsilon="10.0", cell_epsilon="3.0")
    monkeypatch.setattr(SumsPlan, "cell_frame", tampered)
    try:
        uneven.run_day()
    except HexveilError:
        assert ledger.read_entries(uneven.config) == []
        return
    with pytest.raises(LedgerBroken, match="entry 1"):
        verify.verify_ledger(uneven.config)


@pytest.mark.quick(2)
@pytest.mark.parametrize("mechanism", OF_SUMS_IN_BRIEF)
def test_verify_notices_a_table_that_promises_another_error_or_noise(
    uneven: Dataset, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(uneven, mechanism)
    honest = kind.statistic_frame
    monkeypatch.setattr(
        kind, "statistic_frame", lambda *given: honest(*given).with_columns(pl.col("mean_noise_scale") / 2)
    )
    uneven.run_day()
    with pytest.raises(LedgerBroken, match="released table is not what was planned"):
        verify.verify_ledger(uneven.config)


@pytest.mark.parametrize("mechanism", WITH_VARIANCE)
def test_a_target_of_more_than_half_the_range_promises_half_of_it(uneven: Dataset, mechanism: str) -> None:
    choose(uneven, mechanism)
    uneven.set(target_error=80.0)
    uneven.run_day()
    published = table(uneven)
    assert published.height == 3
    assert (published["mean_error_bound"] <= 50.01).all()


def test_a_spread_budget_spreads_what_a_cell_costs_too(uneven: Dataset) -> None:
    uneven.set(definition="pure")
    choose(uneven, "levy", epsilon="24.0")
    uneven.set(epsilon_total=40.0)
    spread = spread_budget.fn([DATE.replace(day=1 + n) for n in range(8)], uneven.config).privacy
    assert spread.epsilon_per_day == 5
    assert spread.cell_epsilon is not None
    assert Decimal("4.9999") < 3 * spread.cell_epsilon <= 5


def test_a_day_without_a_cell_is_told_what_its_mechanism_can_change(uneven: Dataset) -> None:
    choose(uneven, "levy", cell_epsilon="0.001")
    with pytest.raises(NothingToPublish, match=r"Raise privacy\.cell_epsilon"):
        uneven.run_day()


def test_array_averaging_says_when_no_cell_can_keep_its_promise(uneven: Dataset) -> None:
    choose(uneven, "array-averaging", epsilon="0.01")
    with pytest.raises(NothingToPublish):
        uneven.run_day()


@pytest.mark.parametrize(
    ("mechanism", "old", "new", "said"),
    [
        ("levy", "[storage]", "[statistics]\nvariance = true\n[storage]", "levy has no variance"),
        ("quantile", "[storage]", "[statistics]\nvariance = true\n[storage]", "quantile has no variance"),
        ("levy", "cell_epsilon = 8.0", "", "needs cell_epsilon"),
        ("levy", "cell_epsilon = 8.0", "cell_epsilon = 8.0\ntarget_error = 9.0", "can promise no error"),
        ("quantile", "cell_epsilon = 8.0", "cell_epsilon = 41.0", "must be at most epsilon_per_day"),
        ("planned", "target_error = 40.0", "cell_epsilon = 1.0", "remove cell_epsilon"),
        ("planned", "target_error = 40.0", 'count = "records"', "remove count"),
        ("exact", "target_error", 'count = "cells"\ntarget_error', "remove count"),
        ("estimated", "mechanism", 'count = "records"\nmechanism', "remove count"),
        ("planned", "target_error", 'count = "users"\ntarget_error', "'records' or 'cells', not users"),
    ],
)
def test_what_a_mechanism_cannot_do_is_refused_when_the_configuration_is_read(
    uneven: Dataset, mechanism: str, old: str, new: str, said: str
) -> None:
    uneven.set(definition="pure")
    choose(uneven, mechanism)
    uneven.edit(old, new)
    with pytest.raises(BadConfig, match=said):
        _ = uneven.config


@pytest.mark.parametrize("mechanism", WITH_VARIANCE)
def test_without_a_target_all_of_the_days_epsilon_is_spent_and_no_promise_is_worse_than_the_midpoints(
    uneven: Dataset, mechanism: str
) -> None:
    choose(uneven, mechanism, epsilon="3.0")
    uneven.set(target_error=None)
    uneven.run_day()
    assert all(bound <= 50.01 for bound in table(uneven)["mean_error_bound"])
    charged = Fraction(ledger.read_entries(uneven.config)[0].stated["epsilon"])
    assert Fraction(2) < charged <= 3

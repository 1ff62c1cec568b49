"""What the planner counts where it chooses cells: the records in them, or the cells."""

from fractions import Fraction

import numpy as np
import pytest
from support import DATE, OF_SUMS, Dataset, choose, occupancy_of

from dpmath.core.currency import GAUSSIAN, PURE, Concentrated
from dpmath.core.occupancy import Occupancy
from tasks.account import ledger
from tasks.account.chain import releases
from tasks.base.config_privacy import DEFAULT_DELTA
from tasks.kinds.table import load_plan
from tasks.planning.preview import preview_plan
from tasks.proposals.mechanisms import propose
from tasks.proposals.request import Request
from tasks.upkeep import verify

CELLS = ('mechanism = "planned"', 'mechanism = "planned"\ncount = "cells"')


@pytest.fixture
def planned(busy_dataset: Dataset) -> Dataset:
    busy_dataset.set(definition="pure")
    choose(busy_dataset, "planned")
    return busy_dataset


def a_crowd_and_loners() -> Occupancy:
    """Twelve users share a cell, and each has one of a single record alone."""
    return occupancy_of([[10] * 12, *np.eye(12, dtype=int).tolist()])


def test_records_are_recorded_and_an_entry_without_it_counted_cells(planned: Dataset) -> None:
    records = planned.config
    planned.edit(*CELLS)
    cells = planned.config
    assert records.public_settings()["privacy"]["count"] == "records"
    assert "count" not in cells.public_settings()["privacy"]
    for config in (records, cells):
        assert records.with_settings(config.public_settings()) == config
        assert cells.with_settings(config.public_settings()) == config


@pytest.mark.slow
def test_releases_of_both_verify_under_either_configuration(planned: Dataset) -> None:
    planned.set(epsilon_per_day=20.0)
    planned.run_day()
    planned.edit(*CELLS)
    planned.run_day(revision="cells")
    counted = [entry.settings["privacy"].get("count") for entry in releases(ledger.read_entries(planned.config))]
    assert counted == ["records", None]
    assert verify.verify_ledger(planned.config).n_releases == 2
    planned.edit(*reversed(CELLS))
    assert verify.verify_ledger(planned.config).n_releases == 2


@pytest.mark.slow
def test_a_plan_names_its_bound_by_what_is_counted(planned: Dataset) -> None:
    planned.prepare()
    by_records = preview_plan(DATE, planned.config)
    planned.edit(*CELLS)
    planned.prepare()
    by_cells = preview_plan(DATE, planned.config)
    assert by_records["records_covered"] == by_records["records_upper_bound"] == 288
    assert by_cells["cells_published"] == by_cells["cells_upper_bound"] == 2
    assert "cells_upper_bound" not in by_records
    assert "records_upper_bound" not in by_cells
    plan = load_plan(by_cells["plan_hash"], planned.config)
    assert "count" not in plan.settings["privacy"]


@pytest.mark.parametrize("mechanism", OF_SUMS)
def test_only_the_planner_counts(mechanism: str) -> None:
    of = Request(a_crowd_and_loners(), [10_000], Fraction(501, 100), Fraction(1, 5), None)
    if mechanism in ("levy", "quantile"):
        of = Request(a_crowd_and_loners(), [10_000], Fraction(8), None, None, Fraction(4))
    by_records, by_cells = (
        propose(mechanism, Request(**{**vars(of), "count": count})).sums[0].published for count in ("records", "cells")
    )
    assert by_records.tolist() == by_cells.tolist() or mechanism == "planned"
    if mechanism == "planned":
        assert (by_records[0], by_cells[0]) == (True, False)
        assert by_records.sum() < by_cells.sum()


@pytest.mark.slow
@pytest.mark.theorem("HV-L49")
def test_a_plan_scaled_to_rho_counts_records_too() -> None:
    currency = Concentrated(DEFAULT_DELTA)
    alone = Fraction(currency.epsilon(currency.of_noise(GAUSSIAN, 1, PURE.within(Fraction(501, 100)))))
    of = Request(a_crowd_and_loners(), [10_000], alone, Fraction(1, 5), None, None, currency, GAUSSIAN)
    by_records, by_cells = (
        propose("planned", Request(**{**vars(of), "count": count})).sums[0].published for count in ("records", "cells")
    )
    worth = of.occupancy.cell_records
    assert worth[by_records].sum() > worth[by_cells].sum()
    assert by_records.sum() < by_cells.sum()

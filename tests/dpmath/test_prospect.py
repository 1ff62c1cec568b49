"""What a day is expected to be worth by the prior: a constant's error, and the error under several charges."""

from dataclasses import replace

import numpy as np
import pytest

from dpmath.core.occupancy import Occupancy
from dpmath.estimate.asked import Asked, Guess
from dpmath.estimate.charges import charges, reach_of
from dpmath.estimate.day import Day
from dpmath.estimate.measurement import Norm
from dpmath.estimate.prospect import (
    USUAL_DEVIATION,
    constant_deviation,
    deviation_of_spread,
    error_of,
    expected_deviation,
    first_deviations,
    prior_state,
    prospects,
)
from dpmath.estimate.view import View, scale_of

NORMS: list[Norm] = ["l1", "l2"]
UNIT = {"l1": 1 << 50, "l2": 1 << 101}


def a_day(n_users: int = 40, n_hexagons: int = 8, n_slots: int = 4) -> Day:
    rng = np.random.default_rng(5)
    n_cells = n_hexagons * n_slots
    counts = rng.integers(1, 9, (n_cells, n_users)) * (rng.random((n_cells, n_users)) < 0.15)
    counts[np.arange(n_cells), rng.integers(0, n_users, n_cells)] += 1
    cell, user = np.nonzero(counts)
    number = np.arange(n_hexagons)
    return Day(
        Occupancy(cell, user, counts[cell, user], n_cells, n_users),
        hexagon=np.arange(n_cells) // n_slots,
        slot=np.arange(n_cells) % n_slots,
        names=100 + number,
        position=np.column_stack([number % 3, number // 3, 0 * number]).astype(float),
        spacing=1.0,
        n_slots=n_slots,
        covariates=np.zeros((n_cells, 0)),
    )


def asked_of(norm: Norm, limit: int | None = None) -> Asked:
    day, limit = a_day(), limit or UNIT[norm]
    radius = reach_of(None, limit, day.occupancy.n_users, norm)
    return Asked(day, 1000, radius, {one.name: one for one in charges(False, limit, norm)}, norm)


@pytest.mark.theorem("HV-E3")
def test_a_constant_errs_by_what_cells_vary_about_their_mean() -> None:
    """The coefficients' functions as a dense matrix, less their mean over records, must give the same variances."""
    asked = asked_of("l2")
    state = prior_state(asked, USUAL_DEVIATION)
    day, view = asked.day, View.of(asked.day, state, asked.covariates)
    matrix = view.rows.times(np.eye(state.mean.size))
    records = day.occupancy.cell_records
    centred = matrix - np.average(matrix, axis=0, weights=records)
    residual = np.bincount(day.occupancy.cell, view.share_of_cell**2 * view.residual_variance, matrix.shape[0])
    varies = centred**2 @ (state.lasting + state.of_the_day)
    found = constant_deviation(state, asked)
    assert found**2 == pytest.approx(varies + view.cell_variance + residual)
    assert error_of(found, asked) == pytest.approx(np.average(found, weights=records) * np.sqrt(2 / np.pi))


@pytest.mark.theorem("HV-E3", "HV-E4")
@pytest.mark.parametrize("spread", [0.5, 6.0, 12.0])
def test_the_deviation_is_the_one_at_which_a_constant_errs_so_much(spread: float) -> None:
    asked = asked_of("l2")
    deviation = deviation_of_spread(spread, asked)
    state = prior_state(asked, deviation)
    assert error_of(constant_deviation(state, asked), asked) == pytest.approx(spread, rel=0.01)
    assert state.scale == scale_of(asked.day.occupancy, deviation)


@pytest.mark.theorem("HV-E2", "HV-E3")
@pytest.mark.parametrize("norm", NORMS)
def test_a_larger_budget_errs_less_and_only_a_small_one_is_worse_than_a_constant(norm: Norm) -> None:
    several = [asked_of(norm, UNIT[norm] * share // 100) for share in (1, 10, 100, 10_000)]
    found = list(prospects(several, USUAL_DEVIATION))
    errors = [error_of(one, asked) for one, asked in zip(found, several, strict=True)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1.2 * errors[-1]
    state = prior_state(several[0], USUAL_DEVIATION)
    constant = error_of(constant_deviation(state, several[0]), several[0])
    assert errors[0] > constant > errors[2], "with next to no budget, not even the mean of the day is known"
    for one, asked in zip(found, several, strict=True):
        assert np.array_equal(one, expected_deviation(state, asked)[0]), "several at once change nothing"


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("norm", NORMS)
def test_a_first_day_errs_less_with_more_budget_and_with_a_better_guess(norm: Norm) -> None:
    """With a tiny budget cells err by what is guessed of their centre and of themselves; a constant by the latter."""
    several = [first(norm, UNIT[norm] * share // 10_000) for share in (1, 100, 10_000, 1_000_000)]
    found = [first_deviations(asked) for asked in several]
    errors = [error_of(deviation, asked) for (deviation, _), asked in zip(found, several, strict=True)]
    assert errors == sorted(errors, reverse=True)
    (nothing, constant), (much, same) = found[0], found[-1]
    assert constant == pytest.approx(same)
    assert error_of(much, several[0]) < 0.7 * error_of(constant, several[0])
    centre = several[0].guess.deviation
    assert np.average(nothing**2) == pytest.approx(np.average(constant**2) + centre**2, rel=0.1)
    known = replace(several[1], guess=Guess(50.0, 1.0, 12.5, 1.0))
    assert error_of(first_deviations(known)[0], known) < errors[1]


def first(norm: Norm, limit: int) -> Asked:
    asked = asked_of(norm, limit)
    return replace(asked, charges={one.name: one for one in charges(True, limit, norm)})

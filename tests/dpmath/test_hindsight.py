"""What is known of a day after later days: against one textbook conditioning on the sums of all days."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import Textbook, a_city, a_state, a_taken, alike_in_cells, known_of

from dpmath.estimate.covariates import covariates
from dpmath.estimate.hindsight import Later, known_after
from dpmath.estimate.posterior import Taken, told_by, with_shocks
from dpmath.estimate.state import State
from dpmath.estimate.view import View

SHOCKS = np.array([3.0, 1.7])


def a_later_state() -> tuple[State, View, list[Taken]]:
    """Return what is known before a day but with later days, the day as it is seen with its own sums too, and these.

    How a day is seen depends on what is known, and how its sums are kept on how it is seen: the one that is looked for
    agrees with itself.
    """
    day, rng = a_city(), np.random.default_rng(11)
    others = a_state(day)
    view = View.of(day, others, covariates(day, True))
    taken = [a_taken(view, 9, rng), a_taken(view, 5, rng)]
    for _ in range(30):
        _, told = with_shocks(view, told_by(view, taken), SHOCKS)
        view = View.of(day, replace(others, told=(*others.told, told)), covariates(day, True))
    return others, view, taken


@pytest.mark.theorem("HV-E31")
def test_a_day_is_known_as_if_it_had_come_last() -> None:
    """Mean and covariance of its cells, and what they share with other days: one conditioning on all sums at once."""
    others, view, taken = a_later_state()
    mean, errors, lasting, _ = known_after(view, taken, SHOCKS, Later(view.state, view.state))
    model = Textbook(view, (SHOCKS[0], SHOCKS[1]))
    n_states = model.n_states
    model.mean[:n_states], model.covariance[:n_states, :n_states] = known_of(replace(others, scales=view.state.scales))
    found, left = model.given(view, taken)
    assert mean == pytest.approx(np.clip(others.centre + model.of_means @ found, 0, 100), abs=1e-6)
    assert np.abs(mean - np.clip(view.expected, 0, 100)).max() > 1
    covariance = model.of_means @ left @ model.of_means.T
    covariance += alike_in_cells(view.day, view.residual_variance - view.alike_variance)
    every = np.eye(view.day.occupancy.n_cells)
    assert errors.times(every) == pytest.approx(covariance, abs=1e-6 * covariance.max())
    with_lasting = model.of_means @ left[:, :n_states]
    shared = with_lasting @ np.linalg.solve(left[:n_states, :n_states], with_lasting.T)
    assert lasting.times(every) == pytest.approx(shared, abs=1e-6 * covariance.max())
    assert 0.1 < np.trace(shared) / np.trace(covariance) < 0.9

"""What a day differs by from what lasts: against dense matrices, and that what is listed is so."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import Textbook, a_city, a_taken, a_view, asked_of, run, values_of
from scipy.stats import norm

from dpmath.estimate.departures import FALSE_DISCOVERIES, Departures, departures, much_of
from dpmath.estimate.posterior import solved, told_by
from dpmath.estimate.programme import programme

PARENT = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])


@pytest.mark.theorem("HV-E9")
def test_departures_are_those_of_the_dense_joint_gaussian() -> None:
    day, rng = a_city(), np.random.default_rng(5)
    view = a_view(day)
    taken = [a_taken(view, 9, rng), a_taken(view, 5, rng)]
    found = solved(view, told_by(view, taken), taken)
    model, records = Textbook(view), day.occupancy.cell_records
    mean, left = model.given(view, taken)
    number = np.arange(mean.size)
    of_the_day = model.of_means * ((number >= model.n_states) & (number < 2 * model.n_states))
    departing = departures(found, day, PARENT)
    for holds in departing.holds:
        for area in np.unique(holds):
            share = (holds == area) * records / records[holds == area].sum()
            expected, variance = share @ of_the_day @ mean, share @ of_the_day @ left @ of_the_day.T @ share
            assert departing.mean[area] == pytest.approx(expected, rel=1e-6, abs=1e-9)
            assert departing.deviation[area] ** 2 == pytest.approx(variance, rel=1e-5)
    sizes = [np.unique(holds).size for holds in departing.holds]
    assert sizes == [1, 6, 3, 10, 60, 18, 18]
    spread = np.average((found.mean - np.average(found.mean, weights=records)) ** 2, weights=records)
    assert departing.beyond == much_of(found, records) == pytest.approx(np.sqrt(spread) / 4)


@pytest.mark.theorem("HV-E9")
@pytest.mark.statistical
def test_of_the_areas_listed_a_tenth_at_most_are_false() -> None:
    """Truth is drawn as the theorem says: of 2,000 lists of 200 areas the mean share has a deviation below .004."""
    rng, shares, alone, n_listed = np.random.default_rng(), [], [], 0
    for _ in range(2000):
        mean, deviation = rng.normal(0, 3, 200), rng.uniform(0.5, 6, 200)
        is_usual = np.sign(mean) * (mean + deviation * rng.normal(size=200)) <= 2.0  # or off the other way
        listed = Departures(np.arange(200)[None], mean, deviation, 2.0).unusual()
        shares.append(is_usual[listed].mean() if listed.any() else 0.0)
        alone.append(is_usual[np.abs(mean) > 2.0].mean())
        n_listed += listed.sum()
    assert 0.08 < np.mean(shares) < FALSE_DISCOVERIES + 0.01
    assert n_listed > 2000 * 30
    assert np.mean(alone) > 0.12, "the estimate alone lists more false ones"


@pytest.mark.theorem("HV-E9")
def test_a_list_is_the_longest_whose_mean_probability_of_being_usual_is_a_tenth() -> None:
    mean, deviation = np.array([5.0, 3.0, 2.6, 0.0, -4.0]), np.array([1.0, 1.0, 1.0, 1.0, 1.0])
    usual = norm.cdf(2 - np.abs(mean))
    order = np.argsort(usual)
    expected = max(n for n in range(6) if n == 0 or usual[order[:n]].mean() <= 0.1)
    listed = Departures(np.arange(5)[None], mean, deviation, 2.0).unusual()
    assert set(np.flatnonzero(listed)) == set(order[:expected])
    assert Departures(np.arange(5)[None], mean, deviation, 2.0).unusual(0.3).sum() <= expected
    both = np.array([[0, 3, 3, 3, 3], [3, 3, 3, 3, 4]])
    assert Departures(both, mean, deviation, 2.0).unusual().tolist() == [True, False, False, False, True]


@pytest.mark.theorem("HV-E9")
def test_a_city_that_is_slower_for_a_day_is_unusual_and_a_day_like_others_is_not() -> None:
    """Noise is drawn once: that no area of four days is listed is a matter of chance."""
    state, found, random_bytes = None, [], np.random.default_rng(6).bytes
    for number in range(5):
        day = a_city(seed=number, n_users=150, n_hexagons=10, n_slots=6)
        totals = values_of(day, seed=number)
        totals = (totals * 0.6).astype(np.int64) if number == 4 else totals
        asking = programme(state, replace(asked_of(day, "l2", 80 << 101, first=state is None), n_days=1))
        estimate, _ = run(asking, day, totals, random_bytes)
        state = estimate.state
        found.append(departures(estimate, day, PARENT).unusual().mean())
    assert max(found[:4]) == 0.0
    assert found[4] > 0.9


@pytest.mark.theorem("HV-E9")
def test_what_is_hardly_known_is_not_unusual_though_it_is_likely_to_be_far_off() -> None:
    found = Departures(
        np.array([[0, 1, 2, 3]]), np.array([0.3, -0.2, 30.0, -30.0]), np.array([8.0, 8.0, 2.0, 2.0]), 0.16
    )
    assert found.unusual().tolist() == [False, False, True, True]

"""The law of the city's records: from noisy shares, and as the law from which cells' laws are tilted."""

import numpy as np
import pytest
from law_days import BINS, VALUES, a_law

from dpmath.estimate import law_city
from dpmath.estimate.law_bins import N_BINS
from dpmath.estimate.law_city import Guess, city_base, city_law, thresholds
from dpmath.estimate.law_tilt import half_points, plain_laws, tilted

pytestmark = pytest.mark.theorem("HV-E10")


def a_guess(width: float, atom: float, mean: np.ndarray, deviation: float = 2.0, seed: int = 0) -> Guess:
    """Return what is supposed of cells with some means, each of which counts for something else."""
    weight = np.random.default_rng(seed).uniform(1, 9, mean.size)
    return Guess(width, atom, *half_points(mean, np.full(mean.size, deviation)), weight, BINS)


def of_city(base: np.ndarray, guess: Guess) -> np.ndarray:
    """Return the law of all records if a cell's is the base, tilted."""
    return guess.share @ plain_laws(base, VALUES)


@pytest.mark.parametrize("seed", range(3))
def test_the_cells_laws_add_up_to_that_of_the_city(seed: int) -> None:
    rng, target = np.random.default_rng(seed), a_law(seed)
    mean = np.clip(target @ VALUES + rng.normal(size=80) * 5, 1, 90)
    guess = a_guess(100.0, 0.1, mean, seed=seed)
    mean += target @ VALUES - np.average(mean, weights=guess.weight)
    guess = a_guess(100.0, 0.1, mean, seed=seed)
    of_noise = {noise: of_city(city_base(guess, target, noise), guess) for noise in (0.0, 0.1)}
    off = {noise: float(np.abs(np.cumsum(law - target)).max()) for noise, law in of_noise.items()}
    assert off[0.0] < 0.02
    assert off[0.0] < off[0.1] <= 0.05, "what may be noise is left"


def a_narrow_city(spread: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return cells' means about 60 points, and the law of their records, which differ by so much from them."""
    mean = rng.normal(60, 2, 300)
    records = (rng.normal(mean, spread, (4_000, 300)) * 100).round() / 100
    return mean, np.bincount(np.ceil(records).astype(int).ravel(), minlength=N_BINS) / records.size


@pytest.mark.parametrize("wrong", [1.0, 10.0])
def test_records_lie_about_their_mean_as_measured_also_where_none_were_before(wrong: float) -> None:
    """Values 12 points lower than all that were seen, as on a cold day: the laws moved as a whole, and keep their form.

    What the map says of one record may be ten times what it is; the noisy shares tell.
    """
    rng, spread = np.random.default_rng(3), 1.5
    mean, true = a_narrow_city(spread, rng)
    trials = [a_guess(wrong * spread**2 * width, atom, mean, 0.3) for atom in (0.1, 0.0) for width in law_city._WIDTHS]
    points = thresholds(trials[0], [50.0])
    below = np.stack([BINS.shares_below(point) for point in points])
    off = below @ true - below @ np.diff(trials[0].city, prepend=0.0) + rng.normal(0, 0.02, points.size)
    likely, law, _ = city_law(trials, points, off, 0.02)
    assert likely.atom == 0
    base = city_base(likely, law, 0.02)
    for moved in (0.0, -12.0, -30.0, 20.0):
        found = tilted(base, VALUES, np.array([60 + moved]))[0]
        deviation = np.sqrt(found @ VALUES**2 - (found @ VALUES) ** 2)
        assert 0.5 * spread < deviation < 1.5 * spread, f"moved by {moved}"


@pytest.mark.parametrize(("atom", "fluke"), [(0.0, 0.15), (0.3, -0.15)])
def test_one_noisy_share_makes_no_atom_and_takes_none_where_those_above_it_say_otherwise(
    atom: float, fluke: float
) -> None:
    """A false atom is far from all records, and on a colder day the tilted laws would be most of it."""
    rng = np.random.default_rng(4)
    mean, true = a_narrow_city(1.5, rng)
    true = (1 - atom) * true + atom * np.eye(N_BINS)[0]
    widths = (2.25 + atom * (1 - atom) * 60**2) * law_city._WIDTHS
    trials = [a_guess(width, one, (1 - atom) * mean, 0.3) for one in (0.1, 0.0) for width in widths]
    points = thresholds(trials[0], [50.0])
    below = np.stack([BINS.shares_below(point) for point in points])
    off = below @ true - below @ np.diff(trials[0].city, prepend=0.0)
    likely, _, _ = city_law(trials, points, off + fluke * (points == 0), 0.06)
    assert (likely.atom > 0) == (atom > 0)


def test_thresholds_are_the_limits_the_lower_bound_and_points_that_share_the_records() -> None:
    guess = a_guess(200.0, 0.1, np.array([25.0]))
    found = thresholds(guess, [30.0, 50.0])
    assert {0.0, 30.0, 50.0} <= set(found.tolist())
    assert 5 <= found.size <= 12
    assert (np.diff(found) > 0).all()
    assert thresholds(guess, range(1, 60)).size == 12


@pytest.mark.parametrize("noise", [1e-4, 20.0])
def test_the_citys_law_is_as_answered_without_noise_and_as_guessed_with_much(noise: float) -> None:
    true, mean = np.cumsum(a_law(2)), np.full(3, a_law(2) @ VALUES)
    trials = [a_guess(200 * width, atom, mean) for atom in (0.1, 0.0) for width in law_city._WIDTHS]
    points = thresholds(trials[0], [30.0])
    off = np.interp(points, np.arange(N_BINS), true - trials[0].city)
    guess, law, left = city_law(trials, points, off, noise)
    assert guess.atom == 0.1 or noise > 1
    found, there = np.cumsum(law)[points.astype(int)], np.diag(left)[points.astype(int)]
    assert (np.sqrt(there) < 1e-3).all() == (noise < 0.1), "what is not told of is not known"
    wanted = true if noise < 0.1 else guess.city
    assert np.abs(found - wanted[points.astype(int)]).max() < 0.05
    assert (law >= 0).all()

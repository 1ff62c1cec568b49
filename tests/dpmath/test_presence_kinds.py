"""Kinds of day where presence is secret: what is parted, against an oracle, and a made city's weekends."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from secret_city import a_city, a_prior, small

from dpmath.core.currency import Concentrated
from dpmath.presence.basis import Basis, Grid
from dpmath.presence.fields import Field, Seen, learned
from dpmath.presence.intervals import limits
from dpmath.presence.kinds import N_KINDS, WEEKDAY, apart_of, taken_apart, together
from dpmath.presence.programme import asked_for_real, programme
from dpmath.presence.state import Asked, asked_of
from dpmath.presence.user_cells import capped
from tasks.records.synthetic_people import N_SLOTS, VALUE_RANGE, City, a_day

CAP = 20
SATURDAY, SUNDAY = 1, 2
PRIOR = a_prior(0.4)


def seen_of(field: Field, basis: Basis, seed: int, own: bool = True) -> Field:
    """Return what is known of a surface after a number of each cell was seen."""
    rng, n_cells = np.random.default_rng(seed), basis.matrix.shape[0]
    seen = Seen(np.ones(n_cells), rng.normal(size=n_cells), rng.uniform(0.2, 2, n_cells))
    return learned(field if own else replace(field, own_variance=np.full(n_cells, 1e-12)), basis, seen).field


@pytest.mark.theorem("HV-E29")
def test_what_a_day_of_a_kind_teaches_is_parted_as_a_dense_posterior_of_both_parts_says() -> None:
    grid, basis = small()
    common = seen_of(PRIOR.field(basis), basis, 1, own=False)
    apart = seen_of(replace(PRIOR.times(0.2), level=0.0).field(basis), basis, 2, own=False)
    rng, n = np.random.default_rng(3), grid.n_cells
    seen = Seen(rng.uniform(0.5, 2, n), rng.normal(size=n), rng.uniform(0.2, 2, n))
    whole = together(common, apart)
    found = taken_apart(whole, learned(whole, basis, seen).field, basis)
    rows = seen.slope[:, None] * np.tile(basis.matrix.toarray(), 2)
    both = np.zeros((2 * common.mean.size,) * 2)
    half = slice(None, common.mean.size), slice(common.mean.size, None)
    both[half[0], half[0]], both[half[1], half[1]] = common.covariance, apart.covariance
    mean = np.concatenate([common.mean, apart.mean])
    gain = both @ rows.T @ np.linalg.inv(rows @ both @ rows.T + np.diag(seen.noise))
    expected = mean + gain @ (seen.number - rows @ mean - seen.slope * (common.own + apart.own))
    left = both - gain @ rows @ both
    for part, columns in zip(found, half, strict=True):
        assert np.allclose(part.mean, expected[columns], atol=1e-6)
        assert np.allclose(part.covariance, left[columns, columns], atol=1e-6)


@pytest.mark.theorem("HV-E29")
def test_parts_of_cells_own_add_up_and_none_is_known_less_well_than_before() -> None:
    _, basis = small()
    common = seen_of(PRIOR.field(basis), basis, 1)
    for apart in apart_of(SATURDAY, {}, common, basis):
        whole = together(common, apart)
        assert np.allclose(whole.prior.mean(basis), common.prior.mean(basis))
        after = seen_of(whole, basis, 4)
        parts = taken_apart(whole, after, basis)
        assert np.allclose(sum(part.level(basis) for part in parts), after.level(basis))
        for part, before in zip(parts, (common, apart), strict=True):
            assert np.all(part.own_variance > 0)
            assert np.all(part.own_variance <= before.own_variance)
            assert np.all(np.linalg.eigvalsh(before.covariance - part.covariance) > -1e-9)
            assert part.prior.variance == pytest.approx(before.prior.variance)


@pytest.mark.theorem("HV-E29")
def test_a_first_day_of_all_that_is_a_sunday_teaches_both_parts() -> None:
    _, basis = small()
    before = PRIOR.field(basis)
    after = seen_of(before, basis, 5)
    common, apart = taken_apart(before, after, basis)
    assert np.allclose(common.level(basis) + apart.level(basis), after.level(basis))
    assert np.all(common.variance(basis) > after.variance(basis))
    assert common.prior.total + apart.prior.total == pytest.approx(PRIOR.total)
    assert np.abs(apart.level(basis)).max() < np.abs(common.level(basis) - PRIOR.level).max()


@pytest.mark.theorem("HV-E29")
def test_a_kind_that_was_seen_begins_as_it_was_and_another_half_way() -> None:
    _, basis = small()
    common = seen_of(PRIOR.field(basis), basis, 1)
    saturday = seen_of(apart_of(SATURDAY, {}, common, basis)[0], basis, 6)
    (again,) = apart_of(SATURDAY, {SATURDAY: saturday}, common, basis)
    sunday, *others = apart_of(SUNDAY, {SATURDAY: saturday}, common, basis)
    assert np.allclose(again.level(basis), saturday.level(basis), atol=0.05)
    assert np.allclose(sunday.mean, np.sqrt(0.5) * saturday.mean)
    assert np.all(sunday.variance(basis) > again.variance(basis))
    assert sunday.moves == again.moves
    assert all(not one.mean.any() for one in others)


def test_a_kind_of_day_that_there_is_not_is_refused() -> None:
    grid, _ = small()
    with pytest.raises(ValueError, match="kind must be 0 to 2"):
        asked_of(grid, CAP, 10, 1 << 100, kind=N_KINDS)


CITIES = tuple(range(1, 9))
EPSILON = 1


def asked_at(city: City) -> Asked:
    """Return what is public of a city."""
    grid = Grid(city.position, N_SLOTS)
    return asked_of(grid, CAP, VALUE_RANGE, Concentrated(Decimal("1e-6")).within(Decimal(EPSILON)), counts_only=True)


def kind_of(number: int) -> int:
    return max(number % 7 - 4, WEEKDAY)


def judged(seed: int, numbers: list[int], kinds: list[int]) -> list[tuple[float, float]]:
    """Return the skill of numbers of users of a city on each day, and the share of intervals that hold."""
    city, state, found = a_city(4000, n_rings=3, seed=seed), None, []
    asked = asked_at(city)
    for number, kind in zip(numbers, kinds, strict=True):
        day = capped(*a_day(city, number, seed=seed), asked.grid.n_cells, CAP, VALUE_RANGE)
        steps = programme(state, replace(asked, kind=kind))
        estimate = asked_for_real(steps, day, np.random.default_rng([7, seed, number]).bytes).estimate
        state, true = estimate.state, np.bincount(day.cell, minlength=day.n_cells)
        low, high = limits(estimate.n_users, 0.95)
        off = float(((estimate.n_users.mean - true) ** 2).sum() / ((true - true.mean()) ** 2).sum())
        found.append((1 - off, float(((true >= low) & (true <= high)).mean())))
    return found


def plain_and_found(numbers: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return what is judged of all cities, without kinds of day and with them, shapes (city, day, 2)."""
    kinds = [kind_of(number) for number in numbers]
    plain = [judged(seed, numbers, [WEEKDAY] * len(numbers)) for seed in CITIES]
    return np.array(plain), np.array([judged(seed, numbers, kinds) for seed in CITIES])


@pytest.mark.statistical
@pytest.mark.theorem("HV-E29")
def test_weekends_are_expected_to_differ_and_the_days_after_them_are_no_worse() -> None:
    """Noise and cities are drawn from fixed seeds, so it fails always or never.

    From draw to draw the gain of one city deviates by .023, and one draw in three falls short of .01; the mean of eight
    does so in one of ten. The other limits are missed in less than one of 50.
    """
    numbers = [*range(9), 12, 13, 14]
    plain, found = plain_and_found(numbers)
    is_weekend = np.array([kind_of(number) for number in numbers]) > WEEKDAY
    assert np.array_equal(found[:, :5], plain[:, :5])
    better = (found - plain)[:, :, 0].mean(axis=0)
    assert better[is_weekend].mean() > 0.01
    assert better[5] > 0, "on the first Saturday most of all"
    assert better[~is_weekend].min() > -0.01
    assert found[:, is_weekend, 0].mean() > 0.91
    assert found[:, is_weekend, 1].mean(axis=0).min() > 0.95


@pytest.mark.statistical
@pytest.mark.theorem("HV-E29")
def test_where_the_first_day_is_a_sunday_working_days_follow_all_the_same() -> None:
    """Over draws kinds make as good as no difference here: .004 of skill, and worse in one draw of four.

    In other draws of eight cities, one in 50 falls short of a skill of .9, one in 13 of the share of intervals.
    """
    plain, found = plain_and_found([6, 7, 8, 9])
    assert np.array_equal(found[:, 0], plain[:, 0])
    assert found[:, :, 1].mean(axis=0).min() > 0.95
    assert found[:, 1:, 0].mean() > 0.9
    assert found[:, 1:, 0].mean() > plain[:, 1:, 0].mean() - 0.01

"""Values that go with how many records a user has, where presence is secret: what means are off by is learned."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm
from secret_city import a_city

from dpmath.core.currency import Concentrated
from dpmath.presence.ball import SHARE_BITS, Ball, sigma
from dpmath.presence.basis import Grid
from dpmath.presence.link import Link, far_from_centres, farthest
from dpmath.presence.looks import Kept
from dpmath.presence.programme import Answered, asked_for_real, programme
from dpmath.presence.questions import Block, Sums
from dpmath.presence.shares import share_centre
from dpmath.presence.state import State, asked_of
from dpmath.presence.user_cells import UserCells

CITY = a_city(100, n_rings=2, seed=4)
GRID = Grid(CITY.position, 24)
RANGE, CAP = 1000, 20
ASKED = asked_of(GRID, CAP, RANGE, Concentrated(Decimal("1e-6")).within(Decimal(20)))


@pytest.mark.theorem("HV-L71", "HV-E32")
def test_how_far_a_users_values_are_counts_up_to_the_farthest_and_is_read_with_its_noise() -> None:
    block = Block(csr_array(np.ones((3, 1), dtype=np.int64)), np.array([10, 20, 45]), 0)
    sums = Sums(None, None, block, None, (4, 50), Ball(50, 1 << 40, 1))
    user, cell = np.array([0, 0, 1, 2, 2]), np.array([0, 2, 1, 0, 1])
    records, total = np.array([4, 1, 2, 3, 4]), np.array([0, 50, 100, 9, 200])
    day = UserCells(user, cell, records, total, 3, 4, 50)
    uneven = (np.zeros((3, 1), dtype=np.int64),)
    question = Kept(((sums, "records"),), 2, 3, share_centre(0.85), uneven, Ball(1 << 20, 1 << 40, 3))
    assert question.private_vectors(day).shape == (3, 2)
    far = [0, 0, 0]
    for one, where, n, sum_ in zip(user, cell, records, total, strict=True):
        far[one] += int(sum_) - int(n) * int(block.centre[where])
    assert len(set(far)) == 3
    for most in (1, max(map(abs, far)) // 2, 1 << 40):
        asked = replace(question, farthest=most)
        column = asked.private_vectors(day).toarray()[:, -1].tolist()
        assert column == [(min(max(one, -most), most) << SHARE_BITS) // most for one in far]
        told, variance = far_from_centres(asked, np.array([0, 0, sum(column)], dtype=object))
        assert told == pytest.approx(sum(min(max(one, -most), most) for one in far), abs=3 * most / (1 << SHARE_BITS))
        assert variance == pytest.approx((sigma(asked.ball) * most / (1 << SHARE_BITS)) ** 2)
    assert farthest(1e-9, 1.0) == 1
    assert farthest(1e30, 1e9) == 1 << 40
    assert farthest(4.0, 50.0) == pytest.approx(3 * 2 * 50)


@pytest.mark.theorem("HV-E32")
def test_a_link_is_what_is_likely_after_all_that_was_told_of_it() -> None:
    rng, guess = np.random.default_rng(2), Link.guessed()
    at, link = np.linspace(-6, 6, 24_001), guess
    likely = norm.logpdf(at, 0, guess.variance**0.5)
    for size in (0.5, 3.0, 0.0, 1.5):
        off, unsure = 0.8 * size + rng.normal(), 1.0
        link = link.told(size, off, unsure)
        likely += norm.logpdf(off, at * size, unsure**0.5)
    weight = np.exp(likely - likely.max())
    mean = np.average(at, weights=weight)
    assert link.mean == pytest.approx(mean)
    assert link.variance == pytest.approx(np.average((at - mean) ** 2, weights=weight))
    for _ in range(2000):
        link = link.a_day_later()
    assert (link.mean, link.variance) == pytest.approx((guess.mean, guess.variance), abs=1e-6)


def a_day(number: int, slower: float) -> UserCells:
    """Return a day of 1,500 users in 30 cells each, of whom three in ten have eight times as many records."""
    rng = np.random.default_rng([9, number])
    cell = np.concatenate([rng.choice(GRID.n_cells, 30, replace=False) for _ in range(1500)])
    user, is_heavy = np.repeat(np.arange(1500), 30), np.repeat(rng.random(1500) < 0.3, 30)
    records = np.where(is_heavy, 16, 2)
    mean = 500 + 100 * np.sin(GRID.hexagon[cell]) + np.where(is_heavy, -slower, slower) + 30 * rng.normal(size=cell.size)
    return UserCells(user, cell, records, np.rint(records * mean).astype(np.int64), GRID.n_cells, CAP, RANGE)


def off_over_records(slower: float) -> tuple[list[float], list[Answered]]:
    """Return what the mean over all records is off by on each of three days, and these."""
    state: State | None = None
    off, days = [], []
    for number in range(3):
        day = a_day(number, slower)
        days.append(asked_for_real(programme(state, ASKED), day, np.random.default_rng([3, number]).bytes))
        state = days[-1].estimate.state
        n, total = (np.bincount(day.cell, one, GRID.n_cells) for one in (day.n_records, day.total))
        off.append(float((n * days[-1].estimate.mean.mean - total).sum() / n.sum()))
    return off, days


@pytest.mark.theorem("HV-E32")
def test_the_mean_over_records_is_right_where_users_with_many_are_slower_and_where_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Noise is drawn from fixed seeds, so it fails always or never."""
    found, days = off_over_records(60.0)
    alike, same_days = off_over_records(0.0)
    assert days[-1].estimate.state.link.mean > 0.3
    assert abs(same_days[-1].estimate.state.link.mean) < 0.3
    with monkeypatch.context() as patched:
        patched.setattr(Link, "told", lambda self, *_: self)
        unlearned, _ = off_over_records(60.0)
    print(found, alike, unlearned)
    assert np.mean(unlearned) > 5
    assert abs(np.mean(found)) < 0.3 * np.mean(unlearned)
    assert abs(np.mean(alike)) < 0.3 * np.mean(unlearned)

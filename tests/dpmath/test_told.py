"""What sums tell of coefficients, how it is kept, and how old sums are made fewer: against dense matrices."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import a_city, a_state, a_told, dense, known_of, same

from dpmath.estimate import state as states
from dpmath.estimate import told as kept
from dpmath.estimate.covariates import covariates
from dpmath.estimate.rows import Rows
from dpmath.estimate.state import State
from dpmath.estimate.told import ALONE, Known, Told, folded


def dense_of(known: Known) -> np.ndarray:
    return np.diag(known.prior) - known.gain.T @ known.gain


def alone_of(told: Told, factors: dict[str, float]) -> np.ndarray:
    return np.asarray(told.noise + sum(factors[name] * getattr(told, name) for name in ALONE))


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("n_days", [0, 1, 2])
def test_what_is_known_is_textbook_conditioning_on_the_sums_of_all_days(n_days: int) -> None:
    state = a_state(a_city())
    state = replace(state, told=state.told[:n_days])
    mean, covariance = known_of(state)
    assert state.mean == pytest.approx(mean, abs=1e-9)
    assert dense_of(state.known) == pytest.approx(covariance, abs=1e-9)
    day = np.diag(state.of_the_day)
    assert dense_of(state.known_today) == pytest.approx(covariance + day, abs=1e-9)
    assert same(state.known_today.mean, state.mean)


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("seed", range(3))
def test_products_and_variances_are_those_of_the_dense_covariance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_cells, n_common, n_own, n_hexagons = 30, 7, int(rng.integers(1, 5)), 9
    hexagon = rng.integers(0, n_hexagons - 1, n_cells)
    rows = Rows(rng.normal(size=(n_cells, n_common)), rng.normal(size=(n_cells, n_own)), hexagon)
    matrix = dense(rows, n_hexagons)
    n_states = matrix.shape[1]
    gain = rng.normal(size=(5, n_states))
    prior = n_states * (gain**2).sum(axis=0) + rng.random(n_states)
    known = Known(rng.normal(size=n_states), prior, (gain[:2], gain[2:]))
    whole, sums = np.diag(prior) - gain.T @ gain, rng.normal(size=(n_states, 3))
    assert np.linalg.eigvalsh(whole).min() > 0
    assert known.times(sums) == pytest.approx(whole @ sums)
    used = rng.permutation(n_states)[:6]
    assert known.block(used) == pytest.approx(whole[np.ix_(used, used)])
    assert known.block(slice(2, 5)) == pytest.approx(whole[2:5, 2:5])
    assert known.variances(rows) == pytest.approx(np.diag(matrix @ whole @ matrix.T))
    more = rng.random(n_states)
    assert known.varying(more).variances(rows) == pytest.approx(np.diag(matrix @ (whole + np.diag(more)) @ matrix.T))


@pytest.mark.theorem("HV-E3")
def test_further_sums_tell_what_they_tell_in_the_textbook_and_are_turned_to_be_independent() -> None:
    rng = np.random.default_rng(4)
    state = a_state(a_city())
    known, told = state.known_today, a_told(state.mean.size, 6, rng)
    before, alone = dense_of(known), alone_of(told, state.factors)
    whole = told.seen.T @ before @ told.seen + alone
    gain = np.linalg.solve(whole, told.seen.T @ before).T
    after, turned = known.given(told.seen, alone, told.sums)
    assert after.mean == pytest.approx(known.mean + gain @ (told.sums - told.seen.T @ known.mean))
    assert dense_of(after) == pytest.approx(before - gain @ told.seen.T @ before, abs=1e-9)
    assert turned.root @ turned.root.T == pytest.approx(whole)
    assert turned.together == pytest.approx(before @ told.seen)
    assert turned.root @ turned.innovation == pytest.approx(told.sums - told.seen.T @ known.mean)


@pytest.mark.theorem("HV-E3")
def test_later_days_sums_may_be_told_of_one_after_the_other_or_at_once() -> None:
    state, rng = a_state(a_city()), np.random.default_rng(5)
    one, other = (a_told(state.mean.size, 5, rng) for _ in range(2))
    in_turn = state.with_told(one).with_told(other)
    at_once = replace(state, told=(other, *state.told, one))
    assert in_turn.mean == pytest.approx(at_once.mean)
    assert dense_of(in_turn.known) == pytest.approx(dense_of(at_once.known), abs=1e-9)


@pytest.mark.theorem("HV-E3", "HV-E4")
def test_coefficients_that_are_dropped_become_what_is_the_cells_own_and_nothing_else_changes() -> None:
    """Exact marginalisation: of all that is left the mean and covariance are what they were, to rounding."""
    state, rng = a_state(a_city()), np.random.default_rng(6)
    dropped = np.sort(rng.permutation(state.mean.size)[:20])
    left = np.delete(np.arange(state.mean.size), dropped)
    variance = state.lasting[dropped] / state.factors["cell"]
    fewer = [one.without(dropped, variance) for one in state.told]
    known = Known.by(state.lasting[left], fewer, state.factors)
    for one in fewer:
        assert np.linalg.eigvalsh(one.cell).min() > -1e-12
    # in the textbook the dropped ones of one day are not those of another, as those of cells are not
    seen = [np.pad(one.seen[left], ((0, 2 * dropped.size), (0, 0))) for one in state.told]
    for number, one in enumerate(state.told):
        first = left.size + number * dropped.size
        seen[number][first : first + dropped.size] = one.seen[dropped]
    apart = [replace(one, seen=columns) for one, columns in zip(state.told, seen, strict=True)]
    prior = np.append(state.lasting[left], np.tile(state.lasting[dropped], 2))
    whole = Known.by(prior, apart, state.factors)
    assert known.mean == pytest.approx(whole.mean[: left.size], abs=1e-9)
    assert dense_of(known) == pytest.approx(dense_of(whole)[: left.size, : left.size], abs=1e-9)
    once = Known.by(state.lasting[left], fewer[:1], state.factors)
    of_one_day = Known.by(state.lasting, state.told[:1], state.factors)
    assert once.mean == pytest.approx(of_one_day.mean[left], abs=1e-9), "with the sums of one day, it is the same"
    assert dense_of(once) == pytest.approx(dense_of(of_one_day)[np.ix_(left, left)], abs=1e-9)


@pytest.mark.theorem("HV-E4")
def test_further_coefficients_are_not_told_of() -> None:
    state = a_state(a_city())
    (one, _), n_states = state.told, state.mean.size
    more = Known.by(np.append(state.lasting, [3.0, 5.0]), [one.with_coefficients(n_states + 2)], state.factors)
    before = Known.by(state.lasting, [one], state.factors)
    assert more.mean == pytest.approx(np.append(before.mean, [0, 0]))
    assert dense_of(more)[:n_states, :n_states] == pytest.approx(dense_of(before))
    assert dense_of(more)[n_states:, n_states:] == pytest.approx(np.diag([3.0, 5.0]))
    assert not dense_of(more)[n_states:, :n_states].any()


@pytest.mark.theorem("HV-E4", "HV-E7")
def test_old_sums_count_for_less_by_half_a_percent_a_day() -> None:
    state = a_state(a_city())
    one = state.told[0]
    later = one.later(30)
    assert (later.sums == one.sums).all()
    assert (later.seen == one.seen).all()
    for name in (*ALONE, "noise"):
        assert getattr(later, name) == pytest.approx(np.exp(0.15) * getattr(one, name))
    assert same(one.later(0), one)
    twice = one.later(10).later(20)
    assert twice.noise == pytest.approx(later.noise)
    sure, unsure = (np.trace(dense_of(each.known)) for each in (state, state.later(60)))
    assert sure < unsure < np.trace(dense_of(replace(state, told=()).known))


def many_days(n_days: int, n_sums: int, seed: int = 7) -> State:
    state, rng = a_state(a_city()), np.random.default_rng(seed)
    return replace(state, told=tuple(a_told(state.mean.size, n_sums, rng) for _ in range(n_days)))


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize(("n_folded", "loses"), [(40, False), (25, True)])
def test_folding_loses_nothing_where_there_is_room_for_all_and_little_beyond(
    n_folded: int, loses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_SUMS", 50)
    monkeypatch.setattr(kept, "_FOLDED", n_folded)
    state = many_days(6, 10)
    fewer = replace(state, told=folded(state.told, state.lasting, state.factors))
    fold, before, last = fewer.told
    assert fold.sums.size == min(n_folded, 40)
    assert before is state.told[4]
    assert last is state.told[5]
    assert fold.noise == pytest.approx(np.eye(n_folded))
    assert not any(getattr(fold, name).any() for name in ALONE)
    unsure, more_unsure = (np.trace(dense_of(one.known)) for one in (state, fewer))
    told_of = np.trace(np.diag(state.lasting)) - unsure
    if loses:
        assert 0 < more_unsure - unsure < 0.3 * told_of, "15 of 40 combinations tell less than their number"
        assert np.linalg.eigvalsh(dense_of(fewer.known) - dense_of(state.known)).min() > -1e-9
    else:
        assert fewer.mean == pytest.approx(state.mean, abs=1e-9)
        assert dense_of(fewer.known) == pytest.approx(dense_of(state.known), abs=1e-9)


@pytest.mark.theorem("HV-E3")
def test_what_is_folded_are_the_combinations_that_tell_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other 20 combinations of old sums leave less unknown, in the determinant of what is known of the whole."""
    monkeypatch.setattr(kept, "MOST_SUMS", 30)
    monkeypatch.setattr(kept, "_FOLDED", 20)
    state, rng = many_days(5, 10), np.random.default_rng(8)
    fold, *_ = folded(state.told, state.lasting, state.factors)

    def told_by(seen: np.ndarray) -> float:
        return float(np.linalg.slogdet(np.eye(seen.shape[1]) + seen.T @ (state.lasting[:, None] * seen)).logabsdet)

    best = told_by(fold.seen)
    roots = [np.linalg.cholesky(alone_of(one, state.factors)) for one in state.told[:3]]
    white = [np.linalg.solve(root, one.seen.T) for root, one in zip(roots, state.told, strict=False)]
    seen = np.concatenate(white).T
    for _ in range(50):
        turned = np.linalg.qr(rng.normal(size=(30, 20)))[0]
        assert told_by(seen @ turned) < best


@pytest.mark.theorem("HV-E3")
def test_sums_are_folded_only_if_they_are_many_and_the_last_two_days_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_SUMS", 60)
    state = many_days(6, 10)
    assert folded(state.told, state.lasting, state.factors) == state.told
    monkeypatch.setattr(kept, "MOST_SUMS", 20)
    few = many_days(3, 10)
    assert folded(few.told, few.lasting, few.factors) == few.told
    state = many_days(1, 10)
    monkeypatch.setattr(kept, "_FOLDED", 15)
    for number in range(20):
        state = state.with_told(a_told(state.mean.size, 10, np.random.default_rng(number)))
        assert len(state.told) <= 4
        assert sum(one.sums.size for one in state.told) <= 35


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("room", [0, 3, 12])
def test_a_state_keeps_within_its_bound_and_drops_hexagons_of_which_least_is_known(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The day's own hexagons come first. Of the others, those stay of which sums tell the largest share."""
    state = a_state(a_city())  # 100 to 109
    n_common, n_own = state.basis.n_common, state.basis.n_own
    here = a_city(4, n_hexagons=4, first_name=108)  # 108 to 111
    monkeypatch.setattr(states, "MOST_COEFFICIENTS", n_common + (4 + room) * n_own)
    found = state.with_hexagons(here)
    assert found.mean.size <= states.MOST_COEFFICIENTS
    assert set(found.names) >= {108, 109, 110, 111}
    assert found.n_hexagons == 4 + min(room, 8)
    shares = 1 - np.diag(dense_of(state.known))[n_common:] / state.lasting[n_common:]
    known = shares.reshape(10, n_own).sum(axis=1)[:8]
    stay = set(100 + np.argsort(-known)[:room]) if room < 8 else set(range(100, 108))
    assert set(found.names) - {108, 109, 110, 111} == stay
    kept_ones = [int(np.flatnonzero(state.names == name)[0]) for name in found.names if name < 110]
    assert found.names[: len(kept_ones)].tolist() == state.names[kept_ones].tolist()
    gone = np.setdiff1d(np.arange(10), kept_ones)
    of_gone = (n_common + gone[:, None] * n_own + np.arange(n_own)).ravel()
    for before, after in zip(state.told, found.told, strict=True):
        left = np.delete(np.arange(state.mean.size), of_gone)
        assert after.seen[: left.size] == pytest.approx(before.seen[left])
        assert not after.seen[left.size :].any()
        varying = before.seen[of_gone].T @ (state.lasting[of_gone][:, None] * before.seen[of_gone])
        assert after.cell == pytest.approx(before.cell + varying / state.factors["cell"])
        whole, fewer = (
            one.seen.T @ (each.lasting[:, None] * one.seen) + alone_of(one, state.factors)
            for one, each in ((before, state), (after, found))
        )
        assert fewer == pytest.approx(whole), "the sums vary as they did"
    if room == 12:
        assert found.mean[: state.mean.size] == pytest.approx(state.mean)


@pytest.mark.theorem("HV-E4")
def test_of_a_day_with_too_many_hexagons_those_with_most_records_have_coefficients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = a_state(a_city())
    day = a_city(4, n_hexagons=12, first_name=200)
    records = np.bincount(day.hexagon, day.occupancy.cell_records)
    monkeypatch.setattr(states, "MOST_COEFFICIENTS", state.basis.n_common + 5 * state.basis.n_own)
    found = state.with_hexagons(day)
    assert set(found.names) == set(200 + np.argsort(-records, kind="stable")[:5])
    number = found.numbers_of(day)
    assert ((number >= 0) == np.isin(day.names, found.names)).all()
    assert (found.names[number[number >= 0]] == day.names[number >= 0]).all()
    rows = found.basis.rows(day, covariates(day, True), number)
    assert not rows.own[number[day.hexagon] < 0].any()
    monkeypatch.setattr(states, "MOST_COEFFICIENTS", 1)
    assert state.with_hexagons(day).n_hexagons == 1, "one is always known"

"""Small cities and days of them, and the model as dense matrices, for the tests of the estimate."""

import math
import os
from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import Occupancy
from dpmath.estimate.asked import Asked
from dpmath.estimate.basis import Basis, fit_basis
from dpmath.estimate.charges import charges, limit_of, reach_of
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import Day
from dpmath.estimate.measurement import Norm
from dpmath.estimate.posterior import Estimate, solved, told_by
from dpmath.estimate.programme import Asking
from dpmath.estimate.questions import PrivateDay, Question
from dpmath.estimate.rows import Rows
from dpmath.estimate.scales import NAMES, Scales
from dpmath.estimate.state import State, first_state
from dpmath.estimate.taken import Design, Taken
from dpmath.estimate.told import ALONE, Told
from dpmath.estimate.view import View

NORMS: list[Norm] = ["l1", "l2"]

Answered = list[tuple[Question, np.ndarray]]
Bytes = Callable[[int], bytes]
VALUE_RANGE = 1000

UNIT = {"l1": 1 << 50, "l2": 1 << 101}

MUCH = {"l1": 1000 << 50, "l2": 10**5 << 101}
"""Limits at which noise hardly matters."""


def a_city(
    seed: int = 0, n_users: int = 60, n_hexagons: int = 10, n_slots: int = 6, kind: int = 0, first_name: int = 100
) -> Day:
    """Return a day on which every user is at about eight places, and every cell has somebody."""
    rng = np.random.default_rng(seed)
    n_cells = n_hexagons * n_slots
    pairs = {(cell, int(rng.integers(n_users))): 2 for cell in range(n_cells)}
    for user in range(n_users):
        home = rng.integers(n_hexagons)
        for _ in range(8):
            hexagon = (home + rng.integers(0, 4)) % n_hexagons
            pairs[int(hexagon * n_slots + rng.integers(n_slots)), user] = int(rng.integers(1, 7))
    cell, user = np.array(sorted(pairs)).T
    records = np.array([pairs[key] for key in sorted(pairs)])
    number = np.arange(n_hexagons)
    return Day(
        Occupancy(cell, user, records, n_cells, n_users),
        hexagon=np.arange(n_cells) // n_slots,
        slot=np.arange(n_cells) % n_slots,
        names=first_name + number,
        position=np.column_stack([number % 4, number // 4, 0 * number]).astype(float),
        spacing=1.0,
        n_slots=n_slots,
        kind=kind,
        covariates=rng.normal(size=(n_cells, 2)),
    )


def values_of(day: Day, seed: int = 1, residual: float = 10.0, shift: float = 0.0) -> np.ndarray:
    """Return the totals of a city with a course of the day and differences of places, in ticks."""
    rng, occupancy = np.random.default_rng(seed), day.occupancy
    of_cells = 45 + shift + 12 * np.sin(day.names[day.hexagon]) + 8 * np.cos(day.slot)
    own = rng.normal(size=occupancy.cell.size) * residual / np.sqrt(occupancy.n_records)
    points = np.clip(of_cells[occupancy.cell] + own, 0, 100)
    return np.rint(points * VALUE_RANGE / 100 * occupancy.n_records).astype(np.int64)


def complete(day: Day, totals: np.ndarray) -> PrivateDay:
    return PrivateDay(day.occupancy, totals, np.zeros_like(totals))


def true_means(day: Day, totals: np.ndarray) -> np.ndarray:
    return np.bincount(day.occupancy.cell, totals) / day.occupancy.cell_records * 100 / VALUE_RANGE


def share_held(found: Estimate, day: Day, totals: np.ndarray) -> float:
    """Return the share of cells whose 95 % interval holds the true mean."""
    return float((np.abs(found.mean - true_means(day, totals)) <= 1.96 * np.sqrt(found.variance)).mean())


def a_basis(day: Day) -> Basis:
    return fit_basis(day, covariates(day, True))


def scales_of(logs: np.ndarray, wider: float = 0.0) -> Scales:
    """Return scales whose means are known, and whose mean factors are larger by so much in their logs."""
    return Scales(logs, logs, logs + wider)


def a_told(n_states: int, n_sums: int, rng: np.random.Generator, variance: float = 81.0) -> Told:
    """Return sums without order: each varies by about 1 by the coefficients, and less by each other part."""
    roots = {name: 0.1 * rng.normal(size=(n_sums, 3)) for name in (*ALONE, "user")}
    seen = rng.normal(size=(n_states, n_sums)) / np.sqrt(0.01 * n_states * variance)
    alone = {name: root @ root.T for name, root in roots.items()}
    return Told(rng.normal(size=n_sums), seen, **alone, noise=0.02 * np.eye(n_sums))


def a_state(day: Day, seed: int = 2, centre: float = 50.0) -> State:
    """Return a state as after two days: means that are not 0, coefficients that go together, and other scales."""
    rng = np.random.default_rng(seed)
    state = first_state(day, a_basis(day), centre, 4.0, 9.0, 0.3)
    sums = tuple(a_told(state.mean.size, n_sums, rng) for n_sums in (12, 8))
    return replace(state, told=sums, scales=scales_of(rng.normal(size=len(NAMES)) * 0.2, 0.1), n_days=2)


def known_of(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the coefficients with the sums of all days: one textbook conditioning."""
    seen = np.concatenate([np.zeros((state.lasting.size, 0)), *(one.seen for one in state.told)], axis=1)
    alone = np.zeros((seen.shape[1], seen.shape[1]))
    first = 0
    for one in state.told:
        here = slice(first, first := first + one.sums.size)
        alone[here, here] = one.noise + one.user
        for name in ALONE:
            alone[here, here] += state.factors[name] * getattr(one, name)
    prior = np.diag(state.lasting)
    gain = np.linalg.solve(seen.T @ prior @ seen + alone, seen.T @ prior).T
    return gain @ np.concatenate([np.zeros(0), *(one.sums for one in state.told)]), prior - gain @ seen.T @ prior


def a_view(day: Day) -> View:
    return View.of(day, a_state(day), covariates(day, True))


def dense(rows: Rows, n_hexagons: int) -> np.ndarray:
    """Return the functions' values with all their zeros, one number after the other, shape (G, S)."""
    n_common, n_own = rows.common.shape[1], rows.own.shape[1]
    matrix = np.zeros((len(rows.common), n_common + n_hexagons * n_own))
    for cell, hexagon in enumerate(rows.hexagon):
        matrix[cell, :n_common] = rows.common[cell]
        for one in range(n_own):
            matrix[cell, n_common + hexagon * n_own + one] = rows.own[cell, one]
    return matrix


def levels(view: View) -> np.ndarray:
    """Return what the functions of the city expect of each cell, over its mean over records, within limits."""
    day, state = view.day, view.state
    matrix = dense(state.basis.rows(day, covariates(day, True), state.numbers_of(day)), state.n_hexagons)
    of_city = state.centre + matrix[:, : state.basis.n_common] @ state.mean[: state.basis.n_common]
    of_city = np.clip(of_city, 0, 100)
    return np.clip(of_city / np.average(of_city, weights=day.occupancy.cell_records), 0.4, 2.5)


def users_of_pairs(day: Day) -> np.ndarray:
    """Return which user each pair is of, as a matrix of zeros and ones, shape (L, P)."""
    return (np.arange(day.occupancy.n_users)[:, None] == day.occupancy.user).astype(float)


def a_random_design(view: View, n_queries: int, rng: np.random.Generator) -> Design:
    """Return what no search would choose: loadings without order, and a weight of its own for each pair."""
    loading = rng.normal(size=(view.strata.cell.size, n_queries))
    return Design(loading, rng.uniform(0, 0.02, view.day.occupancy.cell.size))


def rows_of(day: Day) -> np.ndarray:
    """Return the stratum of each pair: those of one cell with as many binary digits of records, of like users."""
    records = user_records(day)
    is_heavy = [2 * records[records < own].sum() >= records.sum() for own in records]
    pairs = zip(day.occupancy.cell, day.occupancy.user, day.occupancy.n_records, strict=True)
    keys = [(int(cell), is_heavy[user], int(m).bit_length()) for cell, user, m in pairs]
    order = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([order[key] for key in keys])


def user_records(day: Day) -> np.ndarray:
    """Return how many records each user has."""
    return users_of_pairs(day) @ day.occupancy.n_records


def stays(day: Day) -> np.ndarray:
    """Return the functions of how long users stay at each pair, less their mean over the cell's records."""
    occupancy, found = day.occupancy, []
    log = np.log(occupancy.n_records)
    for function in (log, log**2 / 4, np.log(user_records(day)[occupancy.user])):
        alike = [occupancy.cell == cell for cell in occupancy.cell]
        means = [np.average(function[one], weights=occupancy.n_records[one]) for one in alike]
        found.append(function - np.array(means))
    return np.array(found).T


class Textbook:
    """All that is random on a day, in one vector: coefficients, what differs on the day, cells' own, residuals.

    Nothing of the day is known; of what lasts, what the sums of other days tell.
    """

    def __init__(self, view: View, shocks: tuple[float, float] = (1.0, 1.0)) -> None:
        state, occupancy = view.state, view.day.occupancy
        n_states, n_cells, n_pairs = state.mean.size, occupancy.n_cells, occupancy.cell.size
        matrix = dense(view.rows, state.n_hexagons)
        of_cell = np.eye(n_cells)[occupancy.cell]  # (P, G)
        self.n_states = n_states
        of_states = of_cell @ matrix
        of_states[:, state.basis.of_stay] = stays(view.day)
        self.of_pairs = np.column_stack([of_states, of_states, of_cell, np.eye(n_pairs)])
        self.of_means = of_cell.T @ (occupancy.n_records[:, None] * self.of_pairs) / occupancy.cell_records[:, None]
        of_the_day = state.of_the_day * np.append(shocks[0], np.full(n_states - 1, shocks[1]))
        alone = np.concatenate([of_the_day, view.cell_variance, view.residual_variance])
        self.covariance = np.diag(np.concatenate([np.zeros(n_states), alone]))
        self.covariance[-n_pairs:, -n_pairs:] = residual_covariance(view)
        self.mean = np.zeros(len(self.covariance))
        self.mean[:n_states], self.covariance[:n_states, :n_states] = known_of(state)
        self.pairs = self.of_pairs @ self.covariance @ self.of_pairs.T
        self.residuals = self.of_means * (np.arange(len(self.mean)) >= len(self.mean) - n_pairs)

    def sums(self, view: View, one: Design) -> np.ndarray:
        """Return how the sums depend on the vector."""
        loading = one.loading[rows_of(view.day)]
        return (one.weight[:, None] * loading).T @ self.of_pairs

    def seen(self, view: View, taken: list[Taken]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how all sums depend on the vector, their covariance, and the sums, one measurement after another."""
        seen = np.concatenate([self.sums(view, one.design) for one in taken])
        noise = np.concatenate([np.full(one.sums.size, one.noise**2) for one in taken])
        whole = seen @ self.covariance @ seen.T + np.diag(noise)
        return seen, whole, np.concatenate([one.sums for one in taken])

    def given(self, view: View, taken: list[Taken]) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of the vector with the sums."""
        seen, whole, sums = self.seen(view, taken)
        gain = np.linalg.solve(whole, seen @ self.covariance).T
        return self.mean + gain @ (sums - seen @ self.mean), self.covariance - gain @ seen @ self.covariance


def residual_covariance(view: View) -> np.ndarray:
    """Return the covariance of pairs' residuals: two of one user go together, of whatever size they are."""
    user, alike = view.day.occupancy.user, np.sqrt(view.alike_variance)
    together = np.outer(alike, alike) * np.equal.outer(user, user)
    return np.asarray(together + np.diag(view.residual_variance - alike**2))


def alike_in_cells(day: Day, residual_variance: np.ndarray) -> np.ndarray:
    """Return what users' residuals add to the covariance of cells if each two of a user have a correlation of 0.2."""
    occupancy = day.occupancy
    covariance = 0.2 * np.sqrt(np.outer(residual_variance, residual_variance))
    covariance *= np.equal.outer(occupancy.user, occupancy.user)
    np.fill_diagonal(covariance, 0)
    share = np.equal.outer(np.arange(occupancy.n_cells), occupancy.cell) * occupancy.n_records
    share = share / share.sum(axis=1, keepdims=True)
    return share @ covariance @ share.T


def a_taken(view: View, n_sums: int, rng: np.random.Generator, noise: float = 0.4, cut: float = 0.0) -> Taken:
    """Return sums that no search would ask for."""
    one = a_random_design(view, n_sums, rng)
    return Taken(one, rng.normal(size=n_sums) * 5, noise, rng.normal(size=n_sums), cut)


def silent(view: View, one: Design, noise: float, cut: float = 0.0) -> tuple[Told, list[Taken]]:
    """Return sums that are all as expected."""
    nothing = np.zeros(one.loading.shape[1])
    found = told_by(view, [Taken(one, nothing, noise, nothing, cut)])
    sums = found.seen.T @ view.today.mean
    return replace(found, sums=sums), [Taken(one, sums, noise, sums, cut)]


def seen_covariance(view: View, one: Design) -> np.ndarray:
    """Return the covariance of a design's sums by the model, without noise but for a trifle."""
    model = Textbook(view)
    seen = model.sums(view, one)
    return np.asarray(seen @ model.covariance @ seen.T + 1e-6 * np.eye(len(seen)))


def a_short_view(day: Day) -> View:
    """Return a view in which courses have few functions, so that cells have much that is their own."""
    state = a_state(day)
    short = replace(state.basis, courses=state.basis.courses[:, :3], left_out=state.basis.courses[:, 3:])
    return View.of(day, first_state(day, short, 50.0, 4.0, 9.0, 0.3), covariates(day, True))


def expected_error(view: View, one: Design, noise: float, share: float) -> float:
    """Return the expected squared error of the map by a design, a mean over records, in squared points."""
    kept = replace(one, loading=share * one.loading)
    found = solved(view, *silent(view, kept, noise, 0.5 * (1 / share - 1)))
    return float(np.average(found.variance, weights=view.day.occupancy.cell_records))


def lengths_by_model(view: View, one: Design) -> np.ndarray:
    """Return the root mean square length of each user's vector before it is scaled down, in radii."""
    pairs, loading = Textbook(view).pairs, one.loading[rows_of(view.day)]
    moments = pairs * (loading @ loading.T) * np.outer(one.weight, one.weight)
    of_users = users_of_pairs(view.day)
    return np.sqrt(np.einsum("lp,pq,lq->l", of_users, moments, of_users))


def mean_lengths_l1(view: View, one: Design) -> np.ndarray:
    """Return the mean l1 length of each user's vector, whose components are normal, in radii."""
    root = np.linalg.cholesky(Textbook(view).pairs)
    found = []
    for own in users_of_pairs(view.day):
        seen = (one.loading[rows_of(view.day)] * (own * one.weight)[:, None]).T @ root
        found.append(math.sqrt(2 / math.pi) * np.sqrt((seen**2).sum(axis=1)).sum())
    return np.array(found)


def asked_of(
    day: Day, norm: Norm, limit: int, first: bool, budgets: np.ndarray | None = None, value_range: int = VALUE_RANGE
) -> Asked:
    limit = limit_of(budgets, limit, norm)
    radius = reach_of(budgets, limit, day.occupancy.n_users, norm)
    return Asked(day, value_range, radius, {one.name: one for one in charges(first, limit, norm)}, norm)


def run(asking: Asking, day: Day, totals: np.ndarray, random_bytes: Bytes = os.urandom) -> tuple[Estimate, Answered]:
    """Answer a day's questions; return its estimate, and each question with its answers."""
    private, recorded = complete(day, totals), []
    question = next(asking)
    while True:
        recorded.append((question, question.noisy(private, random_bytes)))
        try:
            question = asking.send(recorded[-1])
        except StopIteration as end:
            return end.value, recorded


def same(one: object, other: object) -> bool:
    """Return whether two objects of this room hold the very same numbers."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, csr_array):
        return isinstance(other, csr_array) and np.array_equal(one.toarray(), other.toarray())
    if hasattr(one, "__dataclass_fields__"):
        names = [field.name for field in fields(one)]  # pyright: ignore[reportArgumentType]
        return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return one == other


def error(estimate: Estimate, day: Day, totals: np.ndarray) -> float:
    off = estimate.mean - true_means(day, totals)
    return math.sqrt(np.average(off**2, weights=day.occupancy.cell_records))

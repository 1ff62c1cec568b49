"""What to ask of shapes, and what the noisy answers tell: the most uncertain directions, as of the map."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.estimate import shrinkage
from dpmath.estimate.day import FloatArray
from dpmath.estimate.design import as_measured
from dpmath.estimate.law_layers import Layered, layered, whole_table
from dpmath.estimate.law_shape import N_COMMON, Shapes
from dpmath.estimate.law_tilt import FARTHEST, Moments
from dpmath.estimate.measurement import user_sums
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.sharing import shared_l2
from dpmath.estimate.state import POINTS
from dpmath.estimate.taken import Design
from dpmath.estimate.whole import RADIUS

LENGTH = 1.3
"""Expected length of vectors, in radii."""
_MOST_QUERIES = 200
_LEAST = 1e-12
"""Of what a query is worth: where all records have one value, no query is worth anything."""
_WIDTH = 2 * FARTHEST / POINTS
"""What a point of a layer is in a table's own unit."""


@dataclass(frozen=True)
class Seen:
    """A day's cells as the shapes expect them.

    Attributes:
        estimate: The estimate of the day.
        shapes: What is known of shapes, with the day's hexagons.
    """

    estimate: Estimate
    shapes: Shapes

    @property
    def occupancy(self) -> Occupancy:
        """The day's pairs."""
        return self.estimate.view.day.occupancy

    @cached_property
    def rows(self) -> FloatArray:
        """What each cell has of each part of the shapes, shape (G, S)."""
        return self.shapes.rows(self.estimate.view.day, self.estimate.mean)

    @cached_property
    def shape(self) -> FloatArray:
        """Expected shape of each cell, shape (G, R)."""
        return self.rows @ self.shapes.mean.T

    @cached_property
    def variance(self) -> FloatArray:
        """Its variance, shape (G, R)."""
        rows, own = self.rows, np.array([self.shapes.own_variance(table) for table in range(self.shapes.n_tables)])
        of_parts = [((rows @ covariance) * rows).sum(axis=1) for covariance in self.shapes.covariance]
        return np.maximum(np.array(of_parts).reshape(-1, len(rows)).T, 0.0) + own

    @cached_property
    def moments(self) -> Moments:
        """The moments of the cells' laws."""
        laws = self.shapes.laws
        return Moments.of(laws.tilted(self.estimate.mean, self.shape), laws)

    @cached_property
    def per_record(self) -> FloatArray:
        """One over the number of records that each pair's mean is worth as if they were independent, shape (P,)."""
        return np.minimum(self.estimate.residual_variance / self.moments.variance[self.occupancy.cell], 1.0)

    def residual(self, weight: FloatArray) -> FloatArray:
        """Return the variance of each cell's weighted sum of pairs for a variance of 1 a record, shape (G,)."""
        return np.bincount(self.occupancy.cell, weight**2 * self.per_record, self.occupancy.n_cells).astype(float)


def shape_design(seen: Seen, noise: float, reach: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the loadings and weights of the question about shapes.

    Args:
        seen: The day.
        noise: Standard deviation of the noise, in radii of the ball.
        reach: Radius of each user's ball, as a share of the full radius, shape (L,).

    Returns:
        Loading of each cell and table in each query, a table's loadings one after the other, shape (R G, Q); weight of
        each pair, shape (P,); and which part a component is expected to have in the square of a vector's length.

    Source:
        HV-E2.
    """
    occupancy, own = seen.occupancy, seen.moments.own
    n_records = occupancy.n_records.astype(np.float64)
    total, residual = occupancy.cell_records.astype(np.float64), np.maximum(seen.residual(n_records), _LEAST)
    found: list[tuple[int, FloatArray, FloatArray, FloatArray]] = []
    for table, covariance in enumerate(seen.shapes.covariance):
        used = np.flatnonzero(np.diag(covariance) > 0)
        fields = seen.rows[:, used] @ np.linalg.cholesky(covariance[np.ix_(used, used)])
        told = (total**2 * own[:, table] / residual)[:, None]  # by one unit of shape, squared
        variance, vectors = np.linalg.eigh(fields.T @ (told * fields))
        variance, fields = np.maximum(variance[::-1], _LEAST), fields @ vectors[:, ::-1]
        gain = np.maximum((total * own[:, table]) @ fields**2, _LEAST)
        loading = (total / residual)[:, None] * fields / np.sqrt(variance)
        found.append((table, variance, gain, loading))
    variance, gain = (np.concatenate([one[place] for one in found]) for place in (1, 2))
    n_users, shrink = max(1, occupancy.n_users), seen.shapes.shrink
    mean_shrink = float(shrinkage.mean_shrink(shrink[0], LENGTH))
    unit = (noise / (mean_shrink * LENGTH)) ** 2 / n_users
    shared = shared_l2(gain, variance, unit, 1 + variance / n_users)
    shared[np.argsort(-shared)[_MOST_QUERIES:]] = 0.0
    used = np.flatnonzero(shared > 1e-4 * shared.max())
    n_cells, queries, first = occupancy.n_cells, [], 0
    for table, of_table, _, loading in found:
        mine = used[(used >= first) & (used < first + of_table.size)]
        block = np.zeros((len(found) * n_cells, mine.size))
        block[table * n_cells : (table + 1) * n_cells] = loading[:, mine - first] * np.sqrt(shared[mine])
        queries.append(block)
        first += of_table.size
    loadings = np.concatenate(queries, axis=1)
    lengths, part = _lengths(seen, loadings)
    least = max(float(lengths.max(initial=0.0)), 1e-300) * 1e-6
    of_users = np.where(lengths > least, LENGTH * reach / np.maximum(lengths, least), 0.0)
    return loadings, of_users[occupancy.user] * n_records, part


def _lengths(seen: Seen, loading: FloatArray) -> tuple[FloatArray, float]:
    """Return how long each user's vector is expected to be if pairs count by records, and a component's part of it."""
    occupancy, own, n_tables = seen.occupancy, seen.moments.own, seen.shapes.n_tables
    n_records, layers = occupancy.n_records.astype(np.float64), layered(occupancy, n_tables)
    of_cells = np.array([seen.shapes.own_variance(table) for table in range(n_tables)])
    of_pairs = own[occupancy.cell] * (seen.per_record[:, None] + own[occupancy.cell] * of_cells)
    components = user_sums(layers, (n_records[:, None] ** 2 * of_pairs).T.ravel(), loading**2, layers.cell)
    moved = (n_records[:, None] * own[occupancy.cell]).T.ravel()
    for part in range(N_COMMON):
        deviation = np.sqrt(seen.shapes.covariance[:, part, part])
        field = np.outer(deviation, seen.rows[:, part]).ravel()[:, None]
        components += user_sums(layers, moved, field * loading, layers.cell) ** 2
    whole = components.sum(axis=1)
    parts = (components / np.maximum(whole, 1e-300)[:, None]).sum(axis=0)
    return np.sqrt(whole), float((parts**2).sum() / max(float(parts.sum()) ** 2, 1e-300))


def shape_question(
    seen: Seen, loading: FloatArray, weight: FloatArray, radius: IntArray, inverse_scale: int
) -> Layered:
    """Return the question: by how much each table's total differs from what is expected, given the value's own.

    The last layer is the value. What it moves a table by is taken off, so that to first order an error of the
    estimated mean moves no answer.

    Source:
        HV-L55.
    """
    occupancy, laws, moments = seen.occupancy, seen.shapes.laws, seen.moments
    n_tables, n_cells = seen.shapes.n_tables, occupancy.n_cells
    limits = np.append(np.full(n_tables, FARTHEST), 0.0)
    table = whole_table(np.vstack([laws.tables, laws.values]), -limits, np.append(limits[:-1], POINTS))
    expected = np.vstack([(moments.table.T + FARTHEST) / (2 * FARTHEST), moments.law @ laws.values / POINTS])
    by_value = -(moments.slope.T.ravel()[:, None] * loading).reshape(n_tables, n_cells, -1).sum(axis=0)
    layers = layered(occupancy, n_tables + 1)
    design = Design(np.vstack([loading * _WIDTH, by_value]), np.tile(weight, n_tables + 1))
    return Layered.of(design, layers, expected, table, radius, inverse_scale)


def shapes_after(seen: Seen, question: Layered, answers: ExactIntArray, noise: float, share: float) -> Shapes:
    """Return the shapes with the noisy answers.

    Args:
        seen: The day as it was expected.
        question: The question as it was asked.
        answers: The noisy answers.
        noise: Standard deviation of their noise, in radii of the ball.
        share: Which share of what moves vectors the balls keep.

    Source:
        HV-E3.
    """
    shapes, occupancy, own = seen.shapes, seen.occupancy, seen.moments.own
    done, n_cells = as_measured(question.measurement), occupancy.n_cells
    weight = done.weight[: occupancy.cell.size]
    sums = np.array([int(one) for one in answers], dtype=np.float64) / RADIUS
    total = np.bincount(occupancy.cell, weight, n_cells)
    residual = seen.residual(weight)
    means, covariances = [], []
    for table, (mean, covariance) in enumerate(zip(shapes.mean, shapes.covariance, strict=True)):
        loading = done.loading[table * n_cells : (table + 1) * n_cells] / _WIDTH
        mine = np.flatnonzero(np.abs(loading).any(axis=0))
        loading = share * loading[:, mine]
        per_shape = (total * own[:, table])[:, None] * loading
        seen_by = per_shape.T @ seen.rows
        apart = (loading * (residual * own[:, table])[:, None]).T @ loading
        apart += shapes.own_variance(table) * per_shape.T @ per_shape + noise**2 * np.eye(mine.size)
        together = covariance @ seen_by.T
        gain = np.linalg.solve(seen_by @ together + apart, together.T).T
        means.append(mean + gain @ sums[mine])
        after = covariance - gain @ together.T
        covariances.append((after + after.T) / 2)
    return replace(shapes, mean=np.array(means), covariance=np.array(covariances)).rescaled()

"""What releases have told: their noisy sums, and how these depend on the coefficients. All of it is post-processing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from dpmath.core.occupancy import IntArray
from dpmath.estimate.day import FloatArray
from dpmath.estimate.rows import Rows
from dpmath.joint.products import gram, product

_FORGOTTEN_A_DAY = 0.005
"""By how much the variance of sums grows a day, beside what they tell of coefficients: old sums count for less."""
MOST_SUMS = 900
"""With more, those of all but the last two days are folded."""
_FOLDED = 500
OF_DAYS = ("level", "day")
"""What sums of one day have in common: its mean, and what else it differs by."""
ALONE = ("cell", *OF_DAYS, "residual")
"""What sums vary by, beside the coefficients, users and noise: each has a scale."""


@dataclass(frozen=True)
class Told:
    """The noisy sums of one day, or of several that were folded into one.

    The variances by parts are those for scales of 1.

    Attributes:
        sums: The sums about the centre, in radii of the ball, shape (Q,).
        seen: How they depend on the coefficients, shape (S, Q).
        cell: Covariance by what is each cell's own, shape (Q, Q).
        level: By the day's mean.
        day: By what else differs on the day.
        residual: By the pairs' residuals, as far as each is apart from all others.
        user: By what a user's residuals have in common.
        noise: By the noise.
    """

    sums: FloatArray
    seen: FloatArray
    cell: FloatArray
    level: FloatArray
    day: FloatArray
    residual: FloatArray
    user: FloatArray
    noise: FloatArray

    def alone(self, factors: dict[str, float]) -> FloatArray:
        """Return the covariance of what is no function of the coefficients."""
        return np.asarray(self.noise + self.user + sum(factors[name] * getattr(self, name) for name in ALONE))

    def apart(self, factors: dict[str, float]) -> FloatArray:
        """Return the same without what the day differs by."""
        return self.alone(factors | dict.fromkeys(OF_DAYS, 0.0))

    def later(self, n_days: int) -> "Told":
        """Return the sums as they count after some days."""
        left = float(np.exp(_FORGOTTEN_A_DAY * n_days))
        rest = {name: left * getattr(self, name) for name in (*ALONE, "user", "noise")}
        return replace(self, **rest)

    def with_coefficients(self, n_states: int) -> "Told":
        """Return the sums with further coefficients, of which they tell nothing."""
        return replace(self, seen=np.pad(self.seen, ((0, n_states - len(self.seen)), (0, 0))))

    def without(self, dropped: IntArray, variance: FloatArray) -> "Told":
        """Return the sums without some coefficients: what these vary by is then of the cells' own.

        What these sums tell of all other coefficients does not change by it. What they had in common with the sums of
        other days through the dropped ones is lost.

        Args:
            dropped: Which coefficients, shape (n,).
            variance: Prior variance of each, for a scale of cells of 1, shape (n,).
        """
        seen = self.seen[dropped]
        varying = self.cell + gram(seen, variance)
        return replace(self, seen=np.delete(self.seen, dropped, axis=0), cell=varying)


@dataclass(frozen=True)
class Known:
    """What is known of coefficients: normal, with the covariance diag(prior) - gain' gain.

    Attributes:
        mean: Their mean, shape (S,).
        prior: Their variance before any sums, shape (S,).
        gains: Covariance with the sums, which are turned so that they are independent, each of shape (n, S): with all
            that were known at first, and with each further ones.
    """

    mean: FloatArray
    prior: FloatArray
    gains: tuple[FloatArray, ...]

    @cached_property
    def gain(self) -> FloatArray:
        """Covariance with all the sums, shape (n, S)."""
        return np.concatenate([np.zeros((0, self.prior.size)), *self.gains])

    @classmethod
    def by(cls, prior: FloatArray, told: Sequence[Told], factors: dict[str, float]) -> "Known":
        """Return what sums tell of coefficients whose prior variances are these.

        Source:
            HV-E3.
        """
        nothing = cls(np.zeros(prior.size), prior, ())
        if not told:
            return nothing
        seen, sums = (np.concatenate([getattr(one, name) for one in told], axis=-1) for name in ("seen", "sums"))
        return nothing.given(seen, joined(one.alone(factors) for one in told), sums)[0]

    def given(self, seen: FloatArray, alone: FloatArray, sums: FloatArray) -> tuple["Known", "Turned"]:
        """Return what is known with further sums, and these sums as they are turned.

        Args:
            seen: How the sums depend on the coefficients, shape (S, Q).
            alone: Covariance of what is no function of them, shape (Q, Q).
            sums: The sums, shape (Q,).

        Source:
            HV-E3.
        """
        together, variance = self.prior[:, None] * seen, gram(seen, self.prior)
        for earlier in self.gains:
            by_earlier = product(earlier, seen)
            together -= product(earlier.T, by_earlier)
            variance -= gram(by_earlier)
        root = np.linalg.cholesky(variance + alone).astype(np.float64, copy=False)
        gain = solve_triangular(root, together.T, lower=True)
        innovation = solve_triangular(root, sums - seen.T @ self.mean, lower=True)
        known = Known(self.mean + gain.T @ innovation, self.prior, (*self.gains, gain))
        return known, Turned(root, together, innovation)

    def varying(self, variance: FloatArray) -> "Known":
        """Return what is known of coefficients that differ by independent amounts from these."""
        return replace(self, prior=self.prior + variance)

    def times(self, sums: FloatArray) -> FloatArray:
        """Return the covariance of the coefficients with sums of them: shape (S, n) to (S, n)."""
        found = self.prior[:, None] * sums
        for gain in self.gains:
            found -= product(gain.T, product(gain, sums))
        return found

    def block(self, used: IntArray | slice) -> FloatArray:
        """Return the covariance of some coefficients."""
        gain = self.gain[:, used]
        return np.asarray(np.diag(self.prior[used]) - gain.T @ gain)

    def variances(self, rows: Rows) -> FloatArray:
        """Return the variance of each cell's value, shape (G,)."""
        found = rows.diagonal_variances(self.prior)
        for gain in self.gains:
            found -= rows.lowered_by(gain)
        return np.maximum(found, 0.0)


@dataclass(frozen=True)
class Turned:
    """Sums that are turned so that they are independent and of variance 1.

    Attributes:
        root: Lower Cholesky root of their covariance, shape (Q, Q).
        together: Covariance of the coefficients with the sums, shape (S, Q).
        innovation: How far each is from what was expected of it, shape (Q,).
    """

    root: FloatArray
    together: FloatArray
    innovation: FloatArray

    def of(self, covariance: FloatArray) -> FloatArray:
        """Return the covariance of the turned sums with what has this covariance with the sums: (n, Q) to (Q, n)."""
        return np.asarray(solve_triangular(self.root, covariance.T, lower=True))


def folded(told: Sequence[Told], prior: FloatArray, factors: dict[str, float]) -> tuple[Told, ...]:
    """Return the same sums, those of all but the last two days folded into fewer, if they are many.

    The folded ones are those combinations of unit noise that tell most of the coefficients.

    Source:
        HV-E3.
    """
    if sum(one.sums.size for one in told) <= MOST_SUMS or len(told) < 4:
        return tuple(told)
    *old, before, last = told
    root = np.linalg.cholesky(joined(one.alone(factors) for one in old))
    seen = solve_triangular(root, np.column_stack([one.seen for one in old]).T, lower=True).T
    sums = solve_triangular(root, np.concatenate([one.sums for one in old]), lower=True)
    _, vectors = np.linalg.eigh(gram(seen, prior))
    kept = vectors[:, -_FOLDED:]
    nothing = np.zeros((kept.shape[1], kept.shape[1]))
    alone = dict.fromkeys((*ALONE, "user"), nothing)
    fold = Told(sums=kept.T @ sums, seen=product(seen, kept), noise=np.eye(kept.shape[1]), **alone)
    return (fold, before, last)


def joined(blocks: Iterable[FloatArray]) -> FloatArray:
    """Return the matrix that has these blocks on its diagonal, and zeros elsewhere.

    Source:
        HV-E3.
    """
    return np.asarray(block_diag(*blocks), dtype=np.float64)

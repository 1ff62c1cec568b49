"""Kinds of day: what the users of a Saturday or of a Sunday have apart from those of a working day."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpmath.presence.basis import Basis
from dpmath.presence.fields import Field, Prior

WEEKDAY, N_KINDS = 0, 3
"""Working days, Saturdays, and Sundays with public holidays. Every kind begins with what is known of working days."""
_SIZES = (1 / 16, 1 / 64, 1 / 4)
"""How far a kind that was not yet seen may be from working days: its variances over theirs, the usual one first."""
_UNLIKE = 0.5
"""The share of its variances in which a kind that was not yet seen is unlike another one that was."""


@dataclass(frozen=True)
class OfKind(Field):
    """What is known of the surface of a day of a kind: the sum of what all kinds have in common, and what is apart.

    Attributes:
        apart: What is known of that, independent of the rest.
    """

    apart: Field | None = None


def apart_of(kind: int, seen: Mapping[int, Field], common: Field, basis: Basis) -> list[Field]:
    """Return what is apart on a day of a kind, as it may be; of a kind that was seen as it was, moved a little.

    Args:
        kind: The kind of day.
        seen: What is known of kinds that were seen, by their numbers.
        common: The surface of working days.
        basis: What surfaces are made of.

    Source:
        HV-E29.
    """
    if kind in seen:
        return [seen[kind].a_day_later(basis)]
    alike = [replace(one, moves=_UNLIKE).a_day_later(basis) for one in seen.values()]
    like_none = [_apart(common.prior, size).field(basis) for size in _SIZES]
    return [*(replace(one, moves=like_none[0].moves) for one in alike), *like_none]


def together(common: Field, apart: Field) -> OfKind:
    """Return the surface of a day of a kind.

    Source:
        HV-E29.
    """
    of_common, of_apart = common.prior, apart.prior
    variance = {name: one + of_apart.variance[name] for name, one in of_common.variance.items()}
    return OfKind(
        common.mean + apart.mean,
        common.covariance + apart.covariance,
        common.own + apart.own,
        common.own_variance + apart.own_variance,
        Prior(of_common.level, variance, of_common.own + of_apart.own),
        common.moves,
        apart,
    )


def taken_apart(before: Field, after: Field, basis: Basis) -> tuple[Field, Field]:
    """Return what is known of what is common and of what is apart, after a look at a day of a kind.

    How errors of the two then go together is left out: so their sum is known less well than it might be.

    Args:
        before: What was known of the day's surface: of a first day of all its prior, else a sum.
        after: What is known of it now.
        basis: What surfaces are made of.

    Source:
        HV-E29.
    """
    was = before.apart if isinstance(before, OfKind) else None
    if was is None:
        was = _apart(before.prior, _SIZES[0] / (1 + _SIZES[0])).field(basis)
    gain, own_gain = was.covariance @ before.precision[0], was.own_variance / before.own_variance
    told, own_told = before.covariance - after.covariance, before.own_variance - after.own_variance
    part = gain @ told
    whole = part @ gain.T
    apart = replace(
        was,
        mean=was.mean + gain @ (after.mean - before.mean),
        covariance=was.covariance - whole,
        own=was.own + own_gain * (after.own - before.own),
        own_variance=was.own_variance - own_gain**2 * own_told,
    )
    variance = {name: one - was.prior.variance[name] for name, one in before.prior.variance.items()}
    common = Field(
        after.mean - apart.mean,
        # before.covariance - was.covariance, less what was told of the rest
        after.covariance - was.covariance + part + part.T - whole,
        after.own - apart.own,
        before.own_variance - was.own_variance - (1 - own_gain) ** 2 * own_told,
        Prior(before.prior.level, variance, before.prior.own - was.prior.own),
        before.moves,
    )
    return common, apart


def _apart(prior: Prior, size: float) -> Prior:
    """Return what is apart before anything is seen of it, from a surface and a share of its variances."""
    return replace(prior.times(size), level=0.0)

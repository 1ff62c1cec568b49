"""How variable a surface is, learned from what was seen of it: the variance of each part that makes it likeliest."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpmath.presence.basis import WAYS, Basis
from dpmath.presence.fields import Field, Prior, inverse_of

_STRIDE = 1.7
"""A step of expectation maximisation is taken so much further on the scale of logarithms: below 2 it still climbs."""
FIRST_ROUNDS = 6
"""Number of such steps on a first day; later each day takes one."""
_LEAST = 1e-4
"""No variance falls below this share of the sum of all."""


def prior_of(city: float, hour: float, hexagon: Sequence[float], course: Sequence[float], own: float) -> Prior:
    """Return a prior around 0 from variances in a cell.

    Args:
        city: Of all cells alike.
        hour: Of hours.
        hexagon: Of hexagons: of what is each one's own, and of what goes together near and far.
        course: Of their courses of the day, the same.
        own: Of what each cell has of its own.

    Source:
        HV-E20.
    """
    of_parts = {"city": (city,), "hour": (hour,), "hexagon": hexagon, "course": course}
    variance = {way: one for part, ways in WAYS.items() for way, one in zip(ways, of_parts[part], strict=True)}
    return Prior(0.0, variance, own)


USERS = prior_of(4.0, 1.0, (0.25, 1.0, 1.25), (0.04, 0.05, 0.09), 0.03)
"""Variances of the logarithm of expected users, before anything is seen: about those of three made cities and Austin,
asked with next to no noise. These were 0.1 to 0.6, 0.4 to 2.5 and 0.8 to 2.3 for hexagons, and alike for courses."""
RECORDS = prior_of(0.1, 0.02, (0.012, 0.012, 0.006), (0.001, 0.001, 0.002), 0.005)
"""Those of records a user, over the square of their mean; there they were smaller, or larger in a hexagon's own."""
VALUES = prior_of(0.3, 0.15, (0.25, 0.2, 0.1), (0.03, 0.03, 0.04), 0.04)
"""Those of values, over the variance of the map; there a hexagon's own was 0.04 to 0.8."""


def likelier(field: Field, basis: Basis) -> Prior:
    """Return the prior under which what was seen is likelier: each part as variable as it is known to be.

    A part of which nothing was seen stays as it was. So does the city's, of which there is one.

    Source:
        HV-E26.
    """
    prior, least = field.prior, _LEAST * field.prior.total
    found = dict(prior.variance)
    for name, part in basis.part.items():
        if name != "city" and field.mean[part.columns].size:
            inverse = np.linalg.inv(part.alike(prior.variance))
            seen = part.summed(field.mean[part.columns], field.covariance[part.columns, part.columns])
            more = inverse @ seen @ inverse - part.n_apart * inverse
            for way, alike in part.ways.items():
                before = prior.variance[way]
                after = before + before**2 * float((more * alike).sum()) / (part.n_apart * len(alike))
                found[way] = _further(before, after, least)
    own = float((field.own**2 + field.own_variance).mean())
    return Prior(prior.level, found, _further(prior.own, own, least))


def _further(before: float, after: float, least: float) -> float:
    return max(before * max(after / before, 0.0) ** _STRIDE, least)


def taken_as(field: Field, prior: Prior, basis: Basis) -> Field:
    """Return what is known of a surface if it had been taken to be like another prior.

    Source:
        HV-E26.
    """
    if prior == field.prior:
        return field
    if field.is_as_taken(basis):
        return prior.field(basis)
    before, after = (basis.precision(one.variance) for one in (field.prior, prior))
    known, _ = field.precision
    precision = known - before + after
    covariance, log_covariance = inverse_of(precision)
    pull = known @ field.mean - before @ field.prior.mean(basis) + after @ prior.mean(basis)
    own_variance = 1 / (1 / field.own_variance - 1 / field.prior.own + 1 / prior.own)
    own = own_variance / field.own_variance * field.own
    found = replace(
        field, mean=covariance @ pull, covariance=covariance, own=own, own_variance=own_variance, prior=prior
    )
    return found.known_by(precision, -log_covariance)

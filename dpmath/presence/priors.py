"""How variable a surface is, learned from what was seen of it: the variance of each part that makes it likeliest."""

from dataclasses import replace

from dpmath.presence.basis import Basis
from dpmath.presence.fields import Field, Prior, inverse_of

_STRIDE = 1.7
"""A step of expectation maximisation is taken so much further on the scale of logarithms: below 2 it still climbs."""
FIRST_ROUNDS = 6
"""Number of such steps on a first day; later each day takes one."""
_LEAST = 1e-4
"""No variance falls below this share of the sum of all."""


def likelier(field: Field, basis: Basis) -> Prior:
    """Return the prior under which what was seen is likelier: each part as variable as it is known to be.

    A part of which nothing was seen stays as it was. So does the city's, of which there is one.

    Source:
        HV-E26.
    """
    prior, least = field.prior, _LEAST * field.prior.total
    found = dict(prior.variance)
    for name, columns in basis.part.items():
        if name != "city" and field.mean[columns].size:
            inverse, mean = basis.inverse(name), field.mean[columns]
            square = mean @ inverse @ mean + (inverse * field.covariance[columns, columns]).sum()
            found[name] = _further(prior.variance[name], square / mean.size, least)
    own = float((field.own**2 + field.own_variance).mean())
    return Prior(prior.level, found, _further(prior.own, own, least))


def _further(before: float, after: float, least: float) -> float:
    return max(before * (after / before) ** _STRIDE, least)


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

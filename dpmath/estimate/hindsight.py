"""What is known of a day after later days: estimated again from its own sums and all that is known of what lasts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.errors import cells_of, errors_of, of_lasting, with_users_again
from dpmath.estimate.posterior import Estimate, Joint, solved, told_by, with_shocks
from dpmath.estimate.state import State
from dpmath.estimate.taken import Taken
from dpmath.estimate.told import Known, Told
from dpmath.estimate.view import View
from dpmath.joint.errors import OfFactors
from dpmath.joint.loadings import Loadings, loadings


@dataclass(frozen=True)
class Later:
    """What is known after some releases.

    Attributes:
        state: The state.
        wide: The same with the scales for intervals.
    """

    state: State
    wide: State

    @classmethod
    def after(cls, state: State, cut: float) -> "Later":
        """Return what is known after the last release, whose last sums may be off by a part that balls cut off."""
        return cls(state, replace(state, scales=state.scales.widened(cut)))


@dataclass(frozen=True)
class Hindsight:
    """What is known of a day's cells after later days.

    Attributes:
        mean: Mean of each cell, in points, shape (G,).
        together: How their errors go together, and with those of other days.
    """

    mean: FloatArray
    together: Loadings


def hindsight(day: Day, taken: Sequence[Taken], shocks: FloatArray, later: Later, covariates: FloatArray) -> Hindsight:
    """Return what is known of a day after later days.

    Args:
        day: The day.
        taken: Its sums.
        shocks: What it differs by, as a factor of the variances of other days: ``Read.shocks``.
        later: What is known after later days, which learned from these sums too.
        covariates: The covariates of each cell, shape (G, n).

    Source:
        HV-E31.
    """
    mean, errors, lasting, joint = known_after(View.of(day, later.state, covariates), taken, shocks, later)
    return Hindsight(mean, loadings(errors, lasting, cells_of(day), with_users_again(lasting, joint)))


def known_after(
    view: View, taken: Sequence[Taken], shocks: FloatArray, later: Later
) -> tuple[FloatArray, OfFactors, OfFactors, Joint]:
    """Return the means of a day's cells after later days, and their errors: on the day, and with those of other days.

    The last are the errors as if it were known what lasts.

    Sums of other days tell of a day by what lasts of its cells alone. Given what lasts, the day's own sums tell of what
    the day differs by; what lasts is known with all sums, the day's too.

    Args:
        view: The day as the state after later days expects it.
        taken: Its sums.
        shocks: What it differs by, as a factor of the variances of other days.
        later: What is known after later days.

    Source:
        HV-E31.
    """
    told = told_by(view, taken)
    mean = _given_what_lasts(view, told, taken, shocks).mean
    wide = replace(view, state=later.wide)
    found = _given_what_lasts(wide, told, taken, shocks)
    joint = replace(found.joint, off=np.column_stack([found.joint.off, found.mean - mean]))
    given, _ = errors_of(replace(found, joint=joint), view.day)
    lasting = of_lasting(wide.state.known, told, joint, view.day)
    return mean, replace(given, factors=given.factors.plus(lasting.factors)), lasting, joint


def _given_what_lasts(view: View, told: Told, taken: Sequence[Taken], shocks: FloatArray) -> Estimate:
    """Return the estimate of a day as if it were known for sure what lasts of it."""
    view, told = with_shocks(view, told, shocks)
    lasting = view.state.known
    surely, differs = np.zeros_like(lasting.prior), view.today.prior - lasting.prior
    return solved(replace(view, today=Known(lasting.mean, differs, ())), told, taken, Known(lasting.mean, surely, ()))

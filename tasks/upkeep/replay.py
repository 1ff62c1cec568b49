"""Replays estimates: makes each again from its questions and noisy answers, and compares it with what was released."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from dpmath.core.currency import Currency
from dpmath.estimate.state import State
from tasks.account.entry import Entry, Release
from tasks.base.config import Config
from tasks.estimates.asking import Known
from tasks.estimates.owner_covariates import covariate_names
from tasks.estimates.states import Again, chain_before, days_between, estimate_again, replayed
from tasks.planning.stored_plan import StoredPlan
from tasks.release.estimate import describe_questions, estimate_frame

TOLERANCE = 1e-5
"""How far a number may be from the one that is made again, as a share of the range: machines add up in other orders."""
_MOST_STATES = 4
_NUMBERS = ("mean", "mean_sd", "mean_ci95_low", "mean_ci95_high", "typical_mean")


class Replay:
    """Makes the estimates of a ledger again, in the order in which they were released."""

    def __init__(self) -> None:
        self._after: OrderedDict[str, State] = OrderedDict()

    def problems(
        self, entry: Release, plan: StoredPlan, table: pl.DataFrame, before: Sequence[Entry], config: Config
    ) -> Iterator[str]:
        """Yield what in a released estimate does not follow from its plan, its questions and the releases before it.

        Args:
            entry: The entry of the release.
            plan: Its stored plan.
            table: The released table.
            before: The entries before it.
            config: Says where the files are.
        """
        settings = config.with_settings(entry.settings)
        known = self._known(entry, covariate_names(plan.cells), before, settings, config)
        again = estimate_again(entry, known, config)
        if entry.revision is None:
            self._after[entry.release_id] = again.estimate.state
        while len(self._after) > _MOST_STATES:
            self._after.popitem(last=False)
        if _overcharged(again, entry.currency):
            yield "a user's questions cost more than the user was charged"
        for name, value in describe_questions(covariate_names(plan.cells), again.asked, known).items():
            if entry.stated.get(name) != value:
                yield f"{name} is not what the plans give"
        expected = estimate_frame(plan.cells, again.estimate, again.asked, entry.release_id, settings)
        drawn = [*_NUMBERS, "support", "mean_day_share"]
        if not expected.drop(drawn).equals(table.drop(drawn, strict=False)):
            yield "the released table is not what was planned"
        elif any(_apart(expected[name], table[name], float(settings.value.span)) for name in _NUMBERS):
            yield "the released table does not follow from the noisy answers"
        elif _apart(expected["mean_day_share"], table["mean_day_share"], 100.0):
            yield "mean_day_share does not follow from the noisy answers"

    def _known(
        self, entry: Release, covariates: list[str], before: Sequence[Entry], settings: Config, config: Config
    ) -> Known:
        chain = chain_before(entry.date, covariates, before, settings)
        if not chain:
            return Known(None, None, 0, 1)
        state = self._after.get(chain[-1].release_id)
        if state is None:
            state = replayed(chain, config)
        return Known(state, None, len(chain), days_between(chain[-1], entry.date))


def _overcharged(again: Again, currency: Currency) -> bool:
    """Return whether a user's questions cost more than the user was charged."""
    losses = np.zeros(len(again.losses), dtype=object)
    for question, _ in again.questions:
        losses = losses + question.losses(currency)
    return bool((losses > np.array(again.losses, dtype=object)).any())


def _apart(expected: pl.Series, found: pl.Series, span: float) -> bool:
    return not bool(((expected - found).abs() <= TOLERANCE * span).all())

"""Replays estimates: makes each again from its questions and noisy answers, and compares it with what was released."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from dpmath.core.currency import Currency
from dpmath.estimate.state import State
from tasks.account import private_files
from tasks.account.entry import Entry, Release
from tasks.base.config import Config
from tasks.estimates.asking import Known, asked_of, norm_of
from tasks.estimates.public_day import occupancy_of
from tasks.estimates.states import chain_before, days_between, estimate_again, replayed
from tasks.estimates.stored_questions import read_questions
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
        known = self._known(entry, before, settings, config)
        day, estimate = estimate_again(entry, known, config)
        if entry.revision is None:
            self._after[entry.release_id] = estimate.state
        while len(self._after) > _MOST_STATES:
            self._after.popitem(last=False)
        asked = asked_of(day, [plan.losses.get(user, 0) for user in _users(plan)], known, settings)
        for name, value in describe_questions(asked, known).items():
            if entry.stated.get(name) != value:
                yield f"{name} is not what the plans give"
        expected = estimate_frame(plan.cells, estimate, asked, entry.release_id, settings)
        drawn = [*_NUMBERS, "support", "mean_day_share"]
        if not expected.drop(drawn).equals(table.drop(drawn, strict=False)):
            yield "the released table is not what was planned"
        elif any(_apart(expected[name], table[name], float(settings.value.span)) for name in _NUMBERS):
            yield "the released table does not follow from the noisy answers"
        elif _apart(expected["mean_day_share"], table["mean_day_share"], 100.0):
            yield "mean_day_share does not follow from the noisy answers"

    def _known(self, entry: Release, before: Sequence[Entry], settings: Config, config: Config) -> Known:
        chain = chain_before(entry.date, before, settings)
        if not chain:
            return Known(None, None, 0, 1)
        state = self._after.get(chain[-1].release_id)
        if state is None:
            state = replayed(chain, config)
        return Known(state, None, len(chain), days_between(chain[-1], entry.date))


def overcharged(entry: Release, plan: StoredPlan, settings: Config, currency: Currency, config: Config) -> str | None:
    """Return what is wrong with an estimate's charges: a user's questions may cost more than the user was charged."""
    occupancy, users = occupancy_of(plan.cells, plan.pairs)
    questions = read_questions(
        private_files.releases(config), str(entry.questions), occupancy, settings.value.n_ticks, norm_of(settings)
    )
    losses = np.zeros(len(users), dtype=object)
    for question, _ in questions:
        losses = losses + question.losses(currency)
    charged = np.array([plan.losses.get(user, 0) for user in users], dtype=object)
    return "a user's questions cost more than the user was charged" if (losses > charged).any() else None


def _users(plan: StoredPlan) -> list[str]:
    return occupancy_of(plan.cells, plan.pairs)[1]


def _apart(expected: pl.Series, found: pl.Series, span: float) -> bool:
    return not bool(((expected - found).abs() <= TOLERANCE * span).all())

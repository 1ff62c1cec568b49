"""Replays estimates: makes each again from its questions and noisy answers, and compares it with what was released."""

import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl

from dpmath.core.currency import Currency
from dpmath.core.occupancy import IntArray
from dpmath.estimate.areas import AREAS, Areas
from dpmath.estimate.asked import Asked
from dpmath.estimate.departures import departures
from dpmath.estimate.errors import loadings_of
from dpmath.estimate.questions import Questions
from dpmath.estimate.state import MODEL, POINTS, State
from dpmath.estimate.state_arrays import to_arrays
from dpmath.estimate.taken import Read
from dpmath.estimate.view import View
from dpmath.joint.loadings import Loadings
from tasks.account import private_files
from tasks.account.entry import Entry, Release
from tasks.account.said_first import WHOLE_DAY
from tasks.base.config import Config
from tasks.base.logs import say
from tasks.base.provenance import code_hash
from tasks.kinds.estimated.asked_day import Known
from tasks.kinds.estimated.hindsight import days_of_the_week, hindsight_tables
from tasks.kinds.estimated.laws import unlike_laws, without_laws
from tasks.kinds.estimated.owner_covariates import covariate_names
from tasks.kinds.estimated.public_day import occupancy_of
from tasks.kinds.estimated.release import describe_joint, describe_questions
from tasks.kinds.estimated.shares import says_other_shares
from tasks.kinds.estimated.states import (
    Again,
    chain_before,
    days_between,
    estimate_again,
    folder_of,
    questions_again,
    read_state,
    replayed,
)
from tasks.kinds.estimated.stored_questions import QUESTIONS, read_readings
from tasks.kinds.estimated.tables import areas_of, estimate_frame, further_tables, support_of, target_of
from tasks.kinds.stored_plan import StoredPlan
from tasks.occupancy.cells import parents_of
from tasks.output_formats.hindsight import day_of, hindsight_of
from tasks.output_formats.joint import JOINT, JOINT_SHARES, says_another

log = logging.getLogger("hexveil.verify")

TOLERANCE = 1e-5
"""How far a number may be from the one that is made again, as a share of the range: machines add up in other orders."""
_OF_THE_WHOLE = 1e-4
"""The same for the day's mean and its deviation, of which few digits are stated."""
_NEAR = 1e-4
"""A cell whose area departs by about the limit may be marked or not, as a share of the limit."""
_MOST_STATES = 4
_NUMBERS = ("mean", "mean_sd", "mean_ci95_low", "mean_ci95_high", "typical_mean")


class Replay:
    """Makes the estimates of a ledger again, in the order in which they were released."""

    def __init__(self) -> None:
        self._after: OrderedDict[str, State] = OrderedDict()

    def problems(
        self, entry: Release, plan: StoredPlan, table: pl.DataFrame, before: Sequence[Entry], config: Config
    ) -> Iterator[str]:
        """Yield what follows from no plan, questions and earlier releases; see ``tasks.kinds.kind.Verifier``."""
        if entry.stated.get("model") != MODEL:
            yield from _problems_of_another_model(entry, plan, config)
            return
        settings = config.with_settings(entry.settings)
        chain = chain_before(entry.date, covariate_names(plan.cells), before, settings)
        known = self._known(entry, chain, config)
        again = estimate_again(entry, known, config)
        if entry.revision is None:
            self._after[entry.release_id] = again.estimate.state
        while len(self._after) > _MOST_STATES:
            self._after.popitem(last=False)
        if _overcharged(again.questions, again.losses, entry.currency):
            yield "a user's questions cost more than the user was charged"
        for name, value in describe_questions(covariate_names(plan.cells), again.asked, known).items():
            if entry.stated.get(name) != value:
                yield f"{name} is not what the plans give"
        areas = areas_of(again.estimate, again.asked, settings)
        chosen = _chosen(table, areas, target_of(settings))
        expected = estimate_frame(
            plan.cells, again.estimate, again.asked, areas, chosen, entry.release_id, entry.epsilon, settings
        )
        yield from _unlike(without_laws(table, settings), expected, chosen, float(settings.value.span))
        if "unusual" in table.columns and _unusual_otherwise(table, again):
            yield "unusual does not follow from the noisy answers"
        together = loadings_of(again.estimate, again.asked.day)
        yield from unlike_laws(table, again.estimate, again.asked, together.day, settings, TOLERANCE)
        yield from _unlike_further_tables(entry, plan, again, together, settings, config)
        yield from _unlike_hindsight(entry, chain, again, config)
        if ("before" in entry.states) != (known.n_releases > 0):
            yield "the state before it is not that of what it learned from"
        if ("after" in entry.states) != (entry.revision is None):
            yield "the state after it is missing, or is of a revision"
        elif entry.revision is None and _has_another_state(entry, again, config):
            yield "the state after it does not follow from the noisy answers"

    def _known(self, entry: Release, chain: list[Release], config: Config) -> Known:
        if not chain:
            return Known(None, None, 0, 1)
        state = self._after.get(chain[-1].release_id)
        if state is None:
            state = replayed(chain, config)
        return Known(state, None, len(chain), days_between(chain[-1], entry.date))


def _unlike(table: pl.DataFrame, expected: pl.DataFrame, chosen: IntArray, span: float) -> Iterator[str]:
    """Yield the first thing in which a released table differs from the one that is made again."""
    drawn = [*_NUMBERS, "support", "mean_area", "mean_day_share", "unusual"]
    if expected.schema != table.schema or not expected.drop(drawn).equals(table.drop(drawn)):
        yield "the released table is not what was planned"
    elif not expected["mean_area"].equals(table["mean_area"]):
        yield "mean_area does not follow from the widths of the intervals"
    elif any(_apart(expected[name], table[name], span) for name in _NUMBERS):
        yield "the released table does not follow from the noisy answers"
    elif _apart(expected["mean_day_share"], table["mean_day_share"], 100.0):
        yield "mean_day_share does not follow from the noisy answers"
    elif not np.array_equal(table["support"].to_numpy(), support_of(chosen, table["mean_day_share"].to_numpy())):
        yield "support does not follow from mean_area and mean_day_share"


def _differ(expected: pl.DataFrame, found: pl.DataFrame) -> bool:
    """Return whether a further table differs from the one that is made again, by more than the tolerance."""
    if expected.schema != found.schema or expected.height != found.height:
        return True
    for name, dtype in expected.schema.items():
        ours, theirs = (one[name].explode() if isinstance(dtype, pl.List) else one[name] for one in (expected, found))
        if ours.len() != theirs.len() or ours.null_count() != theirs.null_count():
            return True
        if not ours.dtype.is_float():
            if not ours.equals(theirs):
                return True
        elif _apart(ours.drop_nulls(), theirs.drop_nulls(), max(1.0, float(ours.abs().max() or 0))):  # type: ignore[arg-type]
            return True
    return False


def _unusual_otherwise(table: pl.DataFrame, again: Again) -> bool:
    """Return whether a table marks cells that are not marked again, or fails to; either is right near the limit."""
    found = table["unusual"].to_numpy()
    departing = departures(again.estimate, again.asked.day, parents_of(again.asked.day.names))
    return bool((departing.unusual(_NEAR) & ~found).any() or (found & ~departing.unusual(-_NEAR)).any())


def _unlike_further_tables(
    entry: Release, plan: StoredPlan, again: Again, together: Loadings, settings: Config, config: Config
) -> Iterator[str]:
    """Yield the tables beside that of the cells, and the numbers of them, that do not follow from the answers."""
    span = float(settings.value.span)
    made = further_tables(plan.cells, again.questions, again.asked, again.estimate, together, settings)
    folder = private_files.releases(config)
    for name, again_made in made.items():
        found = private_files.read_frame(folder, entry.files[name])
        if name == JOINT:
            is_another = says_another(again_made, found, TOLERANCE * span)
        elif name == JOINT_SHARES:
            is_another = says_other_shares(again_made, found, TOLERANCE, settings)
        else:
            is_another = _differ(again_made, found)
        if is_another:
            yield f"{name} does not follow from the noisy answers"
    described = describe_joint(again.estimate, again.asked.day, together, made[JOINT], settings)
    for name, slack in (("joint_error", 0.015), (WHOLE_DAY, _OF_THE_WHOLE * span)):
        if _far(entry.stated[name], described[name], slack):
            yield f"{name} does not follow from the noisy answers"


def _unlike_hindsight(entry: Release, chain: list[Release], again: Again, config: Config) -> Iterator[str]:
    """Yield what of earlier days, as they are known with a release, and of how it read its sums, does not follow."""
    folder, estimate = private_files.releases(config), again.estimate
    read = read_readings(folder, entry.kept[QUESTIONS])
    if read is not None and not _read_alike(read, estimate.read):
        yield "how its sums are read does not follow from the noisy answers"
    days = days_of_the_week(entry.date, chain, config) if entry.revision is None else []
    named = {name for name in entry.files if day_of(name)}
    if named != {hindsight_of(one.entry.date) for one in days}:
        yield f"its tables of earlier days are {', '.join(sorted(named)) or 'none'}, and should be of {len(days)} days"
        return
    tolerance = TOLERANCE * float(config.with_settings(entry.settings).value.span)
    for name, expected in hindsight_tables(days, estimate, config):
        if says_another(expected, private_files.read_frame(folder, entry.files[name]), tolerance):
            yield f"{name} does not follow from the noisy answers"


def _read_alike(one: Read, other: Read) -> bool:
    if len(one.readings) != len(other.readings):
        return False
    pairs = [(one.shocks, other.shocks)]
    for ours, theirs in zip(one.readings, other.readings, strict=True):
        pairs += [(getattr(ours, name), getattr(theirs, name)) for name in ("share", "noise", "error")]
    return all(np.shape(a) == np.shape(b) and np.allclose(a, b, TOLERANCE, TOLERANCE) for a, b in pairs)


def _far(stated: dict[str, str], again: dict[str, str], slack: float) -> bool:
    """Return whether stated numbers differ by more than rounding."""
    return stated.keys() != again.keys() or any(
        abs(float(stated[key]) - float(one)) > slack for key, one in again.items()
    )


def _has_another_state(entry: Release, again: Again, config: Config) -> bool:
    """Return whether the state that is stored, from which the next day would be estimated, is not that made again."""
    name = entry.states["after"]
    if entry.code != code_hash() or not (folder_of(config) / name).exists():
        return False  # it is made again here, or by the next release
    ours, theirs = again.estimate.state, read_state(name, config)
    return any(
        one.shape != other.shape or not np.allclose(one, other, TOLERANCE, TOLERANCE * _largest(one))
        for told in (_scales, partial(_expected, again.asked))
        for one, other in zip(told(ours), told(theirs), strict=True)
    )


def _scales(state: State) -> list[np.ndarray]:
    """Return what a state says of the values but for coefficients."""
    return [array for name, array in to_arrays(state).items() if not name.startswith(("basis.", "told."))]


def _expected(asked: Asked, state: State) -> list[np.ndarray]:
    """Return the mean and variance that a state expects in a day's cells, in which coefficients show.

    Functions of equal variance, and folded sums, may be turned otherwise on another machine, and tell the same.
    """
    expected = View.of(asked.day, state, asked.covariates)
    return [expected.unbounded, expected.state_variance]


def _largest(numbers: np.ndarray) -> float:
    return float(np.abs(numbers).max(initial=1))


def _chosen(table: pl.DataFrame, areas: Areas, target: float) -> IntArray:
    """Return which area each row should be of: the one that it names, where widths within the tolerance give it.

    A width may lie at the target itself, or two may be equal. Another machine, which adds up in another order, then
    chooses otherwise. Widths rounded to a grid would only move this to the edges of the grid.
    """
    ours = areas.chosen(target)
    named = table["mean_area"].replace_strict(list(AREAS), range(len(AREAS)), default=-1, return_dtype=pl.Int64)
    theirs = named.fill_null(-1).to_numpy()
    if theirs.size != ours.size:
        return ours
    known = (theirs >= 0) & (theirs < len(areas.number))
    return np.where(known & areas.allowed(np.where(known, theirs, 0), target, TOLERANCE * POINTS), theirs, ours)


def _problems_of_another_model(entry: Release, plan: StoredPlan, config: Config) -> Iterator[str]:
    """Yield what is wrong with the charge of a release that another version estimated, which is not made again."""
    say(log, "the estimate is of another model: its charge is checked, its table is not made again", date=entry.date)
    occupancy, users = occupancy_of(plan.cells, plan.pairs)
    if _overcharged(*questions_again(entry, occupancy, users, config), entry.currency):
        yield "a user's questions cost more than the user was charged"


def _overcharged(questions: Questions, charged: list[int], currency: Currency) -> bool:
    """Return whether a user's questions cost more than the user was charged."""
    losses = np.zeros(len(charged), dtype=object)
    for question, _ in questions:
        losses = losses + question.losses(currency)
    return bool((losses > np.array(charged, dtype=object)).any())


def _apart(expected: pl.Series, found: pl.Series, span: float) -> bool:
    """Return whether numbers differ by more than the tolerance; what is no number differs from any."""
    return not bool(((expected - found).abs() <= TOLERANCE * span).fill_null(value=False).all())

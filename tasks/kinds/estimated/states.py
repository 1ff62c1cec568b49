"""The state that releases leave for the days to come: which it is, where it is kept, and how it is made again."""

import datetime as dt
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dpmath.core.occupancy import Occupancy
from dpmath.estimate.asked import Asked
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import answered, programme
from dpmath.estimate.questions import Questions
from dpmath.estimate.state import MODEL, State
from dpmath.estimate.state_arrays import from_arrays, to_arrays
from tasks.account import private_files
from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.account.screenings import same_quantity
from tasks.base.config import Config
from tasks.base.logs import say
from tasks.base.progress import progress
from tasks.kinds.estimated.asked_day import Known, asked_of, norm_of
from tasks.kinds.estimated.public_day import occupancy_of, public_day
from tasks.kinds.estimated.stored_arrays import read_arrays, write_arrays
from tasks.kinds.estimated.stored_questions import QUESTIONS, read_questions


@dataclass(frozen=True)
class Again:
    """An estimate that was made again.

    Attributes:
        asked: What its questions were made from.
        questions: The questions as they were asked, each with its noisy answers.
        losses: What each user was charged, in the account's unit.
        estimate: The estimate.
    """

    asked: Asked
    questions: Questions
    losses: list[int]
    estimate: Estimate


_SAME = ("grid", "estimate")
"""The settings that a state is for, beside the value. If one of them changes, the estimate begins anew."""

log = logging.getLogger("hexveil.estimate")


def folder_of(config: Config) -> Path:
    """Return the folder of states. It can be made again from the releases."""
    return private_files.states(config)


def chain_of(covariates: list[str], entries: Sequence[Entry], config: Config) -> list[Release]:
    """Return the releases that the next estimate learns from, in the order in which they were released.

    Args:
        covariates: The names of the owner's covariates in the day's plan.
        entries: The ledger's entries.
        config: Gives the settings that must be the same.

    These are the releases by the same mechanism and model with the same grid, time zone, value and covariates. A
    revision learns from those before its day's first release, and nothing learns from a revision: a day is learned from
    once.
    """
    settings = config.public_settings()
    return [
        entry
        for entry in releases(entries)
        if entry.revision is None
        and entry.settings["privacy"]["mechanism"] == config.privacy.mechanism
        and entry.stated.get("model") == MODEL
        and entry.stated.get("covariates", []) == covariates
        and entry.settings["dataset"]["timezone"] == config.dataset.timezone
        and all(entry.settings.get(name) == settings[name] for name in _SAME)
        and same_quantity(entry.settings, settings)
    ]


def chain_before(date: dt.date, covariates: list[str], entries: Sequence[Entry], config: Config) -> list[Release]:
    """Return the releases that an estimate of a day learns from: those before the day's first release."""
    chain = chain_of(covariates, entries, config)
    return chain[: next((number for number, entry in enumerate(chain) if entry.date == date), len(chain))]


def known_before(date: dt.date, covariates: list[str], entries: Sequence[Entry], config: Config) -> Known:
    """Return what is known before a release of a day: the state after the last release that counts.

    If its file is missing, the state is made again from the releases' own questions and noisy answers.
    """
    chain = chain_before(date, covariates, entries, config)
    if not chain:
        return Known(None, None, 0, 1)
    name = chain[-1].states["after"]
    if not (folder_of(config) / name).exists():
        name = write_state(replayed(chain, config), config)
        say(log, "state is made again from the releases", days=len(chain))
    return Known(read_state(name, config), name, len(chain), days_between(chain[-1], date))


def read_state(name: str, config: Config) -> State:
    """Return a stored state.

    Raises:
        LedgerBroken: The file is missing or changed.
    """
    return from_arrays(read_arrays(folder_of(config), name))


def write_state(state: State, config: Config) -> str:
    """Store a state and return the hash of its file."""
    return write_arrays(folder_of(config), to_arrays(state))


def remove_old_states(known: Known, covariates: list[str], entries: Sequence[Entry], config: Config) -> None:
    """Remove all stored states but what is known before a release and after the last one: each can be made again."""
    last = [entry.states["after"] for entry in chain_of(covariates, entries, config)[-1:]]
    private_files.keep_only([*([] if known.name is None else [known.name]), *last], folder_of(config))


def estimate_again(entry: Release, known: Known, config: Config) -> Again:
    """Return a release's estimate, from what was known before it and its questions and noisy answers.

    Raises:
        LedgerBroken: A file is missing or changed.
    """
    released = public_day_again(entry, config)
    questions, losses = questions_again(entry, released.occupancy, released.users, config)
    asked = asked_of(released.day, losses, known, released.settings)
    return Again(asked, questions, losses, answered(programme(known.state, asked), questions))


@dataclass(frozen=True)
class PublicDay:
    """What is public of a released day.

    Attributes:
        settings: The settings of its release.
        occupancy: The occupancy array.
        users: The keyed hash of each user, by its number in the occupancy array.
        day: The day.
    """

    settings: Config
    occupancy: Occupancy
    users: list[str]
    day: Day

    @cached_property
    def covariates(self) -> FloatArray:
        """The covariates of each cell, shape (G, n)."""
        return covariates(self.day, self.settings.estimate.occupancy_covariates)


def public_day_again(entry: Release, config: Config) -> PublicDay:
    """Return what is public of a released day.

    Raises:
        LedgerBroken: A file of its plan is missing or changed.
    """
    settings, plans = config.with_settings(entry.settings), private_files.plans(config)
    stored = json.loads(private_files.read(plans, entry.plan))
    cells, pairs = (private_files.read_frame(plans, stored["files"][name]) for name in ("cells", "pairs"))
    occupancy, users = occupancy_of(cells, pairs)
    return PublicDay(settings, occupancy, users, public_day(entry.date, cells, occupancy, settings))


def questions_again(
    entry: Release, occupancy: Occupancy, users: list[str], config: Config
) -> tuple[Questions, list[int]]:
    """Return a release's stored questions with their noisy answers, and what each user was charged.

    Raises:
        LedgerBroken: A file is missing or changed.
    """
    settings, plans = config.with_settings(entry.settings), private_files.plans(config)
    charged, stored = private_files.losses(entry, config), json.loads(private_files.read(plans, entry.plan))
    if "charges" in stored["files"]:  # the count that screened the day was paid from the same budget
        charged = private_files.without(charged, private_files.read_losses(plans, stored["files"]["charges"]))
    folder, name = private_files.releases(config), entry.kept[QUESTIONS]
    questions = read_questions(folder, name, occupancy, settings.value.n_ticks, norm_of(settings))
    return questions, [charged.get(user, 0) for user in users]


def replayed(chain: Sequence[Release], config: Config) -> State:
    """Return the state after some releases, made again from their questions and noisy answers."""
    known = Known(None, None, 0, 1)
    for number, entry in enumerate(progress(chain, "making the state again")):
        ago = days_between(chain[number - 1], entry.date) if number else 1
        known = Known(known.state, None, number, ago)
        known = Known(estimate_again(entry, known, config).estimate.state, None, number + 1, 1)
    if known.state is None:
        raise ValueError("there is no release to make a state from")
    return known.state


def days_between(before: Release, date: dt.date) -> int:
    """Return how many days apart a release and a day are, at least 1."""
    return max(1, abs((date - before.date).days))

"""What releases leave for the days to come, and the questions and noisy answers that it can be made from again."""

import datetime as dt
from collections.abc import Mapping, Sequence
from io import BytesIO

import numpy as np
import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.presence.basis import Grid
from dpmath.presence.fields import Field, Prior
from dpmath.presence.kinds import N_KINDS, WEEKDAY
from dpmath.presence.lengths import Lengths
from dpmath.presence.link import Link
from dpmath.presence.priors import USERS
from dpmath.presence.programme import Answered, asked_again, programme
from dpmath.presence.residuals import Residuals
from dpmath.presence.state import MODEL, SURFACES, Asked, State, asked_of
from tasks.account import private_files
from tasks.account.entry import Entry
from tasks.account.presence_release import PresenceRelease, presence_releases
from tasks.base import durable, frames
from tasks.base.config_calendar import Calendar
from tasks.base.errors import LedgerBroken
from tasks.base.progress import progress
from tasks.presence.area import positions_of
from tasks.presence.config import PresenceConfig
from tasks.presence.stored_questions import QUESTIONS, read_questions

ANSWERS = "answers.parquet"
"""The published file of the noisy answers, from which with the questions all else can be made again."""
AREA = "area.json"
"""The published file of the hexagons of the public area."""
_PARTS = ("mean", "covariance", "own", "own_variance")
_NUMBERS = ("overdispersion", "mean_cells", "mean_records", "records_variance")
_SAME = ("grid", "value", "statistics")
"""The settings that a state is for, with cap and time zone. If one of them changes, the estimate begins anew."""
_APART = {kind: f"apart_{kind}" for kind in range(N_KINDS) if kind != WEEKDAY}
"""What the parts of a state of each kind of day are called."""
_MOST_KEPT = 3
_MOST_DAYS = 60
"""After so many days without a release what is known grows no vaguer."""


def asked(config: PresenceConfig, kind: int = WEEKDAY) -> Asked:
    """Return what is public before a day of a kind is asked."""
    grid = Grid(positions_of(config.hexagons), config.n_slots)
    counts_only = not config.statistics.mean
    return asked_of(grid, config.privacy.cap, config.value.n_ticks, config.privacy.loss_per_day, counts_only, kind)


def chain_before(date: dt.date, entries: Sequence[Entry], config: PresenceConfig) -> list[PresenceRelease]:
    """Return the releases that an estimate of a day learns from, in the order in which they were released.

    A revision learns from those before its day's first release, and nothing learns from a revision.
    """
    settings = config.public_settings()
    chain = [
        entry
        for entry in presence_releases(entries)
        if entry.revision is None
        and entry.stated.get("model") == MODEL
        and entry.settings["privacy"]["cap"] == config.privacy.cap
        and entry.settings["dataset"]["timezone"] == config.timezone
        and entry.settings["columns"].get("only") == settings["columns"].get("only")
        and all(entry.settings[name] == settings[name] for name in _SAME)
    ]
    return chain[: next((number for number, entry in enumerate(chain) if entry.date == date), len(chain))]


def known_before(date: dt.date, entries: Sequence[Entry], config: PresenceConfig) -> State | None:
    """Return what is known before a day is asked, as it is on the day before; None if nothing fits.

    If its file is missing, it is made again from the noisy answers of all releases before.
    """
    chain = chain_before(date, entries, config)
    if not chain:
        return None
    stored = durable.read_named_by_hash(private_files.states(config), chain[-1].states["after"])
    if stored is None:
        return MadeAgain().before(date, entries, config)
    return _waited(_unpacked(stored), chain[-1].date, date, config)


class MadeAgain:
    """States that are made again from noisy answers alone; the last ones are kept, so that a year is made once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._after: dict[str, State] = {}

    def before(self, date: dt.date, entries: Sequence[Entry], config: PresenceConfig) -> State | None:
        """Return what is known before a day is asked; see ``known_before``."""
        chain = chain_before(date, entries, config)
        done = max((number for number, one in enumerate(chain, start=1) if one.hash in self._after), default=0)
        for number in progress(range(done, len(chain)), "making the state again") if len(chain) > done else ():
            before = None if number == 0 else self._waited(chain[number - 1], chain[number].date, config)
            self._after[chain[number].hash] = estimated_again(chain[number], before, config).estimate.state
            self._after = dict(list(self._after.items())[-_MOST_KEPT:])
        return self._waited(chain[-1], date, config) if chain else None

    def _waited(self, entry: PresenceRelease, date: dt.date, config: PresenceConfig) -> State:
        return _waited(self._after[entry.hash], entry.date, date, config)


def _waited(state: State, before: dt.date, date: dt.date, config: PresenceConfig) -> State:
    """Return what is known on the day before a date, of a state that a release left, in whichever order days come."""
    n_days, public = min(max(1, abs((date - before).days)), _MOST_DAYS), asked(config)
    for _ in range(n_days - 1):
        state = state.a_day_later(public)
    return state


def estimated_again(entry: PresenceRelease, before: State | None, config: PresenceConfig) -> Answered:
    """Return a release's estimate, from what was known before it, what was asked, and its noisy answers.

    Raises:
        LedgerBroken: Questions or answers are missing, changed, or not those of its questions.
    """
    settings, folder = config.with_privacy(entry.settings["privacy"]), private_files.releases(config)
    questions, answers = (private_files.read(folder, entry.files[name]) for name in (QUESTIONS, ANSWERS))
    try:
        kind = Calendar.model_validate(entry.settings.get("calendar")).kind_of_day(entry.date)
        return asked_again(programme(before, asked(settings, kind)), read_questions(questions), read_answers(answers))
    except (ValueError, pl.exceptions.PolarsError):
        pass
    raise LedgerBroken(f"the noisy answers of {entry.release_id} are not those of its questions")


def answers_table(answers: Sequence[ExactIntArray]) -> pl.DataFrame:
    """Return noisy answers as a table: question, place, answer. It is public: all else follows from it."""
    return pl.DataFrame(
        {
            "question": np.concatenate([np.full(one.size, number) for number, one in enumerate(answers)]),
            "place": np.concatenate([np.arange(one.size) for one in answers]),
            "answer": frames.exact_series([int(one) for answer in answers for one in answer]),
        }
    )


def read_answers(content: bytes) -> list[ExactIntArray]:
    """Return the noisy answers in a file."""
    table = pl.read_parquet(BytesIO(content)).sort("question", "place")
    return [
        np.array([int(one) for one in of_question["answer"]], dtype=object)
        for of_question in table.partition_by("question", maintain_order=True)
    ]


def packed(state: State) -> bytes:
    """Return a state as bytes."""
    fields = {name: getattr(state, name) for name in SURFACES}
    fields |= {_APART[kind]: field for kind, field in sorted(state.apart.items())}
    arrays = {f"{name}.{part}": getattr(field, part) for name, field in fields.items() for part in _PARTS}
    arrays |= {f"{name}.prior": _prior_numbers(field) for name, field in fields.items()}
    residuals = state.residuals
    arrays |= {"residuals": np.array([residuals.of_user, residuals.of_record]), "unsure": residuals.covariance}
    arrays["lengths"] = np.array([state.lengths.mean, state.lengths.variance])
    arrays["link"] = np.array([state.link.mean, state.link.variance])
    numbers = np.array([getattr(state, name) for name in _NUMBERS])
    buffer = BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays, numbers=numbers)
    return buffer.getvalue()


def _unpacked(content: bytes) -> State:
    with np.load(BytesIO(content)) as stored:
        surfaces = {name: _field(stored, name) for name in SURFACES}
        apart = {kind: _field(stored, name) for kind, name in _APART.items() if f"{name}.prior" in stored}
        numbers, lengths, link = stored["numbers"].tolist(), Lengths(*stored["lengths"]), Link(*stored["link"].tolist())
        (of_user, of_record), unsure = stored["residuals"].tolist(), stored["unsure"]
    named = dict(zip(_NUMBERS, numbers, strict=True))
    residuals = Residuals(of_user, of_record, unsure)
    return State(**surfaces, **named, residuals=residuals, lengths=lengths, link=link, apart=apart)


def _prior_numbers(field: Field) -> np.ndarray:
    prior = field.prior
    return np.array([field.moves, prior.level, prior.own, *(prior.variance[way] for way in USERS.variance)])


def _field(stored: Mapping[str, np.ndarray], name: str) -> Field:
    moves, level, own, *variances = stored[f"{name}.prior"].tolist()
    prior = Prior(level, dict(zip(USERS.variance, variances, strict=True)), own)
    mean, covariance, own, own_variance = (stored[f"{name}.{part}"] for part in _PARTS)
    return Field(mean, covariance, own, own_variance, prior, moves)


def remove_unreleased(entries: Sequence[Entry], config: PresenceConfig) -> None:
    """Delete what was drawn for a release that did not reach the ledger, and all states but the last two."""
    released = presence_releases(entries)
    named = {name for entry in released for name in entry.files.values()}
    private_files.keep_only(named, private_files.releases(config))
    private_files.keep_only((entry.states["after"] for entry in released[-2:]), private_files.states(config))

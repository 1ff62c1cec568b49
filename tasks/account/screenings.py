"""Screenings: what the noisy count of users whose values could not be read costs, and what follows from it.

``value.screen`` asks for it. The plan of a day says who is asked, from budgets alone. The count is drawn with the day's
release: the entry of the release states it, or the entry of a stopped day, and no other.
"""

import datetime as dt
from typing import Any

import numpy as np

from dpmath.core.accounting import LOSS_UNITS, ExactIntArray
from dpmath.estimate.screening import Screening, screening_within
from tasks.account.entry import Entry, Stated
from tasks.account.stopped import Stopped, stops
from tasks.base.config import Config
from tasks.base.errors import DayStopped

SHARE = 100
"""The count costs one part in so many of what a day may cost."""
GO_ON, STOP = "go on", "stop"


def screening_of(config: Config) -> Screening | None:
    """Return the count that a configuration asks for; None if it asks for none."""
    if not config.value.screen:
        return None
    currency = config.privacy.currency
    return screening_within(config.privacy.loss_per_day // SHARE, currency)


def charges_within(budgets: ExactIntArray, config: Config) -> ExactIntArray:
    """Return what the count costs each user, in the currency's unit, shape (L,): all 0 if nobody is asked.

    A user is asked whose budget pays for it. If these are too few for the count to tell anything, nobody is asked:
    budgets are public, so that may be decided, and nothing is spent on it.

    Args:
        budgets: What each user may lose by the day, shape (L,).
        config: Says whether and at what cost to ask.
    """
    screening, nothing = screening_of(config), np.zeros(budgets.size, dtype=object)
    if screening is None:
        return nothing
    charge = screening.loss(config.privacy.currency)
    asked = (budgets >= charge).astype(bool)
    return np.where(asked, charge, nothing) if screening.can_tell(int(asked.sum())) else nothing


def full_charges(n_users: int, config: Config) -> ExactIntArray:
    """Return what the count costs each of so many users, if all have the budget of a day, shape (L,)."""
    most = config.privacy.loss_per_day
    return charges_within(np.full(n_users, most, dtype=object), config)


def describe_screening(noisy_count: int, n_asked: int, config: Config) -> Stated:
    """Return what an entry states of a count, by the settings that it was made with."""
    screening = screening_of(config)
    if screening is None:
        raise ValueError("value.screen asks for no count")
    return {
        "n_asked": n_asked,
        "noisy_count": noisy_count,
        "noise": f"{screening.noise} on integers, drawn exactly",
        "scale": f"{LOSS_UNITS}/{screening.inverse_scale}",
        "margin": screening.margin,
        "loss": str(screening.loss(config.privacy.currency)),
        "verdict": STOP if screening.is_surely_above_half(noisy_count, n_asked) else GO_ON,
    }


def find_stop(date: dt.date, revision: str | None, entries: list[Entry], settings: Stated) -> Stopped | None:
    """Return the entry by which a day was stopped under the same settings; None if it was not."""
    same = (stop for stop in stops(entries) if (stop.date, stop.revision) == (date, revision))
    return next((stop for stop in same if stop.settings == settings), None)


def why_stopped(stop: Stopped) -> DayStopped:
    """Return the error that says why a day was stopped, and what to do."""
    n_unreadable = min(stop.n_unreadable, stop.n_asked)
    return DayStopped(
        f"{stop.date} is stopped before the rest of its budget is spent. Of {stop.n_asked:,} users, about "
        f"{n_unreadable:,} have mostly values that could not be read or are missing. This is a noisy count, and surely "
        "it is more than half. It cost a hundredth of what a day may cost; by itself that would be epsilon "
        f"{float(stop.epsilon):.3g}. Look at the source, columns.value, dataset.decimal and value.missing. Mend the "
        "settings and run the day again: then it is asked anew. If only the source was mended, or the day is right as "
        "it is, set value.screen = false for this day."
    )


def changed_value(before: Stated, now: Stated) -> list[str]:
    """Return in words what two recorded settings say otherwise of what is measured and how, sorted by key."""
    was, new = _measured(before), _measured(now)
    names = sorted((was.keys() | new.keys()) - {"value.screen"})
    said = [(name, was.get(name, "unset"), new.get(name, "unset")) for name in names]
    return [f"{name} from {_shown(one)} to {_shown(other)}" for name, one, other in said if one != other]


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def same_quantity(settings: Stated, others: Stated) -> bool:
    """Return whether two recorded settings mean the same quantity, however it is screened or guessed."""
    about = dict.fromkeys(("value.screen", "value.typical", "value.spread"))
    return {**_measured(settings), **about} == {**_measured(others), **about}


def _measured(settings: Stated) -> Stated:
    """Return what settings say of the values and, where rows are of several kinds, of which kind they are."""
    only = {f"columns.only.{name}": texts for name, texts in settings["columns"].get("only", {}).items()}
    return {**{f"value.{name}": one for name, one in settings["value"].items()}, **only}

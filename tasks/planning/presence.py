"""Presence: whether a day's users can be users. Who was where, and how often, is public here, so it is looked at."""

import datetime as dt
from collections.abc import Collection, Sequence
from typing import NamedTuple

from tasks.account.budgets import totals
from tasks.account.chain import releases
from tasks.account.entry import Entry
from tasks.account.private_files import losses
from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.planning.other_files import users_of_other_files
from tasks.records.input_formats.user_names import names_no_user

_FEWEST_OF_ONE_RECORD = 10
_FEWEST_THAT_RETURN = 5
"""How many users must be there on either side before nothing can be a chance any more."""
_NEARLY_ALL, _HALF, _NEARLY_NONE = 0.9, 0.5, 0.1
DAYS_APART = 2
"""Users that change at another hour than local midnight are on two days, and on none so far apart."""
_MOST_DAYS = 7
_REMEDY = "Name the column of the vehicle, device or person in columns.user"


class Presence(NamedTuple):
    """How a day's records are shared among its users.

    Attributes:
        n_users: Users of the day.
        n_single: Those with one record.
        n_records: Records of the day.
        n_largest: Records of the user with most.
        n_alone: Users who share no slot with another one.
        n_alike: Users whose id is that of another one, spelled in another way.
        n_known: Users of other days, as far as they are known.
        n_seen: Users of the day among them.
    """

    n_users: int
    n_single: int
    n_records: int
    n_largest: int
    n_alone: int
    n_alike: int = 0
    n_known: int = 0
    n_seen: int = 0


class Known(NamedTuple):
    """Users of other days, by their keyed hash.

    Attributes:
        apart: Those of days that are apart.
        near: Those of any other day.
    """

    apart: Collection[str] = ()
    near: Collection[str] = ()


def presence_of(date: dt.date, config: Config, user_hashes: Sequence[str] = (), known: Known | None = None) -> Presence:
    """Return how the records of a prepared day are shared among its users.

    Args:
        date: The local day.
        config: Says where the warehouse is.
        user_hashes: Keyed hash of each user of the day.
        known: Those who lost something already. If none of them did on a day apart, the other days of undated files
            are looked at, and the files of other days.
    """
    known = known or Known()
    with warehouse.connect(config) as connection:
        warehouse.run(connection, "scratch/plain_id")
        shared = Presence(*warehouse.rows(connection, "read/day_presence", {"date": date})[0])
        if known.apart:
            return _with(shared, user_hashes, known.apart)
        n_known, n_seen = warehouse.rows(connection, "read/users_of_other_days", {"date": date})[0]
        users = {user for (user,) in warehouse.rows(connection, "read/day_users", {"date": date})}
    if n_known:
        return shared._replace(n_known=n_known, n_seen=n_seen)
    in_files = users_of_other_files(date, DAYS_APART, config)
    return _with(shared, sorted(users), in_files) if in_files else _with(shared, user_hashes, known.near)


def _with(shared: Presence, users: Sequence[str], known: Collection[str]) -> Presence:
    return shared._replace(n_known=len(known), n_seen=sum(user in known for user in users))


def known_of(date: dt.date, entries: Sequence[Entry], config: Config) -> Known:
    """Return the users who lost something already."""
    return Known(users_apart(date, entries, config), totals(list(entries), config))


def users_apart(date: dt.date, entries: Sequence[Entry], config: Config) -> set[str]:
    """Return the users who lost something on days that are apart."""
    apart = [one for one in releases(entries) if abs((one.date - date).days) >= DAYS_APART][-_MOST_DAYS:]
    return {user for one in apart for user in losses(one, config)}


def wrong_users(presence: Presence, config: Config) -> str | None:
    """Return why the users of a day are none, unless the configuration says what they are; None if they may be."""
    column, is_stated = f'columns.user = "{config.columns.user}"', config.columns.user_is
    one, n_new = presence, presence.n_users - presence.n_seen
    if is_stated != "record" and one.n_users >= _FEWEST_OF_ONE_RECORD and one.n_single >= _NEARLY_ALL * one.n_users:
        return (
            f"{one.n_single:,} of {one.n_users:,} users have one record only: {column} seems to number the records, so "
            f"each record, and not who made it, would be protected. {_REMEDY}; or, if that is meant, set "
            'columns.user_is = "record", and the guarantee says so'
        )
    if is_stated is None and one.n_alike >= max(_FEWEST_THAT_RETURN, _NEARLY_NONE * one.n_users):
        return (
            f"{_alike(one)}: whoever has two spellings has two budgets. Write each id in one way; or, if these are "
            'different users, set columns.user_is = "spelling", and the guarantee says so'
        )
    if config.columns.users_return and _few_return(one, _NEARLY_NONE):
        return (
            f"{n_new:,} of {one.n_users:,} users were seen on no other day: {column} seems to change with the day, so "
            f"the budget would never end. {_REMEDY}, by a name that stays; or, if that is meant, set "
            'columns.user_is = "day", and the guarantee says so'
        )
    return None


def _alike(one: Presence) -> str:
    return (
        f"{one.n_alike:,} of {one.n_users:,} users differ from another only by zeros before a number, by upper and "
        "lower case, by signs and blanks, or as a copy of a file does"
    )


def _few_return(one: Presence, share: float) -> bool:
    """Return whether at most a share of the users that could be known are."""
    n_users = min(one.n_users, one.n_known)  # a plan that publishes few cells charges few of a day's users
    return n_users >= _FEWEST_THAT_RETURN and one.n_seen <= share * n_users


def refuse_wrong_users(presence: Presence, config: Config) -> None:
    """Refuse a day whose users are none.

    Raises:
        HexveilError: They are records, or users of one day, and the configuration does not say so.
    """
    problem = wrong_users(presence, config)
    if problem is not None:
        raise HexveilError(f"{problem}. Nothing was spent.")


def presence_cautions(presence: Presence, config: Config, wrong: str | None = None) -> list[str]:
    """Return what to look at in a day's users, in sentences; none if all is well.

    Args:
        presence: How the day's records are shared among them.
        config: Says what users are.
        wrong: What ``wrong_users`` says of them, if that is said too: nothing is said twice.
    """
    one, column, found = presence, f'columns.user = "{config.columns.user}"', []
    may_return = wrong is None and config.columns.users_return
    if may_return and one.n_known and not one.n_seen:
        found.append(f"no user was seen on another day. If {column} changes with the day, the budget never ends.")
    elif may_return and _few_return(one, _HALF):
        found.append(
            f"{one.n_users - one.n_seen:,} of {one.n_users:,} users were seen on no other day. Who gets another name "
            f"in {column} has a new budget."
        )
    if wrong is None and one.n_alike and config.columns.user_is is None:
        found.append(f"{_alike(one)}. If two of them are the same, it has two budgets.")
    if not config.columns.is_of_path and config.columns.users_return and names_no_user(config.columns.user):
        found.append(
            f"{column} is named like a trip, a route, an order or another thing that somebody has several of: then "
            f"each of these is protected, and not who made the records. {_REMEDY}."
        )
    if one.n_users >= _FEWEST_THAT_RETURN and one.n_alone == one.n_users:
        found.append(
            f"no two of {one.n_users:,} users were there in the same slot. If {column} changes by the hour or by the "
            "file, each of them is a time and not who made the records."
        )
    if one.n_records >= _FEWEST_OF_ONE_RECORD and one.n_largest > _NEARLY_ALL * one.n_records:
        found.append(
            f"one user has {one.n_largest:,} of {one.n_records:,} records. If several made them, {column} does not "
            "tell them apart: what is told of one cell is then of one user."
        )
    return found

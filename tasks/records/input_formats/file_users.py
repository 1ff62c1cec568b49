"""The user of a file whose name is its user: the name without the date in it, which would be a new user each day."""

import re
from pathlib import Path

from tasks.base.errors import BadInput

_YEAR, _MONTH, _DAY = r"(?:19|20)\d\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_NAMED = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_HOUR, _SIXTY = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_TIME = (
    rf"(?:T?{_HOUR}{_SIXTY}(?:{_SIXTY})?|T{_HOUR}|[-_ T]{_HOUR}{_SIXTY}{_SIXTY}"
    rf"|[-_ T]{_HOUR}[-_:.h]{_SIXTY}[-_:.m]{_SIXTY}|T{_HOUR}[-_:.h]{_SIXTY}"
    rf"|[-_ ]{_HOUR}(?:[-_:h]?{_SIXTY})?(?=\.|$))?Z?"
)
_DATES = (
    rf"{_YEAR}(?P<between>[-_. ]?){_MONTH}(?P=between){_DAY}{_TIME}",
    rf"(?:{_DAY}(?P<one>[-_. ]?){_MONTH}|{_MONTH}(?P<other>[-_. ]?){_DAY})(?:(?P=one)|(?P=other)){_YEAR}{_TIME}",
    rf"(?:\d\d?[-_. ]?{_NAMED}|{_NAMED}[-_. ]?\d\d?)[-_., ]*{_YEAR}|{_YEAR}[-_. ]?{_NAMED}[-_. ]?\d\d?",
    rf"{_YEAR}[-_.]?W[0-5]\d(?:[-_.]?[1-7])?",
    rf"{_YEAR}[-_.]{_MONTH}",
)
_DATED = [re.compile(rf"[-_. ]*(?<!\d)(?:{one})(?!\d)[-_ ]*", re.IGNORECASE) for one in _DATES]


def user_of_file(path: Path) -> str | None:
    """Return the user that a file is named after: its name up to its first dot, without a date and a time.

    Whoever has a file for each day has one user in all of them. None if nothing is left of the name.
    """
    name = path.name
    for dated in _DATED:
        name = dated.sub("-", name)
    return name.strip("-_ ").partition(".")[0].strip("-_ ") or None if name != path.name else name.partition(".")[0]


def needed_user(path: Path) -> str:
    """Return the user that a file is named after.

    Raises:
        BadInput: Nothing but a date is in its name.
    """
    user = user_of_file(path)
    if not user:
        raise BadInput(
            f'{path}: columns.user = "{{file}}" takes the user from the name of a file, and this one is a date: each '
            "day would be another user, whose account begins anew. Name the column of the user, or put the user's name "
            "into the file's"
        )
    return user

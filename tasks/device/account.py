"""A device's own account: what it answered, and what that cost. It is private, and never leaves the device."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tasks.base.durable import readable_json, write_whole
from tasks.base.errors import BadInput, BudgetExceeded, HexveilError, contained
from tasks.base.locks import turn
from tasks.base.randomness import random_bytes
from tasks.device.rules import LONGEST_NAME, days_of, is_label

DEFAULT_LIMIT = Fraction(10)
"""What all reports of a device together may cost it, unless its owner says otherwise."""
DEFAULT_DAY_LIMIT = Fraction(4)
"""What the reports for one day may cost it, whoever asks: with 4 an answer is 55 times as likely at most."""

LONGEST_FILE_NAME = 245
"""The most bytes of the name of an account's file: its lock and its next state have longer names, of at most 255."""


@dataclass(frozen=True)
class Answer:
    """One report that a device made.

    Attributes:
        collection: Name of the collection.
        period: The period.
        round: The round that was answered.
        parameters: The SHA-256 of the round's parameters.
        alpha: What it cost.
        report: The report as it was sent.
    """

    collection: str
    period: str
    round: int
    parameters: str
    alpha: Fraction
    report: dict[str, Any]

    @property
    def days(self) -> range:
        """The days of the period."""
        return days_of(self.period)


@dataclass(frozen=True)
class DeviceAccount:
    """All that a device answered.

    Attributes:
        device: Name of the device.
        limit: What all reports together may cost.
        day_limit: What the reports for one day may cost together.
        answers: The reports, oldest first.
    """

    device: str
    limit: Fraction = DEFAULT_LIMIT
    day_limit: Fraction = DEFAULT_DAY_LIMIT
    answers: tuple[Answer, ...] = field(default=())

    @property
    def spent(self) -> Fraction:
        """What all reports together cost."""
        return sum((answer.alpha for answer in self.answers), Fraction(0))

    def answer_to(self, collection: str, period: str, parameters: str) -> Answer | None:
        """Return the report for a period, if it was made for the same parameters.

        Raises:
            HexveilError: The device answered this period, or one with a day of it, under other parameters. It does not
                answer again: whoever could ask twice could ask until the noise averages out.
        """
        asked = days_of(period)
        for answer in self.answers:
            if answer.collection == collection and _has_a_day_of(answer, asked):
                if (answer.period, answer.parameters) == (period, parameters):
                    return answer
                raise HexveilError(
                    f"this device answered round {answer.round} of {collection} {answer.period} already, under other "
                    "parameters; a second, different answer is refused, because noise averages out over answers"
                )
        return None

    def check_limits(self, period: str, alpha: Fraction) -> None:
        """Check that the limits pay for one more report.

        Raises:
            BudgetExceeded: One does not.
        """
        on_a_day = max(sum(one.alpha for one in self.answers if day in one.days) for day in days_of(period))
        for spent, limit, what, option in (
            (on_a_day, self.day_limit, " for a day of the period", "--day-limit"),
            (self.spent, self.limit, "", "--limit"),
        ):
            if spent + alpha > limit:
                raise BudgetExceeded(
                    f"this report would cost {written(alpha)}, and {written(spent)} of {written(limit)} is spent{what}"
                    f"; nothing is sent. The device's owner may raise the limit with {option}"
                )

    def with_limits(self, limit: Fraction | None, day_limit: Fraction | None) -> "DeviceAccount":
        """Return the account with the limits that its owner sets, if any."""
        return replace(
            self,
            limit=self.limit if limit is None else limit,
            day_limit=self.day_limit if day_limit is None else day_limit,
        )


def written(number: Fraction | int) -> str:
    """Return a number in as many digits as tell it from others: 4, or 4.000000000000001."""
    return repr(float(number)).removesuffix(".0")


@contextmanager
def held_account(path: Path) -> Iterator[None]:
    """Hold the lock of an account that was begun: only one process may look for an answer, draw and write one.

    Raises:
        BadInput: There is no account, or it cannot be kept there. No lock file is left then: one without an account
            says that the account was lost.
    """
    _check_place(path)
    if not path.exists():
        raise _no_account(path)
    if path.stat().st_nlink > 1:
        raise BadInput(f"{path} has a second name (a hard link), which would miss what is answered: remove one of them")
    with turn(_lock(path), "the device's account"):
        yield


@contained
def begin_account(
    path: Path, device: str | None = None, limit: Fraction | None = None, day_limit: Fraction | None = None
) -> DeviceAccount:
    """Begin the account of a device that never answered under its name, and return it.

    Args:
        path: The file; there must be none.
        device: Name of the device; a random one if it was given none.
        limit: What all its reports together may cost.
        day_limit: What its reports for one day may cost together.

    Raises:
        BadInput: There is an account already, or there was one, or a name cannot be used.
    """
    path = path.resolve()
    if device is not None and not is_label(device):
        raise BadInput(f"--device must have 1 to {LONGEST_NAME} printable characters")
    begun = DeviceAccount(random_bytes(16).hex() if device is None else device).with_limits(limit, day_limit)
    _check_place(path)
    was_begun = _lock(path).exists()  # asked before the lock is taken, which makes its file
    with turn(_lock(path), "the device's account"):
        if path.exists():
            raise BadInput(f"{path} exists already; an account that is begun anew forgets what was answered")
        if was_begun:
            raise BadInput(
                f"an account {path} was begun before and is lost, as {_lock(path).name} beside it says. Begun anew, it "
                "would forget what was answered. Wait for the next period, and begin one with another file name and "
                "another device name"
            )
        try:
            write_account(path, begun)
        except OSError:  # the disk is full, say: no account was lost, and begin may be run again
            _lock(path).unlink()
            raise
    return begun


def read_account(path: Path) -> DeviceAccount:
    """Return the account of a file.

    Raises:
        BadInput: There is no such file, or it is damaged. It is never begun anew by itself: what was answered would be
            forgotten.
    """
    try:
        return _account_of(json.loads(path.read_bytes().decode()))
    except FileNotFoundError:
        raise _no_account(path) from None
    except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError, RecursionError):
        pass
    raise BadInput(
        f"{path} is damaged, so what this device answered is not known. Do not restore an older copy: it has "
        "forgotten answers. Wait for the next period, and begin one with another file name and another device name"
    )


def write_account(path: Path, account: DeviceAccount) -> None:
    """Write an account whole and flush it to disk, readable for its owner only."""
    answers = [{**vars(one), "alpha": str(one.alpha)} for one in account.answers]
    stated = {"device": account.device, "limit": str(account.limit), "answers": answers}
    write_whole(path, readable_json(stated | {"day_limit": str(account.day_limit)}))


def _lock(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _check_place(path: Path) -> None:
    if len(os.fsencode(path.name)) > LONGEST_FILE_NAME:
        raise BadInput(f"the file name of --account must have at most {LONGEST_FILE_NAME} bytes")
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"{path} must be a file in a folder that exists")


def _no_account(path: Path) -> BadInput:
    return BadInput(
        f"there is no account {path}. If this device never answered, begin one: hexveil device begin. If its account "
        "was lost, wait for the next period, and begin one with another file name and another device name"
    )


def _account_of(stated: dict[str, Any]) -> DeviceAccount:
    if not isinstance(stated["answers"], list):
        raise TypeError("answers must be a list")
    answers = tuple(Answer(**{**one, "alpha": Fraction(one["alpha"])}) for one in stated["answers"])
    if any(one.alpha <= 0 or not one.days or not isinstance(one.report, dict) for one in answers):
        raise ValueError("an answer costs something, is for a period, and is a report")
    device, limit = stated["device"], Fraction(stated["limit"])
    if not isinstance(device, str) or limit < 0:
        raise ValueError("an account has a name and a limit")
    return DeviceAccount(device, limit, Fraction(stated.get("day_limit", DEFAULT_DAY_LIMIT)), answers)


def _has_a_day_of(answer: Answer, asked: range) -> bool:
    return answer.days.start < asked.stop and asked.start < answer.days.stop

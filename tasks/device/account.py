"""A device's own account: what it answered, and what that cost. It is private, and never leaves the device."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tasks.base.durable import readable_json, write_whole
from tasks.base.errors import BadInput, BudgetExceeded, HexveilError
from tasks.base.locks import turn
from tasks.base.randomness import random_bytes

DEFAULT_LIMIT = Fraction(10)
"""What all reports of a device together may cost it, unless its owner says otherwise."""


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


@dataclass(frozen=True)
class DeviceAccount:
    """All that a device answered.

    Attributes:
        device: Name of the device, random unless it was given.
        limit: What all reports together may cost.
        answers: The reports, oldest first.
    """

    device: str
    limit: Fraction
    answers: tuple[Answer, ...] = field(default=())

    @property
    def spent(self) -> Fraction:
        """What all reports together cost."""
        return sum((answer.alpha for answer in self.answers), Fraction(0))

    def answer_to(self, collection: str, period: str, parameters: str) -> Answer | None:
        """Return the report for a period, if it was made for the same parameters.

        Raises:
            HexveilError: The device answered this period under other parameters. It does not answer again: whoever
                could ask twice could ask until the noise averages out.
        """
        for answer in self.answers:
            if (answer.collection, answer.period) == (collection, period):
                if answer.parameters == parameters:
                    return answer
                raise HexveilError(
                    f"this device answered round {answer.round} of {collection} {period} already, under other "
                    "parameters; a second, different answer is refused, because noise averages out over answers"
                )
        return None

    def check_limit(self, alpha: Fraction) -> None:
        """Check that the limit pays for one more report.

        Raises:
            BudgetExceeded: It does not.
        """
        if self.spent + alpha > self.limit:
            raise BudgetExceeded(
                f"this report would cost {float(alpha):g}, and {float(self.spent):g} of {float(self.limit):g} is "
                "spent; nothing is sent. The device's owner may raise the limit with --limit"
            )


@contextmanager
def held_account(path: Path) -> Iterator[None]:
    """Hold an account's lock: only one process at a time may look for an answer, draw and write one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with turn(path.with_name(f".{path.name}.lock"), "the device's account"):
        yield


def read_account(path: Path, device: str | None = None, limit: Fraction | None = None) -> DeviceAccount:
    """Return the account of a file; a new one with a random name if there is no file.

    Args:
        path: The file.
        device: Name of the device, if it was given one; a stored account keeps the name it has.
        limit: A new limit, if the owner sets one.

    Raises:
        BadInput: The file is damaged, or is another device's. It is never begun anew by itself: what was answered
            would be forgotten.
    """
    if not path.exists():
        return DeviceAccount(device or random_bytes(16).hex(), DEFAULT_LIMIT if limit is None else limit)
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
        answers = tuple(Answer(**{**one, "alpha": Fraction(one["alpha"])}) for one in stated["answers"])
        account = DeviceAccount(str(stated["device"]), Fraction(stated["limit"]), answers)
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
        account = None
    if account is None:
        raise BadInput(
            f"{path} is damaged, so what this device answered is not known. Do not restore an older copy: it has "
            "forgotten answers. Wait for the next period, and begin a new account with a new name"
        )
    if device not in (None, account.device):
        raise BadInput(f"{path} is the account of the device {account.device}, not of {device}")
    return account if limit is None else replace(account, limit=limit)


def write_account(path: Path, account: DeviceAccount) -> None:
    """Write an account whole and flush it to disk, readable for its owner only."""
    answers = [{**vars(one), "alpha": str(one.alpha)} for one in account.answers]
    stated = {"device": account.device, "limit": str(account.limit), "answers": answers}
    write_whole(path, readable_json(stated))

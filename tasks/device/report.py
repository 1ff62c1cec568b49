"""Make one report: the same to whoever asks again, and nothing at all if it would cost more than the device allows."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpmath.local.device import ballot, noisy_estimate, round_of
from tasks.base.durable import sha256
from tasks.base.errors import BadInput, HexveilError, contained
from tasks.base.randomness import random_bytes
from tasks.device.account import Answer, DeviceAccount, held_account, read_account, write_account
from tasks.device.parameters import RoundParameters, read_parameters
from tasks.device.rules import has_begun


@dataclass(frozen=True)
class Outcome:
    """What came of being asked.

    Attributes:
        report: What to send; None if this device answers the other round.
        is_new: Whether it was drawn now, at a cost.
        round: The round that this device answers.
        account: The account after it.
        n_values: How many values were read for it, if it was drawn now. Private, as is the next.
        n_left_out: How many lines were left out because they are no numbers.
    """

    report: dict[str, Any] | None
    is_new: bool
    round: int
    account: DeviceAccount
    n_values: int = 0
    n_left_out: int = 0


@contained
def make_report(
    parameters: Path,
    values: Path,
    account: Path,
    area: str | None = None,
    limit: Fraction | None = None,
    day_limit: Fraction | None = None,
) -> Outcome:
    """Return a device's report for a round; the account is on disk before the report is known to anyone.

    Args:
        parameters: The file of the round, as the collector published it.
        values: The device's values, one number a line. A line that is no number is left out. The guarantee covers how
            many values there are, so an empty file is reported on like any other. It is read once, so it may be a pipe.
        account: The device's account.
        area: The area that the device reports for, which is public; may be left out if there is only one.
        limit: What all reports of the device together may cost, to change it.
        day_limit: What its reports for one day may cost together, to change it.

    Returns:
        The report and the account.

    Raises:
        BadInput: A file cannot be used, or the period has not begun.
        BudgetExceeded: A limit does not pay for the report.
        HexveilError: The device answered this period under other parameters, or the area is unknown.
    """
    account = account.resolve()  # a link is followed, or its target would not know of the answer
    asked = read_parameters(parameters)
    fingerprint = sha256(asked.as_file())
    place = _area(asked, area)
    with held_account(account):
        stored = read_account(account)
        held = stored.with_limits(limit, day_limit)
        if held != stored:
            write_account(account, held)  # the limits stay, whatever follows
        own = round_of(asked.key, held.device)
        if own != asked.round:
            return Outcome(None, False, own, held)
        earlier = held.answer_to(asked.collection, asked.period, fingerprint)
        if earlier is not None:
            return Outcome(earlier.report, False, own, held)
        if not has_begun(asked.period):
            raise BadInput(f"{asked.period} has not begun, so nothing is sent; if it has, set the clock of this device")
        held.check_limits(asked.period, asked.protocol.alpha)
        written = _lines_of(values)
        ticks = [asked.in_ticks(value) for value in numbers(written)]
        report = drawn_report(asked, place, held.device, ticks)
        answer = Answer(asked.collection, asked.period, own, fingerprint, asked.protocol.alpha, report)
        held = replace(held, answers=(*held.answers, answer))
        write_account(account, held)
    return Outcome(report, True, own, held, len(ticks), len(written) - len(ticks))


def drawn_report(asked: RoundParameters, area: str, device: str, private_ticks: Sequence[int]) -> dict[str, Any]:
    """Return a fresh report for the round that is asked for; the caller keeps the account.

    Args:
        asked: The parameters.
        area: One of their areas.
        device: Name of the device.
        private_ticks: Its values, in ticks.
    """
    report: dict[str, Any] = {
        "collection": asked.collection,
        "period": asked.period,
        "round": asked.round,
        "area": area,
        "device": device,
    }
    found = asked.bins[area]
    if found is None:
        return report | {"ballot": "".join(map(str, ballot(private_ticks, asked.protocol, random_bytes)))}
    return report | {"estimate": noisy_estimate(private_ticks, found, asked.protocol, random_bytes)}


def as_line(report: dict[str, Any]) -> str:
    """Return a report as it is sent: one line of JSON, always the same for the same report."""
    return json.dumps(report, sort_keys=True) + "\n"


def numbers(lines: Iterable[str]) -> Iterable[Fraction]:
    """Yield the number on each line; a line that is no number yields nothing, and is never quoted."""
    for line in lines:
        try:
            yield Fraction(float(line))
        except (ValueError, OverflowError):
            continue


def _lines_of(values: Path) -> list[str]:
    if not values.exists() or values.is_dir():
        raise BadInput(
            f"{values} must be a file. If this device has no values, make an empty one: such a device reports too, "
            "because whether it has values is protected"
        )
    with values.open(encoding="utf-8-sig", errors="replace") as lines:
        return [line for line in lines if line.strip()]


def _area(asked: RoundParameters, area: str | None) -> str:
    if area is None and len(asked.bins) == 1:
        return next(iter(asked.bins))
    if area not in asked.bins:
        raise HexveilError(
            f"--area must be one of the {len(asked.bins)} areas of {asked.collection}, such as {next(iter(asked.bins))}"
        )
    return area

"""The parameters of a round, as a collector publishes them, and as a device checks them before it believes them."""

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpmath.local.protocol import LocalProtocol
from tasks.base.durable import readable_json
from tasks.base.errors import BadInput
from tasks.base.names import NAME
from tasks.device.rules import LARGEST_ALPHA, MOST_BINS, days_of, is_label, is_number

FORMAT = 1
LARGEST_RANGE = 1 << 20
"""The most ticks between the bounds, and so the most bins: a device makes no more than it can."""
KEY_BYTES = 32
LARGEST_FILE = 1 << 24
"""The most bytes of a file of parameters: it has room for more areas than there are hexagons in a country."""
_TEXTS = ("collection", "period", "key", "quantity", "unit", "lower", "upper", "tick", "alpha")
_NUMBERS = ("format", "round", "effective_size", "half_width")


@dataclass(frozen=True)
class RoundParameters:
    """What a collector publishes before a round. All of it is public.

    Attributes:
        collection: Name of the collection.
        period: The period, for example ``2026-03-02`` or ``2026-W10``.
        round: 1 or 2.
        key: The key that decides which round a device answers.
        quantity: What is measured, and ``unit``.
        lower: Public lower bound of a value; ``upper`` the upper one, and ``tick`` the step.
        protocol: Bins, intervals and noise.
        bins: For round 2 the bin that was found in each area; for round 1 None in each.
    """

    collection: str
    period: str
    round: int
    key: bytes
    quantity: str
    unit: str
    lower: Fraction
    upper: Fraction
    tick: Fraction
    protocol: LocalProtocol
    bins: dict[str, int | None]

    def in_ticks(self, value: Fraction) -> int:
        """Return a value in whole ticks, the nearest; a value beyond a bound counts as the bound."""
        ticks = ((value - self.lower) / self.tick + Fraction(1, 2)) // 1
        return min(max(ticks, 0), self.protocol.value_range)

    def as_file(self) -> bytes:
        """Return the file of the round: its bytes are a function of the parameters alone."""
        return readable_json(
            {
                "format": FORMAT,
                "collection": self.collection,
                "period": self.period,
                "round": self.round,
                "key": self.key.hex(),
                "quantity": self.quantity,
                "unit": self.unit,
                "lower": str(self.lower),
                "upper": str(self.upper),
                "tick": str(self.tick),
                "alpha": str(self.protocol.alpha),
                "effective_size": self.protocol.effective_size,
                "half_width": self.protocol.half_width,
                "areas": self.bins,
            }
        )


def read_parameters(path: Path) -> RoundParameters:
    """Read and check the file of a round.

    Raises:
        BadInput: The file is missing, or a part of it is missing or out of range. The device then sends nothing.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise ValueError(f"it has more than {LARGEST_FILE} bytes")
        return parameters_of(json.loads(content.decode()))
    except OSError as error:
        problem = str(error.strerror)
    except UnicodeDecodeError:
        problem = "it is not UTF-8"
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        problem = f"{error} ({type(error).__name__})"
    raise BadInput(f"{path} cannot be used as the parameters of a round: {problem}; fetch it again")


def parameters_of(stated: dict[str, Any]) -> RoundParameters:
    """Return the parameters that a file states.

    Raises:
        ValueError: A part has the wrong type or is out of range.
        KeyError: A part is missing.
    """
    for names, kind in ((_TEXTS, str), (_NUMBERS, int)):
        wrong = [name for name in names if type(stated[name]) is not kind]
        if wrong:
            raise ValueError(f"{wrong[0]} must be of type {kind.__name__}")
    if stated["format"] != FORMAT or stated["round"] not in (1, 2):
        raise ValueError(f"format must be {FORMAT} and round 1 or 2")
    if not re.fullmatch(NAME, stated["collection"]):
        raise ValueError("collection must be of small letters, digits, _ and -")
    days_of(stated["period"])
    key = bytes.fromhex(stated["key"])
    if len(key) != KEY_BYTES:
        raise ValueError(f"key must have {KEY_BYTES} bytes: another length could make two names the same")
    lower, upper, tick = (_number(stated[name]) for name in ("lower", "upper", "tick"))
    if tick <= 0 or (upper - lower) % tick:
        raise ValueError("tick must be above 0 and divide upper - lower")
    if upper - lower > LARGEST_RANGE * tick:
        raise ValueError(f"tick must leave at most {LARGEST_RANGE} ticks from lower to upper")
    protocol = LocalProtocol(
        int((upper - lower) / tick), _number(stated["alpha"]), stated["effective_size"], stated["half_width"]
    )
    if protocol.alpha > LARGEST_ALPHA or protocol.n_bins > MOST_BINS:
        raise ValueError(f"alpha must be at most {LARGEST_ALPHA}, and there may be at most {MOST_BINS} bins")
    return RoundParameters(
        collection=stated["collection"],
        period=stated["period"],
        round=stated["round"],
        key=key,
        quantity=stated["quantity"],
        unit=stated["unit"],
        lower=lower,
        upper=upper,
        tick=tick,
        protocol=protocol,
        bins=_bins(stated["areas"], stated["round"], protocol),
    )


def _number(text: str) -> Fraction:
    if not is_number(text):
        raise ValueError("numbers must be written like 0.6 or 3/5, in at most 15 digits on each side")
    return Fraction(text)


def _bins(areas: Any, number: int, protocol: LocalProtocol) -> dict[str, int | None]:
    if not isinstance(areas, dict) or not areas:
        raise ValueError("areas must name one area or more")
    if not all(map(is_label, areas)):
        raise ValueError("areas must have short, printable names")
    for found in areas.values():
        if number == 1 and found is not None:
            raise ValueError("areas have no bins in round 1")
        if number == 2 and (type(found) is not int or not 0 <= found < protocol.n_bins):
            raise ValueError("areas must each have a bin in round 2")
    return dict(areas)

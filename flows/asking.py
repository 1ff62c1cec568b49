"""Asks the person who begins for what no file can say: the bounds of the values, and names of columns."""

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import typer

from tasks.base.errors import HexveilError

if TYPE_CHECKING:
    from tasks.records.proposal import Proposal

_UPPER = {"km/h": "100", "mph": "65", "m/s": "30"}
_FACTORS = {
    ("mph", "km/h"): "1.609344",
    ("m/s", "km/h"): "3.6",
    ("km/h", "mph"): "0.6213711922",
    ("m/s", "mph"): "2.2369362921",
    ("km/h", "m/s"): "0.2777777778",
    ("mph", "m/s"): "0.44704",
}
_BOUNDS = (
    "What is the {} value that can be? Say it from the law, the sensor or common sense, not from the data. A value "
    "outside counts as the nearer bound, and wider bounds need more noise"
)


class Asker:
    """Asks for what is not given; without a person it takes what is usual, or says which option is missing."""

    def __init__(self, asking: bool) -> None:
        self._asking = asking

    def text(self, given: str | None, question: str, usual: str | None, option: str) -> str:
        """Return what is given, answered or usual.

        Raises:
            HexveilError: Nothing is given or usual, and nobody can be asked.
        """
        if given is not None:
            return given
        if self._asking:
            return str(typer.prompt(question, default=usual))
        if usual is None:
            raise _missing({option: question})
        return usual

    def need(self, options: dict[str, tuple[str | None, str]]) -> None:
        """Say at once which of some options are missing, each with a question, if nobody can be asked."""
        lacking = {option: question for option, (given, question) in options.items() if given is None}
        if lacking and not self._asking:
            raise _missing(lacking)

    def number(self, given: str | None, question: str, usual: str | None, option: str) -> Decimal:
        """Return the same as a number.

        Raises:
            HexveilError: It is none.
        """
        text = self.text(given, question, usual, option)
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite():
            raise HexveilError(f"{option} {text} must be a number, with a decimal point")
        return number


def _missing(questions: dict[str, str]) -> HexveilError:
    said = "\n".join(
        f"{option} is missing: {question[0].lower()}{question[1:]}" for option, question in questions.items()
    )
    return HexveilError(f"{said}\nNobody can be asked here, so nothing was written: give each as an option.")


def asked_column(proposal: "Proposal", ask: Asker) -> dict[str, str]:
    """Return the column of the first role that was not recognised."""
    role = proposal.missing[0]
    found = ", ".join(proposal.names)
    return {role: ask.text(None, f"Which column has the {role}? There are: {found}", None, f"--{role}")}


def asked_value(
    quantity: str | None,
    unit: str | None,
    lower: str | None,
    upper: str | None,
    factor: str | None,
    missing: list[str],
    proposal: "Proposal",
    ask: Asker,
) -> dict[str, Any]:
    """Return the section on the value, by what is given, what its column's name says, and answers."""
    column = proposal.settings["columns"]["value"].rpartition(".")[2].lower()
    is_speed = proposal.unit is not None or "speed" in column
    named = ask.text(quantity, "What is measured?", "speed" if is_speed else column, "--quantity")
    said = ask.text(unit, "In which unit will it be published?", proposal.unit, "--unit")
    usual = {"--lower": "0.0" if is_speed else None, "--upper": _UPPER.get(said) if is_speed else None}
    questions = {"--lower": _BOUNDS.format("smallest"), "--upper": _BOUNDS.format("largest")}
    bounds = {"--lower": lower, "--upper": upper}
    ask.need({one: (bounds[one] or usual[one], questions[one]) for one in bounds})
    least, most = (ask.number(bounds[one], questions[one], usual[one], one) for one in bounds)
    number = ask.number
    return {
        "name": named,
        "unit": said,
        "lower": least,
        "upper": most,
        "tick": _tick(least, most),
        **({"factor": number(factor, "", None, "--factor")} if factor else _known_factor(said, proposal)),
        **({"missing": [number(one, "", None, "--missing") for one in missing]} if missing else {}),
        "screen": True,
    }


def _known_factor(unit: str, proposal: "Proposal") -> dict[str, Decimal]:
    """Return the factor from the unit that the column's name says; a preset fills it in itself."""
    source = proposal.unit
    if source in (None, unit) or "preset" in proposal.settings["dataset"]:
        return {}
    factor = _FACTORS.get((source, unit))
    if factor is None:
        raise HexveilError(f"--factor is missing: the column is named like {source}, and {unit} is to be published")
    return {"factor": Decimal(factor)}


def _tick(lower: Decimal, upper: Decimal) -> Decimal:
    """Return about a ten-thousandth of the range that divides it."""
    span = upper - lower
    if span <= 0:
        raise HexveilError(f"--upper {upper} must be above --lower {lower}")
    tick = Decimal(10) ** (span.adjusted() - 4)
    return tick if span % tick == 0 else span / 10_000

"""Asks the person who begins for what no file can say: the bounds of the values, and names of columns."""

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, get_args

import typer

from flows.show import out
from tasks.base.config_presets import factor_between, preset_fastest, preset_quantity
from tasks.base.config_source import DELIMITER, OF_PATH, SPEED, Format
from tasks.base.errors import HexveilError
from tasks.records.input_formats.columns import GEOMETRY
from tasks.records.input_formats.roles import is_like_a_speed

if TYPE_CHECKING:
    from tasks.records.init.proposal import Proposal

_UPPER = {"km/h": "100", "mph": "65", "m/s": "30", "kn": "50"}
_BOUNDS = (
    "What is the {} value that can be? Say it from the law, the sensor or common sense, not from the data. A value "
    "outside counts as the nearer bound, and wider bounds need more noise"
)


class Asker:
    """Asks for what is not given. Without a person it takes what is usual, or else says which options are missing."""

    def __init__(self, asking: bool, takes_usual: bool = True) -> None:
        self._asking = asking
        self._takes_usual = takes_usual

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
            raise self._missing({option: question})
        return usual

    def need(self, options: dict[str, tuple[str | None, str]]) -> None:
        """Say at once which of some options are missing, each with a question, if nobody can be asked."""
        lacking = {option: question for option, (given, question) in options.items() if given is None}
        if lacking and not self._asking:
            raise self._missing(lacking)

    def need_without_usual(self, options: dict[str, tuple[str | None, str]]) -> None:
        """Do the same, unless what is usual may be taken."""
        if not self._takes_usual:
            self.need(options)

    def _missing(self, questions: dict[str, str]) -> HexveilError:
        said = "\n".join(
            f"{option} is missing: {question[0].lower()}{question[1:]}" for option, question in questions.items()
        )
        usual = "" if self._takes_usual else ", or --yes for what is usual"
        return HexveilError(f"{said}\nNobody can be asked here, so nothing was written: give each as an option{usual}.")

    def number(
        self, given: str | None, question: str, usual: str | None, option: str, above: Decimal | None = None
    ) -> Decimal:
        """Return the same as a number. A person is asked again until the answer is one.

        Args:
            given: The number, if it is given; whether it is above the other, who uses it says.
            question: What to ask.
            usual: What is taken without an answer.
            option: What gives it.
            above: What an answer must be above.

        Raises:
            HexveilError: What is given or usual is none.
        """
        while True:
            text = self.text(given, question, usual, option)
            problem = _problem(text, option, None if given else above)
            if problem is None:
                return Decimal(text)
            if given is not None or not self._asking:
                raise HexveilError(problem)
            out.print(problem)


def _problem(text: str, option: str, above: Decimal | None) -> str | None:
    """Return what is wrong with a text that must be a number; None if nothing is."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        is_never = "; what is no number always counts as not measured" if option == "--missing" else ""
        return f"{option} {text} must be a number, with a decimal point{is_never}"
    return None if above is None or number > above else f"{option} {text} must be above {above}"


def asked_columns(
    proposal: "Proposal", ask: Asker, unit: str | None = None, lower: str | None = None, upper: str | None = None
) -> dict[str, str]:
    """Return the columns of the roles that were not recognised.

    If nobody can be asked, all that is missing is said at once, the unit and the bounds of the value too.
    """
    found = ", ".join(proposal.names)
    questions = {role: f"Which column has the {role}? There are: {found}" for role in proposal.missing}
    if "user" in questions:
        questions["user"] += (
            '. If paths name the users, say "{file}" for its name, or "{folder}" for that of its folder'
        )
    if {"latitude", "longitude"} <= questions.keys():
        questions["longitude"] += f". {GEOMETRY}"
    if "value" in questions:
        also = ", ".join(f"--{role}" for role in proposal.maybe_missing)
        questions["value"] += f'. "{SPEED}" is the speed from positions; with a column say --unit, --lower, --upper too'
        questions["value"] += f". No name tells yet which are {also}" if also else ""
    lacking: dict[str, tuple[str | None, str]] = {f"--{role}": (None, question) for role, question in questions.items()}
    if "value" not in questions:
        lacking.update(_of_value(unit, lower, upper, proposal))
    ask.need(lacking)
    answers: dict[str, str] = {}
    for role, question in questions.items():
        answers[role] = ask.text(None, question, None, f"--{role}")
        while answers[role] not in (*proposal.names, *OF_PATH, SPEED):
            out.print(f'there is no column "{answers[role]}"')
            answers[role] = ask.text(None, question, None, f"--{role}")
    return answers


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
    ask.need(_of_value(unit, lower, upper, proposal))
    column = proposal.settings["columns"]["value"].rpartition(".")[2].lower()
    preset = proposal.settings["dataset"].get("preset")
    usual_name = preset_quantity(preset) or ("speed" if _is_speed(proposal) else column)
    named = ask.text(quantity, "What is measured?", usual_name, "--quantity")
    said = ask.text(unit, _UNIT, proposal.unit, "--unit")
    usual = _usual_bounds(said, proposal)
    questions = {one: question for one, (_, question) in _of_value(said, None, None, proposal).items()}
    number = ask.number
    least = number(lower, questions["--lower"], usual["--lower"], "--lower")
    most = number(upper, questions["--upper"], usual["--upper"], "--upper", above=least)
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


_UNIT = "In which unit is it published? Another one needs --factor"


def _is_speed(proposal: "Proposal") -> bool:
    return proposal.unit is not None or is_like_a_speed(proposal.settings["columns"]["value"])


def _usual_bounds(unit: str | None, proposal: "Proposal") -> dict[str, str | None]:
    """Return the bounds of a speed in a unit that are usual; none for what is no speed, or in another unit."""
    preset = proposal.settings["dataset"].get("preset")
    fastest = preset_fastest(preset, unit) if preset and unit else None
    upper = str(fastest) if fastest else _UPPER.get(unit or "km/h")
    return {"--lower": "0.0", "--upper": upper} if _is_speed(proposal) else {"--lower": None, "--upper": None}


def _of_value(
    unit: str | None, lower: str | None, upper: str | None, proposal: "Proposal"
) -> dict[str, tuple[str | None, str]]:
    """Return what is given, or usual, of the unit and the bounds of a value whose column is known, with questions."""
    usual = _usual_bounds(unit or proposal.unit, proposal)
    return {
        "--unit": (unit or proposal.unit, _UNIT),
        "--lower": (lower or usual["--lower"], _BOUNDS.format("smallest")),
        "--upper": (upper or usual["--upper"], _BOUNDS.format("largest")),
    }


def _known_factor(unit: str, proposal: "Proposal") -> dict[str, Decimal]:
    """Return the factor from the unit that the column's name says; a preset fills it in itself."""
    source = proposal.unit
    if (
        source in (None, unit)
        or proposal.settings["columns"]["value"] == SPEED
        or "preset" in proposal.settings["dataset"]
    ):
        return {}
    factor = factor_between(str(source), unit)
    if factor is None:
        raise HexveilError(f"--factor is missing: the column is named like {source}, and {unit} is to be published")
    return {"factor": factor}


def _tick(lower: Decimal, upper: Decimal) -> Decimal:
    """Return about a ten-thousandth of the range that divides it."""
    span = upper - lower
    if span <= 0:
        raise HexveilError(f"--upper {upper} must be above --lower {lower}")
    tick = Decimal(10) ** (span.adjusted() - 4)
    return tick if span % tick == 0 else span / 10_000


def given_area(given: str | None) -> dict[str, Decimal]:
    """Return the sides of the area that is given; nothing if none is."""
    if given is None:
        return {}
    sides = dict(zip(("south", "north", "west", "east"), given.split(","), strict=False))
    try:
        area = {side: Decimal(degrees.strip()) for side, degrees in sides.items()}
    except InvalidOperation:
        area = {}
    if len(area) < 4 or given.count(",") > 3:
        raise HexveilError(f"--area {given} must be four numbers, SOUTH,NORTH,WEST,EAST, such as 46.8,47.3,7.9,8.7")
    return area


def given_delimiter(delimiter: str | None) -> str | None:
    """Return the character between fields that is said, which may be said by its name."""
    named = {"tab": "\t", "\\t": "\t", "space": " "}.get(delimiter or "", delimiter)
    if named is not None and not re.fullmatch(DELIMITER, named):
        raise HexveilError(f'--delimiter {delimiter} must be one character, such as , or ; or "tab" or "space"')
    return named


def given_format(form: str | None) -> Any:
    """Return the format that is said."""
    if form is not None and form not in get_args(Format):
        raise HexveilError(f"--format {form} must be one of {', '.join(get_args(Format))}")
    return form


def given_only(said: list[str]) -> dict[str, list[str]]:
    """Return the texts of each column of the rows that count, from texts such as `parameter=pm25,pm10`."""
    found: dict[str, list[str]] = {}
    for one in said:
        column, _, texts = one.partition("=")
        named = [text.strip() for text in texts.split(",") if text.strip()]
        found[column.strip()] = [*found.get(column.strip(), []), *named]
        if not column.strip() or not named:
            raise HexveilError(f"--only {one} must name a column and its texts, as in --only parameter=pm25,pm10")
    return found

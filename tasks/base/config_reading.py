"""Reads a configuration file: TOML, checked as a configuration of its kind; what is wrong is said in a line each."""

import difflib
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from tasks.base.config_types import Section, shown
from tasks.base.errors import BadConfig

M = TypeVar("M", bound=Section)

_KINDS = {"dataset", "collection"}
_NOT_A_TEXT = ("int_type", "bool_type", "decimal_type", "is_instance_of")
"""What Pydantic calls a text in place of a number or a truth value."""


def read_as(model: type[M], path: Path) -> M:
    """Read a TOML file as a configuration of one kind.

    Args:
        model: The kind, with its sections as fields, and ``folder`` for the folder of the file.
        path: The file.

    Returns:
        The frozen configuration.

    Raises:
        BadConfig: The file is missing, is not TOML, or a key is unknown, missing or out of range.
    """
    return parsed(model, text_of(path), path)


def text_of(path: Path) -> str:
    """Return the text of a configuration file.

    Raises:
        BadConfig: It cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "not UTF-8"
    raise BadConfig(f"{path}: cannot be read ({problem}); give a TOML file with --config")


def parsed(model: type[M], text: str, path: Path) -> M:
    """Check the text of a configuration file, which need not be written yet; the rest is as for ``read_as``."""
    try:
        settings = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{path}: not valid TOML: {error}") from None
    _check_kind(model, settings, path)
    if "folder" in settings:
        raise BadConfig(f"{path}: unknown key folder; remove it")
    try:
        return model.model_validate({**settings, "folder": path.resolve().parent})
    except ValidationError as error:
        problems = "\n".join(f"  {shown(_explain(problem, model))}" for problem in error.errors())
        raise BadConfig(f"{path}: cannot be used\n{problems}") from None


def _check_kind(model: Any, settings: dict[str, Any], path: Path) -> None:
    """Refuse the configuration of another kind in a few words: a list of all that differs would say less."""
    privacy = settings.get("privacy")
    if isinstance(privacy, dict) and privacy.get("protects") == "presence" and model.kind == "dataset":
        raise BadConfig(
            f'{path}: has protects = "presence", and this command is not for such datasets: most others need to know '
            "who was where. See docs/how-to/presence.md"
        )
    given = _KINDS & settings.keys()
    (wanted,) = _KINDS & model.model_fields.keys()
    if given and wanted not in given:
        raise BadConfig(f"{path}: is the configuration of a {given.pop()}, and this command is for a {wanted}")


def _explain(problem: Any, model: Any) -> str:
    location = [str(part) for part in problem["loc"]]
    key = ".".join(location) or "file"
    if problem["type"] == "extra_forbidden":
        return f"unknown key {key}{_suggestion(location, model)}"
    if problem["type"] == "missing":
        return f"missing key {key}"
    message = str(problem["msg"]).removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    given = problem["input"]
    if isinstance(given, str) and problem["type"] in _NOT_A_TEXT:  # the quotes explain it
        return f'{key}: {message}, not "{given}"; write it without quotes'
    return f"{key}: {message}" + ("" if isinstance(given, dict) else f", not {given}")


def _suggestion(location: list[str], model: Any) -> str:
    for part in location[:-1]:
        model = model.model_fields[part].annotation
    close = difflib.get_close_matches(location[-1], model.model_fields, n=1)
    return f"; did you mean {close[0]}?" if close else "; remove it"

"""Same form: refuses files that one configuration cannot read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.base.config_source import OF_PATH, SPEED, needed_roles
from tasks.base.errors import BadInput
from tasks.records.init.time_columns import of_time
from tasks.records.input_formats.input_format import Look


def refuse_other_forms(files: Sequence[Path], looks: Sequence[Look], columns: Mapping[str, Any]) -> None:
    """Refuse files that one configuration cannot read. What only values decide, such as the value's type, may differ.

    Raises:
        BadInput: A file has another format or delimiter than the first, lacks a column, or has it with another type.
    """
    first, kinds = looks[0], looks[0].kinds or {}
    for path, look in zip(files[1:], looks[1:], strict=False):
        problem = None
        if look.format != first.format:
            problem = f"is {look.format.name}, and {files[0].name} is {first.format.name}"
        elif look.delimiter != first.delimiter:
            problem = f"has the delimiter {look.delimiter!r}, and {files[0].name} has {first.delimiter!r}"
        named = [(role, columns[role]) for role in needed_roles(columns) if role not in ("time", "value")]
        for role, name in [("value", columns["value"]), *named, *(("time", one) for one in of_time(columns))]:
            if problem or not look.names or name in (*OF_PATH, SPEED):
                continue
            if name not in look.names:
                problem = f'has no column "{name}" ({role}), which {files[0].name} has'
            elif role != "value" and (look.kinds or {}).get(name) != kinds.get(name):
                its = (look.kinds or {})[name]
                problem = f'has the type {its} in "{name}" ({role}), and {files[0].name} has {kinds[name]}'
        if problem:
            raise BadInput(f"{path}: {problem}. Give files of one form, and write a configuration for each form")

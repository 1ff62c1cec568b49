"""Configurations as values: the text of a TOML file with some settings other than they were."""

import json
import re
from typing import Any

from pydantic import BaseModel

from tasks.base.config import Config


def _section_of() -> dict[str, str]:
    """Return the section of each setting whose name no other section has."""
    found: dict[str, list[str]] = {}
    for section, field in Config.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            for name in field.annotation.model_fields:
                found.setdefault(name, []).append(section)
    return {name: sections[0] for name, sections in found.items() if len(sections) == 1}


SECTION_OF = _section_of()


def with_settings(text: str, **settings: Any) -> str:
    """Return the text with some settings, each by its name alone.

    Where several sections have the name, it stands in its section: ``engine={"name": "dask"}``. None leaves one out.
    """
    for name, value in settings.items():
        own = value if isinstance(value, dict) else {name: value}
        for key, one in own.items():
            text = _with(text, name if isinstance(value, dict) else SECTION_OF[name], key, one)
    return text


def _with(text: str, section: str, key: str, value: Any) -> str:
    before, header, rest = text.partition(f"[{section}]\n")
    if not header:
        before, header, rest = text.rstrip("\n") + "\n", f"[{section}]\n", ""
    follows = re.search(r"^\[", rest, re.MULTILINE)
    end = follows.start() if follows else len(rest)
    lines = rest[:end].splitlines()
    place = next((n for n, line in enumerate(lines) if line.partition("=")[0].strip() == key), len(lines))
    lines[place : place + 1] = [] if value is None else [f"{key} = {json.dumps(value, ensure_ascii=False)}"]
    return before + header + "".join(f"{line}\n" for line in lines) + rest[end:]

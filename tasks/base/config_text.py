"""Writes a configuration as commented TOML, for an owner to read and to change."""

import json
import re
import textwrap
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tasks.base.config_schema import SCHEMA_FILE

_WIDTH = 118
_ABOUT = {
    "dataset": "Which files hold the records, and whose days they are counted in.",
    "columns": "What the source calls the columns that are read. No other column is.",
    "value": "What is published. The bounds are public: choose them from the law, the sensor or common sense, never "
    "by looking at the data. A value outside counts as the nearer bound. The wider they are, the more noise is needed.",
    "grid": "The cells: H3 hexagons of one resolution (7 is about 5 km2, each next one a seventh), and time slots. "
    "`hexveil explore` shows what other cells would be worth.",
    "validation": "A box around the places that were read, with a margin. A record outside is not used.",
    "privacy": "What a day may cost a user.",
    "budget": "What all days together may cost a user. Loosening it later is possible, and written down for ever.",
    "storage": "Where the warehouse, the ledger and the published files are kept. private/ in it is sensitive.",
}
_KEYS = {
    ("dataset", "purpose"): "Public: it is in every entry of the ledger.",
    ("columns", "user"): "The guarantee protects whoever this column identifies.",
    ("columns", "only"): "Which rows count, by the texts in other columns; which rows these are is public.",
    ("columns", "age"): "How many seconds before the time a place was taken.",
    ("value", "tick"): "The step that values are counted in.",
    ("value", "missing"): 'What means "not measured" in the source.',
    ("value", "factor"): "What values of the source are multiplied by to be in the unit.",
    ("value", "screen"): "Stop a day on which most users have no readable value, for a hundredth of its budget.",
    ("privacy", "epsilon_per_day"): "Smaller protects more and shows less. At 1, a day can make a guess about one "
    "user's values about 2.7 times as likely at most; at 2, 7.4 times.",
    ("privacy", "definition"): '"zcdp" lets many days add up far more slowly than "pure".',
    ("privacy", "mechanism"): '"estimated" publishes every cell with an interval; "planned" promises an error.',
}
_INTRODUCTION = (
    "Written by `hexveil init`. Every key is explained in docs/reference/settings.md; editors that know the schema "
    "complete and check this file."
)


def config_text(settings: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of a configuration file.

    Args:
        settings: The sections and their keys, in the order in which they are written.
    """
    parts = [f"#:schema ./{SCHEMA_FILE}", *_comment(_INTRODUCTION)]
    for section, keys in settings.items():
        parts += ["", f"[{section}]", *_comment(_ABOUT.get(section, ""))]
        for key, value in keys.items():
            parts += [*_comment(_KEYS.get((section, key), "")), f"{key} = {_toml(value)}"]
    return "\n".join(parts) + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _toml(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_toml(one)}' for key, one in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)

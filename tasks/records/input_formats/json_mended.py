"""JSON that Python cannot read as it is: too deep, or with numbers and words that it does not know."""

import json
import re

from tasks.records.input_formats.json_documents import CLOSING, TOKEN

_PART = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|:(?=\s*+[,}\]])|[^\[\]{},:"\s](?:[^\[\]{},:"]*[^\[\]{},:"\s])?', re.DOTALL
)


def without_deep(text: str, levels: int) -> str:
    """Return JSON with null in place of each list or object that is more than so many levels deep."""
    depth, kept, parts, start = 0, 0, [], 0
    for token in TOKEN.finditer(text):
        if token[0] in CLOSING:
            depth += 1
            start = token.start() if depth == levels + 1 else start
        elif token[0] in ("]", "}"):
            if depth == levels + 1:
                parts += [text[kept:start], "null"]
                kept = token.end()
            depth -= 1
    return "".join([*parts, text[kept:]])


def with_readable_scalars(text: str) -> str:
    """Return JSON with null in place of each number, text or word that Python cannot read, or that is absent.

    The engine reads `nan` and `inf` in any case, and refuses only the record of others, such as `012`.
    """
    return _PART.sub(_readable, text)


def _readable(part: re.Match[str]) -> str:
    if part[0] == ":":
        return ": null"
    try:
        json.loads(part[0], parse_int=len)  # a number may have more digits than Python converts
    except ValueError:
        return "null"
    return part[0]

"""The form of times, as `columns.time_format` says it: which directives the engine reads."""

import re

_DIRECTIVE = re.compile(r"%(-?.)")
_LITERAL_ZONE = re.compile(r"(?<![A-Za-z])((?i:Z|UTC|GMT)|[A-Z]{1,4}T|MSK)\W*$")
_DIRECTIVES = frozenset("aAbBcdfgGHIjmMnpSuUVwWxXyYzZ%") | {f"-{one}" for one in "dHIjmMSy"}


def time_format_problem(form: str) -> str | None:
    """Return what is wrong with a form of times, such as a zone that would be skipped as a text; None if nothing is."""
    unknown = [one for one in _DIRECTIVE.findall(form) if one not in _DIRECTIVES]
    if unknown:
        return f"has the unknown directive %{unknown[0]}"
    if "%" in _DIRECTIVE.sub("", form):
        return "has a single % at its end"
    zone = _LITERAL_ZONE.search(_DIRECTIVE.sub(" 0 ", form))
    if zone is None:
        return None
    return (
        f"ends in the text {zone[1]}, which would not be read as a time zone; write %z for Z or an offset such as "
        "+01:00, and %Z for UTC, GMT or CET"
    )

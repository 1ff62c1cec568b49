"""Inner lists: notices records that are in lists within the records of a JSON document."""

import re
from collections.abc import Mapping

from tasks.base.config_source import needed_roles
from tasks.base.errors import BadInput
from tasks.records.input_formats.input_format import Look
from tasks.records.input_formats.roles import recognise_roles


def refuse_inner_lists(look: Look, columns: Mapping[str, str]) -> None:
    """Refuse a file whose records are in lists within those of its list: only the first of each would be read.

    Args:
        look: What the file looks like.
        columns: The column of each role that is known.

    Raises:
        BadInput: A role has no column, but one in a list of objects that is within a record.
    """
    inner = recognise_roles([name for name in look.names if name not in look.own_names])
    role = next((role for role in needed_roles(columns) if role in inner and role not in columns), None)
    if role is None:
        return
    outer = "" if look.records is None else f"{look.records}[]."
    within = re.sub(r"\[\d+\]", "[]", inner[role].rpartition("].")[0] + "]")
    within = f"{outer}{within}"
    by_line = f"write one object per line, for example with jq -c '.{within}' > new.ndjson"
    path = within.removesuffix("[]").replace("[]", "[*]")
    remedy = by_line if look.records is None else f'if all columns are in them, say --records "{path}"; else {by_line}'
    raise BadInput(
        f'the records are in lists within a list: "{inner[role]}" ({role}) is only the first of each. Such lists '
        f"cannot be read with what is around them: {remedy}"
    )

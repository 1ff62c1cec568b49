"""Tables: the names that ``sql/schema`` defines, and the only ones that a statement takes in place of ``any_table``."""

import re

PRIVATE = (
    "raw_file",
    "seen_file",
    "raw_record",
    "raw_part",
    "quarantine",
    "value_repair",
    "user_cell",
    "prepared_day",
    "validated_day",
    "validated_file",
    "prepared_file",
    "prepared_count",
    "released_file",
    "late_day",
)
"""Of the warehouse."""

MIRRORED = ("statistic", "charge")
"""Of the ledger's mirror."""

VIEWS = ("held_row",)
"""Of the warehouse, made after its tables; nothing can be deleted from them."""

_ANY_TABLE = re.compile(r"\bany_table\b")


def named(table: str, statement: str) -> str:
    """Return a statement with a table's name in place of ``any_table``, since DuckDB takes no parameter for a name.

    Args:
        table: One of the schema.
        statement: The text of a file of ``sql/``.

    Raises:
        ValueError: The schema has no such table, or the statement does not say ``any_table``.
    """
    if table not in PRIVATE + MIRRORED:
        raise ValueError(f"{table!r} is no table of sql/schema")
    body = "\n".join(line for line in statement.splitlines() if not line.startswith("--"))
    if not _ANY_TABLE.search(body):
        raise ValueError(f"this statement names its table itself, and cannot be run on {table}:\n{body}")
    return _ANY_TABLE.sub(table, body)

"""The names of the tables of a dataset in ``sql/schema``: only these may replace ``any_table`` in a statement."""

import re

PRIVATE = (
    "raw_file",
    "seen_file",
    "raw_record",
    "raw_part",
    "quarantine",
    "value_repair",
    "derived_value",
    "user_cell",
    "user_cell_bin",
    "prepared_day",
    "validated_day",
    "validated_file",
    "prepared_file",
    "prepared_count",
    "released_file",
    "late_day",
)
"""The tables of the warehouse."""

MIRRORED = ("statistic", "charge")
"""The tables of the ledger's mirror."""

VIEWS = ("held_row",)
"""The views of the warehouse, created after its tables. Rows cannot be deleted from them."""

_ANY_TABLE = re.compile(r"\bany_table\b")


def named(table: str, statement: str) -> str:
    """Return a statement with a table's name in place of ``any_table``. DuckDB takes no parameter for a name.

    Args:
        table: A table of ``sql/schema``.
        statement: The text of a file in ``sql/``.

    Raises:
        ValueError: The schema has no such table, or the statement does not contain ``any_table``.
    """
    if table not in PRIVATE + MIRRORED:
        raise ValueError(f"{table!r} is no table of sql/schema")
    body = "\n".join(line for line in statement.splitlines() if not line.startswith("--"))
    if not _ANY_TABLE.search(body):
        raise ValueError(f"this statement names its table itself, and cannot be run on {table}:\n{body}")
    return _ANY_TABLE.sub(table, body)

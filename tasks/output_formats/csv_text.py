"""CSV for readers: a text that somebody gave is read as text by a spreadsheet, and never as a formula."""

import polars as pl

_BEGINS_A_FORMULA = "^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
"""As OWASP's page on CSV injection has it. The last four are wide signs, which East Asian spreadsheets take too."""


def csv_text(table: pl.DataFrame, datetime_format: str | None = None) -> str:
    """Return a table as CSV.

    Args:
        table: The table.
        datetime_format: How instants are written.
    """
    return as_text(table).write_csv(datetime_format=datetime_format)


def as_text(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with an apostrophe before each text that a spreadsheet would take for a formula."""
    return table.with_columns(pl.col(pl.String).str.replace(_BEGINS_A_FORMULA, "'$0"))

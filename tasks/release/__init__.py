"""Releases a planned day: draws the noise, appends the ledger entry, publishes the files."""

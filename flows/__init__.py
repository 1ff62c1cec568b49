"""Runs the tasks: for a day, a range of days, a check of the ledger; has their Prefect flows and the command line."""

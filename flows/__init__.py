"""What runs: a day, a range of days, a check of the ledger; the flows of Prefect made of them; the command line."""

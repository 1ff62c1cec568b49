"""What was released and what each user lost: ledger, budgets, witnesses, private files. Imports only ``base``."""

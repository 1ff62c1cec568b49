"""The mechanisms: one table of them, and what each proposes for a day. Imports only ``dpmath``."""

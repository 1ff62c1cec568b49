"""The mechanisms: one table of them, and what each proposes for a day. Knows no other room, only the mathematics."""

"""Input formats: one value in one module for each, what they share, and the table of them."""

"""The map of a day: one page that opens in any browser."""

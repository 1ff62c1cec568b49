"""Sums of clipped totals: each user's total in a cell is clipped to an interval, and their sum gets noise."""

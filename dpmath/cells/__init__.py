"""Sums of clipped totals, by cell: thresholds, suppression, and the papers' mechanisms of that kind."""

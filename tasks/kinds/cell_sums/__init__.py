"""What the kinds share that publish a noisy sum of each cell: clipped totals, and means of arrays."""

"""Which cells a day publishes, with which clipping and noise. Reads occupancy and public numbers, never a value."""

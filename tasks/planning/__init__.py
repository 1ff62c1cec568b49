"""Plan which cells a day publishes, with which clipping and noise, from occupancy and public numbers alone."""

"""Who was in which cell how often: places to hexagons, records to the occupancy array. Knows only ``base``."""

"""Input files to valid records, every row counted. Knows only ``base``."""

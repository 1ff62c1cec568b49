"""What a published file looks like: columns, outlines, one writer for each format. Knows only ``base``."""

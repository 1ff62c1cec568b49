"""What one cell publishes, by kind of sum: how it is stored, drawn, charged and described. Knows only ``base``."""

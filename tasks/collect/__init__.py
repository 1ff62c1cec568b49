"""Collections from devices that trust nobody: open a period, find the bins, publish the means. Knows ``device``."""

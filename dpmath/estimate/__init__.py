"""One noisy vector a day, from which every cell is estimated. Knows ``noise`` and ``core``."""

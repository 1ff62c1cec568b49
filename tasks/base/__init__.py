"""What every room rests on: configuration, the warehouse, storage, errors, logs, locks, steps. Knows only ``mechanisms``."""

"""What every room uses: configuration, warehouse, storage, errors, logs, locks, steps. Knows only ``mechanisms``."""

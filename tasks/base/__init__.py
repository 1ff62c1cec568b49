"""What every room needs: configuration, warehouse, storage, errors, logs, locks, steps. Imports only ``mechanisms``."""

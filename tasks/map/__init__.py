"""The map of a day: one page that opens in any browser. Imports only ``formats`` and ``base``."""

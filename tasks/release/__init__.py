"""The moment of release: the noise, the ledger entry, the published files."""

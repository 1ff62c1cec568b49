"""Judging: which of the records that were read are used, and what became of the others."""

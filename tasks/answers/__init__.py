"""Answers about areas and periods, from published files alone: no configuration, no private file, no cost."""

"""Sums of array means: how users' records are put into arrays, and the mechanisms of that kind."""

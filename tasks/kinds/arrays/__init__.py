"""Sums of array means: users' records fill arrays, and the sum of the arrays' means gets noise."""

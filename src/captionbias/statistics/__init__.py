"""Intervals, p-values and agreement: pure functions on arrays."""

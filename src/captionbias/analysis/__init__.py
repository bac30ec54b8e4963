"""Analyses of measurements: comparisons, consistency, audits, caption quality."""

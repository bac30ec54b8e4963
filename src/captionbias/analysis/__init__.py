"""Analyses of measurements: comparisons, audits, caption quality."""

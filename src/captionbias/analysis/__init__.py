"""Analyses of measurements: comparisons, sensitivity, audits, caption quality."""

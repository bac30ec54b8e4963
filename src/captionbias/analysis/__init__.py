"""What works on measurements: comparisons, consistency, audits, caption quality, resampling weights."""

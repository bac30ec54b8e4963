"""What every metric stands on and none repeats: reading, one more person, attackers, samples, verdicts."""

"""What few ask: the tables of the papers, and what would have been seen."""

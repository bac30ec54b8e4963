"""What few ask: the tables of the papers, what would have been seen, and which images to draw more often."""

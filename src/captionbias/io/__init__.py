"""Files: the one way to write one whole, the store of what is kept, and the formats of results."""

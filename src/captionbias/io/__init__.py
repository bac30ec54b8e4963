"""Files: written whole or not at all, and the formats that results are written in."""

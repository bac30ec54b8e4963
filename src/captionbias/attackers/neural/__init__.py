"""Neural attackers. Importing this package imports torch."""

"""Neural attackers, several trials in one model. Importing this package imports torch."""

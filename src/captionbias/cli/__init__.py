"""The command line; `main` puts its commands together."""

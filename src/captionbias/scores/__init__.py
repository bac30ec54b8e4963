"""Scores of captions and of caption sets."""

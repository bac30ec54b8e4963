"""Vocabulary alignment: human captions in the words of the captioner."""

"""Evaluation harnesses that ask a model for captions, with sway as the score; each imports its harness itself."""

"""The Hugging Face side: metric modules, cards and publishing."""

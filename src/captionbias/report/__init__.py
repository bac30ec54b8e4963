"""Views of measurements: for terminal, page, HTML and Markdown, and the wording that they share."""

"""The Space of Gaps in quality."""

from captionbias.app.space import serve_space

if __name__ == "__main__":
    serve_space("quality_gaps")

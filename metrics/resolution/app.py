"""The Space of Resolution."""

from captionbias.app.space import serve_space

if __name__ == "__main__":
    serve_space("resolution")

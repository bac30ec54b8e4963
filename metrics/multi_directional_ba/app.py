"""The Space of Multi-attribute BA."""

from captionbias.app.space import serve_space

if __name__ == "__main__":
    serve_space("multi_directional_ba")

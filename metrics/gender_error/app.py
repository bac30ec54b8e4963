"""The Space of Gender ratio and error."""

from captionbias.app.space import serve_space

if __name__ == "__main__":
    serve_space("gender_error")

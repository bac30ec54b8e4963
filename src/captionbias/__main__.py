"""`python -m captionbias`, and so `accelerate launch -m captionbias`."""

from captionbias.cli import app

if __name__ == "__main__":
    app(prog_name="captionbias")

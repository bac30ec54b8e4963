"""`python -m captionbias`, and so `accelerate launch -m captionbias`."""

from captionbias.cli.main import run

if __name__ == "__main__":
    run()

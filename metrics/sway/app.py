"""The Space of Sway."""

from functools import partial

from captionbias.app.page import look, page
from captionbias.app.server import serve

demo = partial(page, seconds=30 * 60, metrics=("sway",))

if __name__ == "__main__":
    serve(demo, **look())

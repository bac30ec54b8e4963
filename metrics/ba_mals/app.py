"""The Space of BA (MALS)."""

from functools import partial

from captionbias.app.page import look, page
from captionbias.app.server import serve

demo = partial(page, seconds=30 * 60, metrics=("ba_mals",))

if __name__ == "__main__":
    serve(demo, **look())

"""The Space of captionbias."""

from functools import partial

from captionbias.app.page import look, page
from captionbias.app.server import serve

demo = partial(page, seconds=30 * 60)  # others wait while a run goes on

if __name__ == "__main__":
    serve(demo, **look())

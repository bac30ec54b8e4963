"""The Space of ImageCaptioner2: what to run, because judges are trained on more images than a page takes."""

import gradio as gr

from captionbias.app.page import look
from captionbias.app.server import serve
from captionbias.app.sessions import Sessions

ABOUT = """
# ImageCaptioner2

Do captions, together with the images they describe, give away a protected attribute that neither shows any more, more
than human captions of the same images do?

It trains judges on thousands of images, too many to upload. Run it where the images are:

```bash
pip install "captionbias[images]"
captionbias measure imagecaptioner2 --predictions nic.parquet --references people.parquet \\
    --images val2014 --annotations instances_val2014.json
```

With images in which the persons are masked already, give `--masked` instead of `--annotations`. `--judge MODEL` takes a
captioner of yours or of the Hub as the judge, and `--as-is` does so without training it.
"""


def demo(_: Sessions) -> gr.Blocks:
    """The page; nobody gives it data."""
    with gr.Blocks(title="ImageCaptioner2", analytics_enabled=False) as page:
        gr.Markdown(ABOUT)
    return page


if __name__ == "__main__":
    serve(demo, **look())

"""The Space of ImageCaptioner2: what to run, because judges are trained on more images than a page takes."""

import gradio as gr

from captionbias.app.page import look
from captionbias.app.server import serve

ABOUT = """
# ImageCaptioner2

Do captions, together with the images they describe, give away a protected attribute that neither shows any more, more
than human captions of the same images do? It trains judges on thousands of images. Run it where these are:

```bash
pip install "captionbias[images]"
captionbias measure imagecaptioner2 --predictions nic.parquet --references people.parquet \\
    --images val2014 --annotations instances_val2014.json
```
"""


def page(_: object) -> gr.Blocks:
    with gr.Blocks(title="ImageCaptioner2", analytics_enabled=False) as blocks:
        gr.Markdown(ABOUT)
    return blocks


if __name__ == "__main__":
    serve(page, **look())

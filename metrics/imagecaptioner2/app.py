"""The Space of ImageCaptioner2: what to run, because judges are trained on more images than a page takes."""

import gradio as gr

from captionbias.app.page import launch_options

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

with gr.Blocks(title="ImageCaptioner2", analytics_enabled=False) as demo:
    gr.Markdown(ABOUT)

if __name__ == "__main__":
    demo.launch(**launch_options())

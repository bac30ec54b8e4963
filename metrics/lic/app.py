"""The Space of LIC."""

from captionbias import metrics
from captionbias.app.metric_page import metric_page
from captionbias.app.page import launch_options

demo = metric_page(
    "LIC, leakage for image captioning",
    "Do captions give away a protected attribute, its words masked, more than human captions of the same images do?",
    metrics.lic,
    preset="fast",
)

if __name__ == "__main__":
    demo.launch(**launch_options())

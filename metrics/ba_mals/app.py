"""The Space of BA (MALS)."""

from captionbias import metrics
from captionbias.app.metric_page import metric_page
from captionbias.app.page import launch_options

demo = metric_page(
    "BA (MALS), from Men Also Like Shopping",
    "Do captions strengthen the lean that each task has to one gender?",
    metrics.ba_mals,
)

if __name__ == "__main__":
    demo.launch(**launch_options())

"""The Space of Directional BA."""

from captionbias import metrics
from captionbias.app.metric_page import metric_page
from captionbias.app.page import launch_options

demo = metric_page(
    "Directional BA, bias amplification from counts",
    "Do captions make genders and tasks go together more than they do, and in which direction?",
    metrics.directional_ba,
)

if __name__ == "__main__":
    demo.launch(**launch_options())

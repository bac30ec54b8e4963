"""The Space of Multi-directional BA."""

from captionbias import metrics
from captionbias.app.metric_page import metric_page
from captionbias.app.page import launch_options

demo = metric_page(
    "Multi-directional BA, over combinations of tasks",
    "How far do captions move the associations of genders and combinations of tasks?",
    metrics.multi_directional_ba,
)

if __name__ == "__main__":
    demo.launch(**launch_options())

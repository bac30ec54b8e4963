"""The Space of Label leakage."""

from captionbias import metrics
from captionbias.app.metric_page import metric_page
from captionbias.app.page import launch_options

demo = metric_page(
    "Label leakage",
    "Do the tasks that captions name give away a gender, more than the tasks that images show?",
    metrics.label_leakage,
)

if __name__ == "__main__":
    demo.launch(**launch_options())

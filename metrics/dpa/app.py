"""The Space of DPA."""

from captionbias import metrics
from captionbias.app.metric_page import metric_page
from captionbias.app.page import launch_options

demo = metric_page(
    "DPA, directional predictability amplification",
    "Can tasks be guessed from genders, or genders from tasks, better when a captioner names them?",
    metrics.dpa,
)

if __name__ == "__main__":
    demo.launch(**launch_options())

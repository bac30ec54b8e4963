"""The Space of Gender error."""

from captionbias import metrics
from captionbias.app.metric_page import metric_page
from captionbias.app.page import launch_options

demo = metric_page(
    "Gender ratio and error",
    "How many captions are about men for each about a woman, and how many say the wrong one?",
    metrics.gender_error,
)

if __name__ == "__main__":
    demo.launch(**launch_options())

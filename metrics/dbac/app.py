"""The Space of DBAC."""

from captionbias import metrics
from captionbias.app.metric_page import metric_page
from captionbias.app.page import launch_options

demo = metric_page(
    "DBAC, directional bias amplification in captioning",
    "Does a captioner make its data's bias worse, from attribute to task or from task to attribute?",
    metrics.dbac,
    preset="fast",
)

if __name__ == "__main__":
    demo.launch(**launch_options())

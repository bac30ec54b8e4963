"""Small audits that several tests of reports read: two captioners with people, without people, and on every metric."""

import base64
import gzip
import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console

from captionbias.analysis.audit import audit
from captionbias.captions import check_captions
from captionbias.metrics import catalogue
from captionbias.report.html import write_report
from captionbias.synthetic import plant
from tests.browser import new_page, watched

IMAGES = 300  # A to T takes as many
HEIGHTS = {1440: 900, 390: 844}
HOSTILE = (
    "1. x|y`z\n\n# </script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\"> "
    "</details> [a](javascript:b) *c* www.example.com @someone &amp;"
)
QUICK = {"trials": 2, "bootstrap": 60, "cache": False, "quality_images": 10}


def rendered(grid, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(grid)
    return console.file.getvalue()


def data_of(page):
    """What a page holds of its audit."""
    packed = page.partition('id="audit-data">')[2].partition("</script>")[0]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def changed(audit, metric, captioner, **changes):
    """The audit with another measurement of that captioner."""
    comparison = audit.comparisons[metric]
    measurement = replace(comparison.measurements[captioner], **changes)
    comparison = replace(comparison, measurements={**comparison.measurements, captioner: measurement})
    return replace(audit, comparisons={**audit.comparisons, metric: comparison})


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens a report's page; nothing goes wrong in it, and nothing is fetched."""
    pages = []

    def open_page(report, width=1440, scheme="light", **options):
        path = tmp_path / "report.html"
        write_report(report, path, command="captionbias report --predictions nic.parquet", **options)
        size = {"width": width, "height": HEIGHTS[width]}
        page = new_page(chromium, viewport=size, color_scheme=scheme)
        pages.append((page, *watched(page)))
        page.goto(path.as_uri())
        return page

    yield open_page
    for page, asked, wrong in pages:
        assert wrong == []
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
        page.context.close()


@pytest.fixture(scope="session")
def planted():
    """Captioners `nic`, faithful, and `sat`, biased, with a human word to align."""
    people = vars(plant(IMAGES, captions=2))
    people["references"] = [[f"{text} slowly" for text in texts] for texts in people["references"]]
    nic = check_captions(**people)
    return {"nic": nic, "sat": nic.with_predictions(plant(IMAGES, captions=2, a_to_t=0.9).predictions)}


@pytest.fixture(scope="session")
def happy():
    """Of a captioner that calls half the women girls, and some happy."""
    planted = vars(plant(1000, captions=4, seed=1))
    for row in (row for row, value in enumerate(planted["attributes"]) if value == "female" and row % 3 == 0):
        planted["predictions"][row] = re.sub("(a )?(woman|lady|girl)", "a happy girl", planted["predictions"][row])
    captioners = {"nic": planted.pop("predictions")}
    return audit(captioners, **planted, metrics=["sway"], bootstrap=60, quality_images=10, cache=False)


@pytest.fixture(scope="session")
def swayed():
    """A faithful captioner, and one whose gender follows the objects."""
    people = vars(plant(600, captions=3))
    captioners = {"faithful": people.pop("predictions"), "biased": plant(600, captions=3, t_to_a=0.6).predictions}
    return audit(captioners, **people, metrics=["sway"], **QUICK | {"bootstrap": 1000})


@pytest.fixture(scope="session")
def two(planted):
    return audit(planted, **{**QUICK, "quality_images": 1000})


@pytest.fixture(scope="session")
def alone(planted):
    """The same captioners without human captions."""
    captioners = {name: captions.predictions for name, captions in planted.items()}
    return audit(captioners, attributes=planted["nic"].attributes, **QUICK)


@pytest.fixture(scope="session")
def every_metric(planted):
    return audit(planted, metrics=list(catalogue.of_captions()), **QUICK)


@pytest.fixture(scope="session")
def hostile():
    """Names, labels, tasks, words and captions that would be parts of a page, or run, if they could."""
    faithful, biased = plant(IMAGES, captions=2), plant(IMAGES, captions=2, a_to_t=0.9)
    names = {task: HOSTILE if task == "tie" else f"=cmd({task}) {HOSTILE}" for row in faithful.tasks for task in row}
    labels = {"male": HOSTILE, "female": "=1+1 | b | c |"}
    return audit(
        {HOSTILE: [f"{text} {HOSTILE}" for text in faithful.predictions], "- " + HOSTILE: biased.predictions},
        references=faithful.references,
        attributes=[labels[label] for label in faithful.attributes],
        tasks=[[names[task] for task in tasks] for tasks in faithful.tasks],
        attribute_lexicon={labels["male"]: ["man", "boy", "guy"], labels["female"]: ["woman", "girl", "lady"]},
        task_lexicon={name: [task] for task, name in names.items()},
        **QUICK,
    )

"""The report as one page, in a real browser: plots drawn, tables sorted, data saved, nothing fetched, nothing run."""

from __future__ import annotations

import csv
import io
import json

import pytest
from markupsafe import escape

from captionbias.analysis.audit import audit
from captionbias.io.formats import json_text
from captionbias.metrics import catalogue
from captionbias.report.html import html_report, write_report
from captionbias.report.plots import sources_plot, write_html
from captionbias.report.wording import verdicts
from captionbias.synthetic import plant
from tests.browser import NEEDS_BROWSER, browser, new_page, settled, too_wide, watched
from tests.report.conftest import IMAGES, QUICK, audited

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"


@pytest.fixture(scope="module")
def hostile():
    """Names, labels, tasks, words and captions that would be a page's own code if they could."""
    planted = plant(IMAGES, captions=2)
    names = {task: HOSTILE if task == "tie" else f"=cmd({task})" for tasks in planted.tasks for task in tasks}
    return audit(
        {HOSTILE: [f"{text} {HOSTILE}" for text in planted.predictions]},
        references=planted.references,
        attributes=[HOSTILE if label == "male" else "=1+1" for label in planted.attributes],
        tasks=[[names[task] for task in tasks] for tasks in planted.tasks],
        task_lexicon={name: [task] for task, name in names.items()},
        **QUICK,
    )


@pytest.fixture(scope="module")
def chromium():
    with browser() as found:
        yield found


@pytest.fixture
def opened(chromium, tmp_path):
    pages = []

    def open_page(report, width=1440, scheme="light"):
        path = tmp_path / "report.html"
        write_report(report, path, command="captionbias report --predictions nic.parquet")
        page = new_page(chromium, viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True)
        pages.append(page)
        seen = watched(page)
        page.goto(path.as_uri())
        return page, *seen

    yield open_page
    for page in pages:
        page.context.close()


def test_the_page_holds_every_number_of_every_metric_and_names_every_score(every_metric):
    page = html_report(every_metric)
    start = page.index('id="audit-data">') + len('id="audit-data">')
    assert json.loads(page[start : page.index("</script>", start)]) == json.loads(json_text(every_metric.as_dict()))
    for metric, signature in every_metric.signatures.items():
        assert f"{metric}: {signature}" in page
    labels = [
        score.label for score in catalogue.SCORES.values() if score.headline and score.metric in catalogue.OF_CAPTIONS
    ]
    assert [label for label in labels if f"<td>{label}</td>" not in page] == []


def test_a_verdict_is_marked_as_the_tables_have_it(two):
    page = html_report(two)
    for said in verdicts(two):
        kind = said.verdict if said.verdict in ("amplifies", "mitigates") else "unclear"
        assert f'<li class="{kind}">{escape(said.text)}</li>' in page
    assert '<li class="amplifies">' in page
    assert 'id="differences"' in page


def test_a_captioner_s_name_is_not_a_verdict_and_one_captioner_has_no_differences(planted):
    page = html_report(audited(planted["nic"], "x makes its data's bias worse", metrics=["lic"]))
    assert '<li class="unclear">' in page
    assert '<li class="amplifies">' not in page
    assert 'id="differences"' not in page


def open_and_draw(page):
    """Open every part of the page and wait until its plots are drawn."""
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    plots = page.locator(".plot")
    for number in range(plots.count()):
        plots.nth(number).scroll_into_view_if_needed()
        plots.nth(number).locator("svg.main-svg").first.wait_for()
    return plots.count()


@NEEDS_BROWSER
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_every_plot_is_drawn_and_nothing_is_fetched(two, opened, width, scheme):
    page, asked, wrong = opened(two, width, scheme)
    assert open_and_draw(page) >= 7
    assert wrong == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert not too_wide(page)
    ink = page.evaluate("getComputedStyle(document.querySelector('.plot text')).fill")
    assert ink == ("rgb(230, 237, 243)" if scheme == "dark" else "rgb(31, 35, 40)")


@NEEDS_BROWSER
def test_tables_are_sorted_by_a_click_and_data_and_scores_are_saved_as_files(two, opened):
    page, *_ = opened(two)
    table = page.locator("#differences table")
    header = table.locator("th", has_text="first less second")
    for sort, descending in ((header.click, True), (lambda: header.press("Enter"), False)):
        sort()
        numbers = [float(text) for text in table.locator("td:nth-child(4)").all_text_contents()]
        assert numbers == sorted(numbers, reverse=descending)
    assert len(set(numbers)) > 1
    saved = {}
    for kind in ("JSON", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind).click()
        saved[kind] = download.value.path().read_text(encoding="utf-8")
    assert json.loads(saved["JSON"])["images"] == IMAGES
    rows = list(csv.DictReader(io.StringIO(saved["CSV"])))
    value = next(row["value"] for row in rows if (row["captioner"], row["score"]) == ("sat", "DBAC A to T, matched"))
    assert float(value) == two.measurement("dbac", "sat").estimates["dbac_a_to_t_matched"].value


@NEEDS_BROWSER
def test_names_labels_tasks_and_captions_are_shown_and_never_run(hostile, opened):
    page, _, wrong = opened(hostile)
    open_and_draw(page)
    settled(page)
    assert page.title().startswith("Bias of </script>")
    assert page.locator("img").count() == 0
    assert wrong == []
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    cells = [cell for row in csv.reader(download.value.path().open(encoding="utf-8")) for cell in row]
    assert not [cell for cell in cells if cell.startswith("=")]


@NEEDS_BROWSER
def test_a_mark_without_an_interval_does_not_look_certain(chromium, tmp_path):
    certain = {"amplification": 0.1, "amplification_ci_low": 0.05, "amplification_ci_high": 0.2}
    rows = [
        {"direction": "a_to_t", "attribute": "woman", "task": "knife", "amplification": 0.2},
        {"direction": "a_to_t", "attribute": "man", "task": "tie", **certain},
    ]
    write_html(sources_plot(rows), tmp_path / "plot.html")
    page = new_page(chromium)
    page.goto((tmp_path / "plot.html").as_uri())
    page.locator(".barlayer .point").nth(1).wait_for()
    drawn = page.locator("path.xerror").evaluate_all("bars => bars.filter((bar) => bar.getAttribute('d')).length")
    page.context.close()
    assert drawn == 1


def test_a_report_is_written_whole_or_not_at_all(two, tmp_path):
    with pytest.raises(ValueError, match="cannot be written"):
        write_report(two, tmp_path / "missing" / "report.html")
    assert list(tmp_path.iterdir()) == []

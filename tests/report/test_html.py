"""The report in a real browser: the answer first, its captions behind a click, on paper, nothing fetched."""

import csv
import io
import json
import re

import pytest
from markupsafe import escape

from captionbias._version import __version__
from captionbias.io.formats import json_text
from captionbias.metrics import catalogue
from captionbias.report.html import html_report
from captionbias.report.leaderboard import answers, audit_leaderboard, title
from captionbias.report.wording import grouped_notes
from tests.browser import NEEDS_BROWSER, axe_violations, settled, too_wide
from tests.report.conftest import HEIGHTS, IMAGES, data_of

UNFOLD = "document.querySelectorAll('details').forEach((part) => { part.open = true; })"


def downloaded(page, name):
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    return download.value.path().read_bytes()


def visible(page, selector):
    return page.locator(f"{selector}:visible")


def test_the_page_holds_every_number_of_every_metric_and_names_every_score(every_metric):
    page = html_report(every_metric)
    assert data_of(page) == json.loads(json_text(every_metric.as_dict()))
    for metric, signature in every_metric.signatures.items():
        assert f"{metric}: {signature}" in page
    labels = [
        score.label for score in catalogue.SCORES.values() if score.headline and score.metric in catalogue.of_captions()
    ]
    unasked = {catalogue.label("sway_words"), catalogue.label("sway_missing_gap")}  # few images, none without a caption
    meteor = {label for label in labels if "METEOR" in label}  # without WordNet
    assert {label for label in labels if f"<td>{label}</td>" not in page} - meteor == unasked


def test_every_answer_is_in_its_row_and_every_note_below_them(two):
    page, board = html_report(two), audit_leaderboard(two)
    told = [told for row in board.rows for told in answers(board, two, row.name)]
    assert [one for one in told if f"<b>{escape(one.verdict)}</b>: {escape(one.size)}<" not in page] == []
    assert f"<h1>{escape(title(board))}</h1>" in page
    for note in grouped_notes(two):
        assert page.count(str(escape(note))) == 1
    assert not [name for name in ("attribute_lexicon", "unseen_only=True") if name in page.partition("audit-data")[0]]


@NEEDS_BROWSER
@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_the_first_screen_has_the_answer_and_the_page_fits_and_can_be_used_by_all(two, opened, width, scheme):
    page = opened(two, width, scheme)
    for selector in ("h1", ".row.person", "details.row"):
        place = visible(page, selector).first.bounding_box()
        assert place["y"] + min(place["height"], 200) < HEIGHTS[width], selector
    row = page.locator("details.row").first
    row.locator("summary").first.click()
    row.get_by_text("Words that give it away").click()
    visible(page, "details.row .opener").first.click()
    page.locator(".panel li").first.wait_for()
    folded = width == 390  # axe takes seconds for all tables
    assert not folded or axe_violations(page) == []
    page.evaluate(UNFOLD)
    settled(page)
    assert not too_wide(page)
    assert folded or axe_violations(page) == []
    ink = page.evaluate("getComputedStyle(document.querySelector('h1')).color")
    assert ink == ("rgb(230, 237, 243)" if scheme == "dark" else "rgb(31, 35, 40)")


@NEEDS_BROWSER
def test_a_click_on_a_word_shows_its_captions_with_the_word_marked_to_filter_sort_and_save(happy, opened):
    page = opened(happy, width=390)  # the row of the one captioner is open
    words = {row["word"]: row for row in happy.details("sway", "nic")["words"]}
    entries = {one["word"]: one for one in happy.evidence["captioners"]["nic"]["tied"]}
    panel, items = page.locator(".panel"), page.locator(".panel li")
    for word, form in (("happy", "happy"), ("girl|boy", "girl")):
        shown = visible(page, ".tied tr").filter(has=page.get_by_role("button", name=form))
        told = [f"{words[word]['captioner']:.1f}", f"{words[word]['person']:.1f}"]
        assert shown.locator(".number").all_text_contents() == told
        button, entry = shown.get_by_role("button"), entries[word]
        button.focus()
        page.keyboard.press("Enter")
        told = panel.locator(".told").filter(has_text=f"nic writes “{word.replace('|', ' or ')}”")
        assert f"for {entry['images']} images of female" in told.text_content()
        captions = page.locator(".panel li dd:nth-of-type(1)").all()
        assert len(captions) == items.count() == len(entry["rows"])
        assert all(form in caption.locator("mark").all_text_contents() for caption in captions)
    assert axe_violations(page) == []
    assert not too_wide(page)
    assert button.get_attribute("aria-expanded") == "true"
    first = entry["rows"][0]["row"]
    text = happy.evidence["texts"][happy.evidence["captioners"]["nic"]["captions"][first]]
    assert items.first.locator("b").text_content() == f"row {first}"
    assert items.first.locator("dd").first.text_content() == text
    panel.get_by_label("sort by").select_option("least")
    last = round(100 * min(one["difference"] for one in entry["rows"]))
    assert f"difference {'+' if last > 0 else ''}{last} points" in items.first.text_content()
    panel.get_by_label("named by").select_option("only")
    alone = [one["row"] for one in entry["rows"] if one["captioner"] and not one["people"]]
    assert items.count() == len(alone)
    panel.get_by_label("find").fill(f"no such word {form}")
    assert items.count() == 0
    panel.get_by_label("find").fill("")
    rows = list(csv.DictReader(io.StringIO(downloaded(page, "Save as CSV").decode())))
    assert ({int(one["row"]) for one in rows}, {one["captioner"] for one in rows}) == ({*alone}, {"nic"})
    page.keyboard.press("Escape")
    assert panel.count() == 0
    page.keyboard.press("Enter")
    panel.get_by_role("button", name="Close").click()
    assert panel.count() == 0
    assert page.evaluate("document.activeElement.textContent") == button.text_content()


@NEEDS_BROWSER
def test_a_click_shows_all_captions_of_the_captioner_that_name_the_wrong_value(swayed, opened):
    page = opened(swayed)
    cells = swayed.evidence["captioners"]["biased"]["cells"]["t_to_a"]
    (images,) = (one["images"] for one in cells if (one["attribute"], one["suggested"]) == ("female", "male"))
    row = page.locator("details.row", has_text="biased")
    row.locator("summary").first.click()
    row.get_by_text("Captions that name the wrong gender").click()
    figure = visible(page, "figure").filter(has_text="Women called men beside objects that go with men")
    figure.get_by_role("button", name=f"Show all {images} captions").click()
    captions = [item.locator("dd").first.text_content() for item in page.locator(".panel li").all()]
    assert len(captions) == images > 5
    assert all(re.search(r"\b(man|boy|guy)\b", text) for text in captions)
    leans = {row["task"]: row["goes_with"] for row in swayed.details("sway", "biased")["leans"]}
    marked = {leans.get(text) for text in page.locator(".panel dd mark").all_text_contents()}
    assert marked == {None, "male"}, "people, and objects that go with men"


@NEEDS_BROWSER
def test_tables_are_sorted_by_a_click_and_data_and_scores_are_saved_as_files(two, opened):
    page = opened(two)
    page.locator("#differences summary").click()
    header = page.locator("#differences").get_by_role("button", name="first less second")
    for sort, descending in ((header.click, True), (lambda: header.press("Enter"), False)):
        sort()
        numbers = [float(text.split()[0]) for text in page.locator("#differences td:nth-child(4)").all_text_contents()]
        assert numbers == sorted(numbers, reverse=descending)
    assert len(set(numbers)) > 1
    assert json.loads(downloaded(page, "All data (JSON)"))["images"] == IMAGES
    rows = list(csv.DictReader(io.StringIO(downloaded(page, "Scores (CSV)").decode())))
    value = next(row["value"] for row in rows if (row["captioner"], row["score"]) == ("sat", "DBAC A to T, matched"))
    assert float(value) == two.measurement("dbac", "sat").estimates["dbac_a_to_t_matched"].value


@NEEDS_BROWSER
def test_rows_are_sorted_by_any_head_also_by_keyboard_and_open_to_the_next_key(swayed, opened):
    page = opened(swayed)
    names = page.locator("details.row > summary .name")
    assert names.all_text_contents() == ["biased", "faithful"]
    page.get_by_role("button", name="Captioner").press("Enter")
    assert names.all_text_contents() == ["biased", "faithful"]
    page.get_by_role("button", name="Women called men").press("Enter")
    assert names.all_text_contents() == ["biased", "faithful"]
    page.keyboard.press("Enter")
    assert names.all_text_contents() == ["faithful", "biased"]
    assert page.locator("[aria-pressed=true]").all_text_contents()[0].startswith("Women called men")
    page.locator("details.row > summary").first.press("Enter")
    assert page.locator("details.row[open]").count() == 1


@NEEDS_BROWSER
def test_the_rows_are_saved_as_pictures_tables_and_to_cite(swayed, opened):
    page = opened(swayed)
    svg, png, pdf, tex = (downloaded(page, name) for name in ("SVG", "PNG", "PDF", "LaTeX"))
    table, cited = (downloaded(page, name).decode() for name in ("Table: CSV", "Cite"))
    assert title(audit_leaderboard(swayed)).encode() in svg
    assert (png[:4], pdf[:4], pdf[-5:], tex[:15]) == (b"\x89PNG", b"%PDF", b"%%EOF", b"\\begin{tabular}")
    assert [row[0] for row in csv.reader(io.StringIO(table))] == ["captioner", "people", "biased", "faithful"]
    assert swayed.signatures["sway"] in cited.replace("\\", "")
    assert f"version = {{{__version__}}}" in cited


@NEEDS_BROWSER
def test_names_labels_tasks_and_captions_are_shown_and_never_run(hostile, opened):
    page = opened(hostile)
    page.evaluate(UNFOLD)
    for button in visible(page, ".opener").all()[:14]:
        button.click()
        page.locator(".panel li, .panel .told").first.wait_for()
    settled(page)
    assert "</script>" in page.title()
    assert page.locator("img").count() == 0
    for name in ("Save as CSV", "Scores (CSV)"):
        cells = [cell for row in csv.reader(io.StringIO(downloaded(page, name).decode())) for cell in row]
        assert not [cell for cell in cells if cell.startswith("=")]


def printed(page, tmp_path, name):
    """How many pages it takes on paper."""
    path = tmp_path / f"{name}.pdf"
    page.pdf(path=path, prefer_css_page_size=True, print_background=True)
    return len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))


@NEEDS_BROWSER
@pytest.mark.parametrize("which", ["two", "happy"])
def test_paper_has_the_headline_the_pictures_and_the_notes_on_two_pages_and_everything_by_choice(
    request, which, opened, tmp_path
):
    page = opened(request.getfixturevalue(which))
    assert printed(page, tmp_path, "first") <= 2
    page.emulate_media(media="print")
    opened_before = page.locator("details[open]").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for part in ("h1", ".row .bar", "footer", ".doubts li", ".notes li"):
        assert visible(page, part).count() == page.locator(part).count() > 0, part
    sections = page.locator("section:visible")
    assert all(len(text.strip().splitlines()) > 1 for text in sections.all_inner_texts()), "no heading is empty"
    assert page.locator(".screen:visible").count() == 0
    page.evaluate("document.documentElement.classList.add('whole')")
    drawn = "#report .bar, #report table"
    assert page.evaluate(
        f"[...document.querySelectorAll('{drawn}')].every((one) => one.getBoundingClientRect().height)"
    )
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == opened_before
    page.evaluate("window.print = () => {}")
    page.emulate_media(media="null")
    page.get_by_role("button", name="Print everything").click()
    assert 3 <= printed(page, tmp_path, "whole") <= 40

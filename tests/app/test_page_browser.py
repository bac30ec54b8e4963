"""The page as a person sees it, in a real browser: from files to verdicts, plots and downloads, and nothing else."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from captionbias.report.plots import INK
from captionbias.synthetic import plant
from tests.app.conftest import packed, picture
from tests.browser import NEEDS_BROWSER, browser, new_page, settled, too_wide, watched

pytestmark = NEEDS_BROWSER

HOSTILE = "<img src=x onerror=\"document.title='run'\">"
PICTURE = "![a](http://example.invalid/a.png)"
Open = Callable[..., AbstractContextManager[Any]]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def opened(chromium: Any, served: Any) -> Open:
    """Opens the page; whatever is done there, nothing goes wrong in it and nobody else is asked for anything."""

    @contextmanager
    def open_page() -> Iterator[Any]:
        page = new_page(chromium, viewport={"width": 1440, "height": 900}, accept_downloads=True)
        asked, wrong = watched(page)
        page.goto(served.url)
        page.locator("#predictions input[type=file]").wait_for(state="attached")
        title = page.title()
        yield page
        assert [url for url in asked if not url.startswith((served.url, "data:", "blob:"))] == []
        assert wrong == []
        assert page.title() == title
        page.context.close()

    return open_page


def upload(page: Any, where: str, *paths: Path) -> None:
    page.locator(f"#{where} input[type=file]").set_input_files(list(paths))


def read(page: Any, text: str) -> None:
    """Wait until the page tells this of the data."""
    page.locator("#read").get_by_text(text).wait_for()


def measure(page: Any, *, dbac: bool = False) -> None:
    trials(page, 2)
    page.get_by_label("DBAC: in which direction?").set_checked(dbac)
    page.locator("#measure").click()
    page.locator("#status").get_by_text("Done.").wait_for()
    page.locator("#scores-plot svg.main-svg").first.wait_for()


def trials(page: Any, number: int) -> None:
    field = page.get_by_label("number input for Trials")
    field.fill(str(number))
    field.press("Tab")


def choose(page: Any, label: str, option: str) -> None:
    """Choose in a dropdown."""
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def tabs(page: Any) -> Iterator[str]:
    """Open every tab of the results, one after the other; on a phone some are in a menu."""
    for name in ("Scores", "Compare", "Where it comes from", "Words", "Quality", "How sure", "Download"):
        tab = page.get_by_role("tab", name=name, exact=True)
        if not tab.count():
            page.locator("#results .overflow-menu > button").click()
            tab = page.locator("#results .overflow-dropdown button", has_text=name)
            if not tab.count():
                page.keyboard.press("Escape")
                continue
        tab.first.click()
        yield name


def told(page: Any, text: str) -> None:
    """Wait until this error is shown."""
    page.get_by_test_id("toast-text").get_by_text(text).first.wait_for()


def download(page: Any, name: str) -> Path:
    with page.expect_download() as found:
        page.locator(f'#files a[download="{name}"]').click()
    path: Path = found.value.path()
    return path


def cells(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.fixture(scope="module")
def measured(opened: Open, files: dict[str, Path]) -> Iterator[Any]:
    """The page after two captioners were measured with everything."""
    with opened() as page:
        upload(page, "predictions", files["nic"], files["sat"])
        upload(page, "references", files["people"])
        read(page, "240 images")
        measure(page, dbac=True)
        yield page


def test_the_example_shows_verdicts_plots_and_tables_with_one_click(opened):
    with opened() as page:
        trials(page, 2)
        page.locator("#example").click()
        read(page, "3,000 images")
        page.locator("#scores-plot svg.main-svg").first.wait_for()
        verdicts = page.locator("#summary").inner_text()
        assert "biased makes its data's bias worse: it lets the person's gender shape which objects" in verdicts
        assert "faithful makes" not in verdicts
        assert page.locator("#scores-table").get_by_text("DBAC A to T, matched").count() >= 1
        assert not page.locator("#cancel").is_visible()


def test_uploads_show_what_is_masked(measured):
    marks = measured.locator("#masked-a-to-t .token", has_text="woman")
    marks.first.wait_for()
    assert "female" in marks.first.inner_text().lower()
    assert "captioner: " in measured.locator("#masked-a-to-t").inner_text()
    assert "cake" in measured.locator("#masked-t-to-a").inner_text()


def test_every_tab_shows_its_plots_and_tables(measured):
    plots = {"Scores": "scores", "Compare": "differences", "Where it comes from": "sources", "Quality": "tradeoff"}
    tables = {
        **{"Scores": "scores", "Compare": "differences", "Where it comes from": "sources", "Words": "words"},
        **{"Quality": "quality", "How sure": "how-sure"},
    }
    for name in tabs(measured):
        if name in plots:
            measured.locator(f"#{plots[name]}-plot svg.main-svg").first.wait_for()
        if name in tables:
            measured.locator(f"#{tables[name]}-table [role=gridcell]:visible").first.wait_for()
        if name == "Words":
            measured.locator("#captions .token").first.wait_for()
        assert not too_wide(measured), name
    assert name == "Download"


def test_every_download_holds_what_was_found(measured, chromium, tmp_path):
    measured.get_by_role("tab", name="Download").click()
    measured.locator('#files a[download="report.html"]').wait_for()
    names = measured.locator("#files a").evaluate_all("links => links.map((link) => link.download)")
    saved = {name: download(measured, name) for name in names}
    everything = json.loads(saved["everything.json"].read_text())
    assert (everything["captioners"], everything["images"]) == (["nic", "sat"], 240)
    markdown = saved["report.md"].read_text()
    assert "## Bias of nic, sat" in markdown
    assert measured.locator("#command .cm-content").inner_text() in markdown
    for name in ("scores.csv", "differences.csv", "sources-a-to-t.csv", "sources-t-to-a.csv"):
        header, *rows = cells(saved[name])
        assert rows
        assert {len(row) for row in rows} == {len(header)}
    value = next(row[2] for row in cells(saved["scores.csv"]) if row[:2] == ["sat", "DBAC A to T, matched"])
    matched = everything["comparisons"]["dbac"]["results"]["sat"]["dbac_a_to_t_matched"]
    assert float(value) == pytest.approx(matched)
    report = tmp_path / "report.html"
    report.write_bytes(saved["report.html"].read_bytes())
    page = new_page(chromium, offline=True)
    asked, wrong = watched(page)
    page.goto(report.as_uri())
    page.locator(".plot").first.scroll_into_view_if_needed()  # plots are drawn when they come into sight
    page.locator(".plot svg.main-svg").first.wait_for()
    assert (wrong, [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]) == ([], [])
    page.context.close()


def test_a_column_that_was_guessed_wrong_is_corrected_and_another_crossed_with_it(opened, write):
    planted = plant(240, captions=1)
    skin = ["light", "dark", "dark"] * 80
    texts = [
        f"{'white' if tone == 'light' else 'black'} {text}"
        for tone, text in zip(skin, planted.predictions, strict=True)
    ]
    columns = {"id": range(240), "caption": texts, "references": [text for [text] in planted.references]}
    labels = {"gender": ["a", "a", "b", "b"] * 60, "person": planted.attributes, "skin": skin}
    with opened() as page:
        upload(page, "predictions", write("one.csv", {**columns, **labels}))
        page.locator("#masked-a-to-t").get_by_text("(a)").first.wait_for()
        page.get_by_label("Label of each image", exact=True).press("Backspace")
        choose(page, "Label of each image", "person")
        page.locator("#masked-a-to-t").get_by_text("(female)").first.wait_for()
        choose(page, "Label of each image", "skin")
        page.locator("#masked-a-to-t").get_by_text("(female, light)").first.wait_for()
        assert page.locator("#read table td").all_inner_texts()[:3] == ["female", "dark", "80"]
        measure(page)
        cells = page.locator("#each-attribute-alone-table [role=gridcell]:visible")
        cells.get_by_text("gender x race").first.wait_for()
        page.get_by_role("tab", name="Words", exact=True).click()
        page.locator("#captions").get_by_text(re.compile(r"^(fe)?male, (light|dark), \d+% sure")).first.wait_for()


@pytest.mark.parametrize("working", [False, True])
def test_a_cancelled_run_ends_and_another_can_begin(opened, working):
    """Also one that is cancelled as soon as it can be, whether or not it works yet."""
    with opened() as page:
        trials(page, 20)
        page.locator("#example").click()
        if working:
            page.get_by_text(re.compile(r"attacker \d+ of")).first.wait_for()
        page.locator("#cancel").click()
        page.locator("#status").get_by_text("Cancelled.").wait_for()
        page.locator("#cancel").wait_for(state="hidden")
        assert page.locator("#measure").is_enabled()
        assert not page.locator("#results").is_visible()


def test_what_is_missing_or_not_a_table_is_told_in_plain_words(opened, write, files, tmp_path):
    with opened() as page:
        page.locator("#measure").click()
        told(page, "there are no captions yet: upload a file, or take the example data")
        upload(page, "predictions", files["nic"])
        reason = "no attribute is chosen: choose the column that has the label of each image, such as gender"
        read(page, reason)
        page.locator("#measure").click()
        told(page, reason)
        login = tmp_path / "people.csv"
        login.write_text("<!DOCTYPE html><title>Sign in</title>")
        upload(page, "references", login)
        told(page, "people.csv is a web page (HTML): download the file itself, not the page that shows it")
        # Nothing is left that could be measured in its place.
        page.wait_for_function("() => document.querySelector('#read').innerText.trim() === ''")


def test_a_narrow_and_dark_page_can_be_read(measured):
    measured.set_viewport_size({"width": 390, "height": 900})
    measured.emulate_media(color_scheme="dark")
    measured.locator("body.dark").wait_for()
    legible = "rgb({}, {}, {})".format(*bytes.fromhex(INK.removeprefix("#")))  # on white and on black
    for name in tabs(measured):
        settled(measured)
        assert not too_wide(measured), name
        for plot in measured.locator("[id$=-plot]:visible").all():
            plot.locator("svg.main-svg").first.wait_for()
            inks = plot.locator("svg text").evaluate_all("texts => texts.map((one) => getComputedStyle(one).fill)")
            assert set(inks) == {legible}, name


def test_hostile_names_labels_words_and_captions_are_shown_and_never_run(opened, write, tmp_path):
    faithful, biased = plant(120, captions=1), plant(120, captions=1, a_to_t=0.9)
    labels = [HOSTILE if label == "male" else "=1+1" for label in faithful.attributes]
    columns = {
        "image_id": [f"{PICTURE} {number} {HOSTILE}" for number in range(120)],
        f"=cmd() {HOSTILE}": [f"{text} {HOSTILE} =cmd()" for text in faithful.predictions],
        f"{PICTURE}": [
            f"{text} {PICTURE} </textarea><script>document.title='run'</script>" for text in biased.predictions
        ],
        "references": [text for [text] in faithful.references],
        "gender": labels,
        HOSTILE: [f"{HOSTILE} {PICTURE}"] * 120,
    }
    name = "<img src=x onerror=document.title=1>.csv"
    with opened() as page:
        upload(page, "predictions", write(name, columns))
        read(page, "120 images")
        page.get_by_label("The captioner's captions", exact=True).click()
        page.get_by_role("option", name=PICTURE, exact=True).click()
        page.keyboard.press("Escape")
        choose(page, "Attribute", "custom words")
        words = {HOSTILE: ["man", "guy", "boy"], PICTURE: ["woman", "lady", "girl"]}
        page.locator("#custom-value textarea").fill(json.dumps(words))
        page.locator("#custom-value textarea").press("Tab")
        page.locator("#masked-a-to-t .token", has_text="![a]").first.wait_for()
        measure(page)
        shown = page.locator("#summary").inner_text()
        assert f"=cmd() {HOSTILE}" in shown
        assert PICTURE in shown
        for _ in tabs(page):
            settled(page)
            assert page.locator("img[src='x'], img[src*=example], a[href*=example]").count() == 0
        page.locator('#files a[download="scores.csv"]').wait_for()
        written = [cell for row in cells(download(page, "scores.csv")) for cell in row]
        assert any(cell.startswith("'=cmd()") for cell in written)
        assert not any(re.match(r"[=+@]", cell) for cell in written)
        custom = json.loads(download(page, "attribute-words.json").read_text())
        assert custom["groups"] == words
        # Errors are shown as text too.
        page.locator("#custom-value textarea").fill(f"a: {HOSTILE}\nb: {HOSTILE}")
        page.locator("#custom-value textarea").press("Tab")
        page.locator("#read").get_by_text(re.compile("<img src=x.* is listed under")).wait_for()
        page.locator("#measure").click()
        told(page, "is listed under 'a' and 'b'")
        # And so are names of images, also on the pictures.
        page.get_by_role("tab", name="With images: ImageCaptioner2").click()
        page.get_by_label("The persons are masked already").check()
        pictures = {f"{HOSTILE}.png": picture(np.zeros((8, 8, 3), np.uint8)), f"{PICTURE}.txt": b""}
        upload(page, "images", packed(tmp_path / "photos.zip", pictures))
        page.locator("#images-read").get_by_text("1 images").wait_for()
        assert "a.png).txt is not an image" in page.locator("#images-read").inner_text()
        page.locator("#previews button img").first.click()
        page.locator("#previews").get_by_text(HOSTILE).first.wait_for()
        assert page.locator("img[src='x']").count() == 0

"""The page as a person sees it, in a real browser: from dropped files to the result, and nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from captionbias.synthetic import plant
from tests.app.conftest import IMAGES
from tests.app.pages import FRAME, Open, drop, go, opens
from tests.browser import NEEDS_BROWSER, axe_violations, quiet, settled, too_wide

pytestmark = NEEDS_BROWSER

HOSTILE = "<img src=x onerror=\"document.title='run'\">"
PICTURE = "![a](http://example.invalid/a.png)"
FOLDED = ("Columns: correct what was guessed", "Metrics, trials and seed")
# What axe-core finds in gradio's own components, which a page cannot reach.
OF_GRADIO = {"nested-interactive": "the button that adds files has the file input in it"}


@pytest.fixture(scope="module")
def opened(chromium: Any, served: Any) -> Open:
    return opens(chromium, served)


def check(page: Any) -> None:
    """Go to the second step, and unfold everything."""
    page.locator("#next").click()
    page.locator("#summary > :not(.hide)").first.wait_for()
    for name in FOLDED:
        for fold in page.get_by_role("button", name=name).all():
            if "open" not in (fold.get_attribute("class") or ""):
                fold.click()


def trials(page: Any, number: int) -> None:
    field = page.get_by_label("number input for Trials")
    field.fill(str(number))
    field.press("Tab")


def measure(page: Any) -> Any:
    """Measure with few attackers; gives the frame with the result."""
    trials(page, 2)
    page.locator("#measure").click()
    page.locator("#downloads").wait_for()
    return page.frame_locator(FRAME)


def choose(page: Any, label: str, option: str) -> None:
    """Choose in a dropdown."""
    box = page.get_by_label(label, exact=True)
    box.click()
    page.locator(f"#{box.get_attribute('aria-controls')}").get_by_role("option", name=option, exact=True).click()
    box.press("Tab")


def shown_step(page: Any) -> str:
    return str(page.locator("#steps [role=tab][aria-selected=true]").first.inner_text())


def download(page: Any, name: str) -> Path:
    link = page.locator(f'#downloads a[download="{name}"]')
    link.hover()
    settled(page)
    with page.expect_download() as found:
        link.click()
    path: Path = found.value.path()
    return path


@pytest.fixture(scope="module")
def measured(opened: Open, files: dict[str, Path]) -> Iterator[Any]:
    """The page after two captioners were measured with everything."""
    with opened() as page:
        drop(page, *files.values())
        check(page)
        measure(page)
        yield page


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1000, 800), (390, 844)])
def test_the_first_screen_shows_an_example_of_which_nothing_is_kept(opened, served, width, height):
    trained = sorted((served.folder / "CAPTIONBIAS_CACHE").rglob("*"))
    with opened(width, height) as page:
        example = page.frame_locator("iframe[src='example']")
        picture = example.locator("svg:visible").first
        picture.wait_for()
        answer = example.locator("h1")
        assert 0 < answer.bounding_box()["y"] < height * 0.75
        assert answer.bounding_box()["y"] < picture.bounding_box()["y"] < height
        assert page.locator("#own").is_visible()
        assert page.locator("#steps").bounding_box()["width"] > 0.8 * min(width, 1152)
        for tab in ("2. Check", "3. Result"):
            assert page.get_by_role("tab", name=tab).is_disabled()
    assert sorted((served.folder / "CAPTIONBIAS_CACHE").rglob("*")) == trained


def test_dropped_files_are_sorted_out_and_measured_in_three_steps(measured):
    rows = measured.locator("#read tbody tr").all_text_contents()
    assert [row.split("csv")[1][:10] for row in rows] == ["a captione", "a captione", "people's c"]
    assert "240 images" in measured.locator("#summary").text_content()
    assert measured.get_by_label("common.upload").count() == 0
    assert shown_step(measured) == "3. Result"
    result = measured.frame_locator(FRAME)
    result.get_by_text(re.compile("more than people")).locator("visible=true").first.wait_for()
    measured.locator("#cancel").wait_for(state="hidden")
    assert measured.evaluate("scrollY") == 0
    frame = measured.locator(FRAME).bounding_box()
    assert frame["y"] < 300
    assert frame["height"] > 900  # as high as what is in it


def test_the_first_picture_needs_no_attacker_and_the_page_stays_where_it_was_scrolled_to(opened):
    with opened(height=400) as page:
        go(page, "1. Files")
        page.locator("#take-example").click()
        page.locator("#read table").wait_for()
        check(page)
        trials(page, 20)  # which take a while
        page.locator("#measure").click()
        page.frame_locator(FRAME).locator("svg:visible").first.wait_for()
        first = page.locator(FRAME).get_attribute("src")
        assert page.locator("#cancel").is_visible()
        assert not page.locator("#downloads").is_visible()
        page.evaluate("scrollTo(0, 600)")
        seen = page.locator(FRAME).bounding_box()["y"]
        page.locator("#downloads").wait_for()
        page.locator("#cancel").wait_for(state="hidden")
        assert page.locator(FRAME).get_attribute("src") != first
        settled(page)
        assert page.locator(FRAME).bounding_box()["y"] == pytest.approx(seen, abs=2)


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_every_step_can_be_used_with_a_screen_reader_and_fits(measured, width, scheme):
    measured.set_viewport_size({"width": width, "height": 900})
    measured.emulate_media(color_scheme=scheme)
    for name in ("Example", "1. Files", "2. Check", "3. Result"):
        go(measured, name)
        settled(measured)
        found = axe_violations(measured)
        assert [one for one in found if one.split()[0] not in OF_GRADIO] == [], name
        assert not too_wide(measured), name


def test_the_back_button_goes_to_the_step_before_and_a_loaded_page_is_as_it_was(opened, files):
    with opened(reloaded=True) as page:
        page.locator("#own").click()
        drop(page, *files.values())
        check(page)
        measure(page)
        page.go_back()
        page.get_by_role("tab", name="2. Check", selected=True).wait_for()
        page.go_back()
        page.get_by_role("tab", name="1. Files", selected=True).wait_for()
        page.go_forward()
        page.go_forward()
        page.get_by_role("tab", name="3. Result", selected=True).wait_for()
        source = page.locator(FRAME).get_attribute("src")
        page.reload()
        page.get_by_role("tab", name="3. Result", selected=True).wait_for()
        page.locator(FRAME).wait_for()
        assert page.locator(FRAME).get_attribute("src") == source
        # Other data: nothing is left of what was found in the first ones.
        go(page, "1. Files")
        page.locator("#take-example").click()
        page.locator("#read").get_by_text("biased").wait_for()
        assert page.get_by_role("tab", name="3. Result").is_disabled()
        assert page.locator(FRAME).count() == 0
        assert "people.csv" not in page.locator("#upload").inner_text()


def test_a_column_that_was_guessed_wrong_is_corrected_once(opened, write):
    planted = plant(240, captions=1)
    skin = ["light", "dark", "dark"] * 80
    texts = [
        f"{'white' if tone == 'light' else 'black'} {text}"
        for tone, text in zip(skin, planted.predictions, strict=True)
    ]
    columns = {"id": range(240), "caption": texts, "references": [text for [text] in planted.references]}
    labels = {"gender": ["a", "a", "b", "b"] * 60, "person": planted.attributes, HOSTILE: skin}
    with opened() as page:
        drop(page, write("one.csv", {**columns, **labels}))
        check(page)
        page.locator("#summary").get_by_text("120 a, 120 b").wait_for()
        choose(page, "Label of each image", "person")
        page.locator("#summary").get_by_text("120 female, 120 male").wait_for()
        page.locator("#summary").click()  # leaves a field, of which gradio tells as of a choice
        quiet(page)
        assert page.locator("#summary").get_by_text("120 female, 120 male").is_visible()
        choose(page, "Label of each image", HOSTILE)
        page.locator("#summary").get_by_text("160 dark, 80 light").wait_for()
        page.locator("#measure:enabled").wait_for()
        settled(page)
        assert page.locator("#summary [role=alert]").count() == 0
        assert page.get_by_text("Error", exact=True).count() == 0
        assert page.get_by_test_id("toast-text").count() == 0
        assert page.locator("img[src='x']").count() == 0


def test_a_file_is_what_the_user_says_it_is(opened, files):
    with opened() as page:
        drop(page, *files.values())
        choose(page, "Labels of the images", "people.csv")
        page.locator("#read tr", has_text="people.csv").get_by_text("labels").wait_for()
        choose(page, "Captions of captioners, one file each", "sat.csv")  # chosen before: now it is not
        page.locator("#read tr", has_text="sat.csv").get_by_text("not used").wait_for()
        assert page.locator("#read [role=alert]").count() == 0
        choose(page, "Labels of the images", "(none)")
        page.locator("#read [role=alert]").get_by_text("none of these files has labels of the images").wait_for()
        page.locator("#next:disabled").wait_for()


def test_what_is_missing_or_not_a_table_is_told_in_plain_words(opened, write, tmp_path):
    columns = {
        "image_id": range(IMAGES),
        "caption": ["a man waits"] * IMAGES,
        "note": ["female", "male"] * (IMAGES // 2),
        "other": ["a", "b"] * (IMAGES // 2),
    }
    with opened() as page:
        page.locator("#own").click()
        assert page.locator("#next").is_disabled()
        drop(page, write("nic.csv", columns))
        page.locator("#next").click()
        reason = "no attribute is chosen: choose the column of the labels below, such as each person's gender"
        page.locator("#summary [role=alert]").get_by_text(reason).wait_for()
        assert page.locator("#measure").is_disabled()
        assert page.get_by_label("Label of each image").is_visible(), "what has to be corrected is folded away"
        page.get_by_role("tab", name="2. Check").press("ArrowLeft")
        assert shown_step(page) == "1. Files"
        login = tmp_path / "people.csv"
        login.write_text("<!DOCTYPE html><title>Sign in</title>")
        page.locator("#upload input[type=file]").first.set_input_files(login)
        told = "people.csv has no rows of text or numbers: give a table of image ids and captions"
        page.locator("#read [role=alert]").get_by_text(told).wait_for()
        # Nothing is left that could be measured in its place.
        assert page.locator("#next").is_disabled()
        assert page.get_by_role("tab", name="2. Check").is_disabled()
        page.get_by_label("Remove this file").or_(page.locator("#upload .label-clear-button")).last.click()
        page.locator("#read table").wait_for()
        assert page.locator("#next").is_enabled()


def test_everything_is_done_by_keyboard_and_what_has_the_focus_is_seen(opened, files):
    with opened() as page:
        page.locator("#own").wait_for()

        def tab_to(where: str) -> None:
            for _ in range(60):
                page.keyboard.press("Tab")
                if page.evaluate("where => document.activeElement.matches(where)", where):
                    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                    assert outline != "none", where
                    return
            raise AssertionError(f"{where} cannot be reached")

        tab_to("#own")
        page.keyboard.press("Enter")
        page.get_by_role("tab", name="1. Files", selected=True).wait_for()
        assert page.evaluate("document.activeElement.dataset.tabId") == "files"
        page.locator("#upload input[type=file]").wait_for(state="attached")
        settled(page)
        tab_to("#upload button")
        page.locator("#upload input[type=file]").set_input_files(list(files.values()))
        page.locator("#next:enabled").wait_for()
        tab_to("#next")
        page.keyboard.press("Enter")
        page.get_by_role("tab", name="2. Check", selected=True).wait_for()
        tab_to("#measure")
        page.keyboard.press("Enter")
        page.locator("#downloads").wait_for()
        tab_to("#result-frame a")
        tab_to("#downloads a")


def test_hostile_names_labels_and_captions_are_shown_and_never_run(opened, write, tmp_path):
    """In the steps before the result; `tests/report` has that."""
    faithful, biased = plant(120, captions=1), plant(120, captions=1, a_to_t=0.9)
    labels = [HOSTILE if label == "male" else "=1+1" for label in faithful.attributes]
    columns = {
        "image_id": [f"{PICTURE} {number} {HOSTILE}" for number in range(120)],
        "caption": faithful.predictions,
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
        drop(page, write(name, columns))
        check(page)
        for name in (f"=cmd() {HOSTILE}", PICTURE):
            choose(page, "The captioner's captions", name)
        page.locator("#summary [role=alert], #summary li", has_text="img src=x").first.wait_for()
        assert page.locator("img[src='x'], img[src*=example], a[href*=example]").count() == 0

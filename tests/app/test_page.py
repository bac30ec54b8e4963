"""The page as a person sees it, in a real browser: from files to the result, by several runs, tabs and lost lines."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from captionbias.synthetic import plant
from tests.app.conftest import IMAGES, Served, write_csv
from tests.browser import NEEDS_BROWSER, axe_violations, new_page, quiet, settled, too_wide, watched

pytestmark = NEEDS_BROWSER

FRAME = "#result-frame iframe"
HOSTILE = "<img src=x onerror=\"document.title='run'\">"
PICTURE = "![a](http://example.invalid/a.png)"
PART = "This result is not whole: it is Sway alone; the rest"
# What gradio logs when a page is left, or loaded again, while the server's stream is open.
OF_LEAVING = ("AbortError: signal is aborted without reason", "Unexpected error Connection errored out.")
# What axe-core finds in gradio's own components, which a page cannot reach.
OF_GRADIO = {"nested-interactive": "the button that adds files has the file input in it"}
Open = Callable[..., AbstractContextManager[Any]]


@pytest.fixture(scope="module")
def opened(chromium: Any, served: Served) -> Open:
    """Opens the page; whatever is done there, nothing goes wrong in it and nobody else is asked for anything."""

    @contextmanager
    def open_page(width: int = 1440, height: int = 900, reloaded: bool = False) -> Iterator[Any]:
        page = new_page(chromium, viewport={"width": width, "height": height})
        asked, wrong = watched(page)
        page.goto(served.url)
        page.get_by_role("tab", name="1. Files").wait_for()
        title = page.title()
        yield page
        assert [url for url in asked if not url.startswith((served.url, "data:", "blob:"))] == []
        assert [text for text in wrong if not (reloaded and text.startswith(OF_LEAVING))] == []
        assert page.title() == title
        page.context.close()

    return open_page


@pytest.fixture
def go_on(served: Served) -> Iterator[Callable[[], None]]:
    """Runs do not become whole before this is called."""
    (served.folder / "go").unlink()
    yield (served.folder / "go").touch
    (served.folder / "go").touch()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, files: dict[str, Path]) -> list[list[Path]]:
    """Two captioners, both in a file of the same name, with people's captions beside them."""
    folder = tmp_path_factory.mktemp("captioners")
    columns = [{"image_id": range(IMAGES), "caption": plant(IMAGES, a_to_t=dial).predictions} for dial in (0.0, 0.9)]
    return [[write_csv(folder / f"{n}" / "mymodel.csv", one), files["people"]] for n, one in enumerate(columns)]


def drop(page: Any, *paths: Path) -> None:
    """Give these files in the first step, and wait until they are read."""
    go(page, "1. Files")
    before = page.url
    page.locator("#upload input[type=file]").last.set_input_files(list(paths))
    page.wait_for_url(lambda url: url != before)  # they are another run
    page.locator("#read table").wait_for()


def go(page: Any, step: str) -> None:
    tab = page.get_by_role("tab", name=step)
    tab.hover()  # a frame in the page is a process of its own, which takes clicks until it knows that it moved
    settled(page)
    tab.click()
    reached(page, step)


def reached(page: Any, step: str) -> None:
    page.get_by_role("tab", name=step, selected=True).wait_for()


def check(page: Any) -> None:
    """Go to the second step, and unfold everything."""
    page.locator("#next").click()
    page.locator("#summary > :not(.hide)").first.wait_for()
    for name in ("Columns: correct what was guessed", "Metrics, trials and seed"):
        for fold in page.get_by_role("button", name=name).all():
            if "open" not in (fold.get_attribute("class") or ""):
                fold.click()


def choose(page: Any, label: str, option: str) -> None:
    box = page.get_by_label(label, exact=True)
    box.click()
    page.locator(f"#{box.get_attribute('aria-controls')}").get_by_role("option", name=option, exact=True).click()
    box.press("Tab")


def measure(page: Any, *paths: Path, until: str = "#cancel") -> str:
    """Measure these files, or those that are there; gives the address of the run."""
    if paths:
        drop(page, *paths)
        page.locator("#next").click()
    page.locator("#measure:enabled").click()
    page.locator(until).wait_for()
    return str(page.url)


def part(page: Any) -> Any:
    """Wait for the first picture."""
    page.frame_locator(FRAME).locator("details.row").first.wait_for()
    return page.locator("#status")


def digest(page: Any) -> str:
    """What tells the captioner's file of the result apart, as it is shown."""
    return str(page.locator("#runs tbody tr", has_text="this one").locator("small").first.inner_text())


def tab_to(page: Any, where: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("where => document.activeElement.matches(where)", where):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", where
            return
    raise AssertionError(f"{where} cannot be reached")


@pytest.fixture(scope="module")
def measured(opened: Open, files: dict[str, Path]) -> Iterator[Any]:
    """The page after two captioners were measured with everything, by keyboard alone."""
    with opened(reloaded=True) as page:
        page.locator("#own").wait_for()
        tab_to(page, "#own")
        page.keyboard.press("Enter")
        reached(page, "1. Files")
        assert page.evaluate("document.activeElement.dataset.tabId") == "files"
        page.locator("#upload input[type=file]").wait_for(state="attached")
        settled(page)
        tab_to(page, "#upload button")
        page.locator("#upload input[type=file]").set_input_files(list(files.values()))
        page.locator("#next:enabled").wait_for()
        tab_to(page, "#next")
        page.keyboard.press("Enter")
        reached(page, "2. Check")
        tab_to(page, "#measure")
        page.keyboard.press("Enter")
        page.locator("#downloads").wait_for()
        yield page


def test_the_first_screen_shows_an_example_of_which_nothing_is_kept(opened, served):
    trained = sorted((served.folder / "cache").rglob("*"))
    with opened() as page:
        example = page.frame_locator("iframe[src='example']")
        picture, answer = example.locator(".rows .row").first, example.locator("h1")
        for width, height in ((1440, 900), (1000, 800), (390, 844)):
            page.set_viewport_size({"width": width, "height": height})
            picture.wait_for()
            settled(page)
            assert 0 < answer.bounding_box()["y"] < height * 0.75
            assert answer.bounding_box()["y"] < picture.bounding_box()["y"] < height
            assert page.locator("#own").is_visible()
            assert page.locator("#steps").bounding_box()["width"] > 0.8 * min(width, 1152)
        for tab in ("2. Check", "3. Result"):
            assert page.get_by_role("tab", name=tab).is_disabled()
    assert sorted((served.folder / "cache").rglob("*")) == trained


def test_everything_is_done_by_keyboard_and_files_are_sorted_out_and_measured_in_three_steps(measured):
    rows = measured.locator("#read tbody tr").all_text_contents()
    assert [row.split("csv")[1][:10] for row in rows] == ["a captione", "a captione", "people's c"]
    assert "240 images" in measured.locator("#summary").text_content()
    assert measured.get_by_label("common.upload").count() == 0
    reached(measured, "3. Result")
    result = measured.frame_locator(FRAME)
    result.get_by_text(re.compile("more than people")).locator("visible=true").first.wait_for()
    measured.locator("#cancel").wait_for(state="hidden")
    assert measured.evaluate("scrollY") == 0
    frame = measured.locator(FRAME).bounding_box()
    assert frame["y"] < 300
    assert frame["height"] > 900  # as high as what is in it, also once that grows
    result.locator("details.row summary").first.click()
    measured.wait_for_function(f"document.querySelector('{FRAME}').clientHeight > {frame['height']}")
    tab_to(measured, "#result-frame a")
    tab_to(measured, "#downloads a")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_every_step_can_be_used_with_a_screen_reader_and_fits(measured, width, scheme):
    measured.reload()
    reached(measured, "3. Result")
    measured.set_viewport_size({"width": width, "height": 900})
    measured.emulate_media(color_scheme=scheme)
    for name in ("Example", "1. Files", "2. Check", "3. Result"):
        go(measured, name)
        settled(measured)
        found = axe_violations(measured)
        assert [one for one in found if one.split()[0] not in OF_GRADIO] == [], name
        assert not too_wide(measured), name


def test_the_back_button_goes_to_the_step_before_and_a_loaded_page_is_as_it_was(measured):
    for step in ("1. Files", "2. Check", "3. Result"):
        go(measured, step)
    for step in ("2. Check", "1. Files"):
        measured.go_back()
        reached(measured, step)
    measured.go_forward()
    measured.go_forward()
    reached(measured, "3. Result")
    source = measured.locator(FRAME).get_attribute("src")
    measured.reload()
    reached(measured, "3. Result")
    measured.locator(FRAME).wait_for()
    assert measured.locator(FRAME).get_attribute("src") == source
    # Other data: nothing is left of what was found in the first ones.
    go(measured, "1. Files")
    measured.locator("#take-example").click()
    measured.locator("#read").get_by_text("biased").wait_for()
    assert measured.get_by_role("tab", name="3. Result").is_disabled()
    assert measured.locator(FRAME).count() == 0
    assert "people.csv" not in measured.locator("#upload").inner_text()


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
    labels = {"note": ["female", "male"] * (IMAGES // 2), "other": ["a", "b"] * (IMAGES // 2)}
    with opened() as page:
        page.locator("#own").click()
        assert page.locator("#next").is_disabled()
        drop(page, write("nic.csv", {"image_id": range(IMAGES), "caption": ["a man waits"] * IMAGES} | labels))
        page.locator("#next").click()
        reason = "no attribute is chosen: choose the column of the labels below, such as each person's gender"
        page.locator("#summary [role=alert]").get_by_text(reason).wait_for()
        assert page.locator("#measure").is_disabled()
        assert page.get_by_label("Label of each image").is_visible(), "what has to be corrected is folded away"
        page.get_by_role("tab", name="2. Check").press("ArrowLeft")
        reached(page, "1. Files")
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


def test_columns_are_corrected_once_and_hostile_names_labels_and_captions_never_run(opened, write):
    """In the steps before the result; `tests/report` has that."""
    faithful, biased = plant(IMAGES, captions=1), plant(IMAGES, captions=1, a_to_t=0.9)
    columns = {
        "image_id": [f"{PICTURE} {number} {HOSTILE}" for number in range(IMAGES)],
        "caption": faithful.predictions,
        f"=cmd() {HOSTILE}": [f"{text} {HOSTILE} =cmd()" for text in faithful.predictions],
        PICTURE: [f"{text} {PICTURE} </textarea><script>document.title='run'</script>" for text in biased.predictions],
        "references": [text for [text] in faithful.references],
        "gender": ["a", "a", "b", "b"] * (IMAGES // 4),
        "person": faithful.attributes,
        HOSTILE: [HOSTILE if label == "male" else "=1+1" for label in faithful.attributes],
        "note": [f"{HOSTILE} {PICTURE}"] * IMAGES,
    }
    with opened() as page:
        drop(page, write("<img src=x onerror=document.title=1>.csv", columns))
        check(page)
        summary = page.locator("#summary")
        summary.get_by_text("120 a, 120 b").wait_for()
        choose(page, "Label of each image", "person")
        summary.get_by_text("120 female, 120 male").wait_for()
        summary.click()  # leaves a field, of which gradio tells as of a choice
        quiet(page)
        assert summary.get_by_text("120 female, 120 male").is_visible()
        for name in (f"=cmd() {HOSTILE}", PICTURE):
            choose(page, "The captioner's captions", name)
        choose(page, "Label of each image", HOSTILE)
        summary.get_by_text("120 =1+1").wait_for()
        page.locator("#summary [role=alert], #summary li", has_text="img src=x").first.wait_for()
        settled(page)
        assert page.get_by_text("Error", exact=True).count() == page.get_by_test_id("toast-text").count() == 0
        assert page.locator("img[src='x'], img[src*=example], a[href*=example]").count() == 0


def test_other_files_during_a_run_are_another_run_with_a_result_of_its_own_to_compare(
    opened, served, two, write, go_on
):
    with opened(reloaded=True) as page:
        first = measure(page, *two[0])
        part(page).get_by_text(f"{PART} is still being measured").wait_for()
        of_first = digest(page)
        drop(page, *two[1])
        assert page.get_by_role("tab", name="3. Result").is_disabled(), "the draft has no result"
        assert page.url != first
        page.locator("#next").click()
        second = measure(page)
        page.locator("#progress").get_by_text("Waiting: 1 run before this one.").wait_for()
        assert page.locator(FRAME).count() == 0
        go_on()
        page.locator("#downloads").wait_for()
        assert page.url == second
        assert digest(page) != of_first
        # The list leads back to the first, which is whole, too, once it says that the second is.
        page.locator("#runs tbody tr", has_text="this one").get_by_text("done").wait_for()
        link = page.locator("#runs tbody tr", has_text="show it").locator("a").get_attribute("href")
        page.goto(urljoin(served.url, link))
        page.locator("#downloads").wait_for()
        assert (page.url, digest(page)) == (first, of_first)
        go(page, "1. Files")
        assert "mymodel" in page.locator("#upload").inner_text(), "its own files, to which others can be added"
        # The captioners of an earlier run are measured beside this one's.
        page.locator("#compare").press("Enter")
        page.locator("#compared [role=alert]").get_by_text("choose the earlier run to compare with").wait_for()
        compare_with_first(page)
        page.locator("#summary").get_by_text(re.compile(r"mymodel, mymodel \(\d\d:\d\d UTC\)")).wait_for()
        measure(page, until="#downloads")
        result = page.frame_locator(FRAME)
        assert result.locator("details.row .name").count() == 2
        result.get_by_role("heading", name=re.compile(r"fewer of 100|No difference between mymodel")).wait_for()
        result.locator(".row.gap").get_by_text("chance").first.wait_for()
        # Of captions of other images there is nothing to compare.
        columns = {"image_id": [f"other {number}" for number in range(IMAGES)], "caption": ["a man"] * IMAGES}
        drop(page, write("other.csv", columns | {"gender": ["female", "male"] * (IMAGES // 2)}))
        compare_with_first(page)
        page.locator("#compared [role=alert]").get_by_text("have no image in common").wait_for()


def compare_with_first(page: Any) -> None:
    page.get_by_label("An earlier run").click()
    page.get_by_role("option").last.click()
    page.locator("#compare").press("Enter")


def test_a_run_goes_on_through_a_reload_and_in_a_second_tab_which_can_cancel_it(opened, two, go_on):
    with opened(reloaded=True) as page:
        address = measure(page, *two[0])
        part(page)
        page.reload()
        part(page).get_by_text(f"{PART} is still being measured").wait_for()
        page.locator("#progress").get_by_text("held").wait_for()
        second = page.context.new_page()
        second.goto(address.replace("?run=", "run/"))
        part(second)
        assert second.url == address
        second.locator("#cancel").click()
        for shown in (second, page):
            shown.locator("#status").get_by_text("Cancelled.").wait_for()
            shown.locator("#status").get_by_text(f"{PART} is not measured").wait_for()
            assert not shown.locator("#downloads").is_visible()
            assert shown.locator(FRAME).count() == 1, "the first picture stays"
        # Another that is cancelled as soon as it can be, whether or not it works yet.
        page.locator("#again").click()
        page.locator("#cancel").click()
        page.locator("#again").wait_for()
        go(page, "2. Check")
        assert page.locator("#measure").is_enabled()


def test_new_files_after_a_reload_are_what_is_measured(opened, two, write):
    planted = plant(IMAGES, captions=2)
    columns = {"image_id": range(IMAGES), "caption": planted.predictions, "gender": planted.attributes}
    with opened(reloaded=True) as page:
        measure(page, *two[0], until="#downloads")
        before = digest(page)
        page.reload()
        go(page, "1. Files")
        page.locator("#upload").get_by_label("Clear").click()
        page.locator("#read table").wait_for(state="detached")
        page.locator("#upload input[type=file]").set_input_files(write("alone.csv", columns))
        page.locator("#next").click()  # at once, in vain: the files are on their way
        page.locator("#read").get_by_text("alone.csv").wait_for(state="attached")
        go(page, "2. Check")
        page.locator("#summary").get_by_text("alone").wait_for()
        measure(page, until="#downloads")
        assert digest(page) != before
        assert "alone.csv" in page.locator("#downloads").inner_text()


def test_the_first_picture_needs_no_attacker_and_the_page_stays_where_it_was_scrolled_to(opened, two, go_on):
    with opened(height=400) as page:
        measure(page, *two[0])
        part(page)
        first = page.locator(FRAME).get_attribute("src")
        assert not page.locator("#downloads").is_visible()
        assert page.locator("#progress progress").bounding_box()["height"] == 3
        assert (
            page.locator("#progress p").inner_text().startswith("The rest is being measured, and may change verdicts:")
        )
        assert page.locator("#state").bounding_box()["height"] < 60, "a line and a sentence with its link"
        page.evaluate("scrollTo(0, 600)")
        seen = page.locator(FRAME).bounding_box()["y"]
        go_on()
        page.locator("#downloads").wait_for()
        page.locator("#cancel").wait_for(state="hidden")
        assert page.locator("#progress, #status").all_inner_texts() == ["Done.", ""]
        assert page.locator(FRAME).get_attribute("src") != first
        settled(page)
        assert page.locator(FRAME).bounding_box()["y"] == pytest.approx(seen, abs=2)


def test_a_lost_connection_ends_no_run(chromium, served, two, go_on):
    page = new_page(chromium)
    page.goto(served.url)
    address = measure(page, *two[0])
    page.context.set_offline(True)
    page.wait_for_timeout(2000)
    page.context.set_offline(False)
    go_on()
    page.locator("#downloads").wait_for()
    assert page.url == address
    page.context.close()


def test_a_run_that_no_page_shows_is_cancelled_and_says_so_to_who_comes_back(chromium, served, two, go_on):
    """By a page that is closed, or has lost its connection."""
    closed, lost = new_page(chromium), new_page(chromium)
    addresses = []
    for page in (closed, lost):
        page.goto(served.url)
        addresses.append(measure(page, *two[0]))
    back = closed.context.new_page()
    closed.close()
    lost.context.set_offline(True)
    (served.folder / "brief").touch()
    time.sleep(3)
    (served.folder / "brief").unlink()
    lost.context.set_offline(False)
    for page, address in zip((back, lost.context.new_page()), addresses, strict=True):
        page.goto(address)
        page.locator("#status").get_by_text("Cancelled: no page showed this run for 2 s.").wait_for()
        page.locator("#again").wait_for()
        page.context.close()

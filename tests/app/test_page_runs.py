"""What the page shows is one run's, in a real browser: on its way, after a reload, in a second tab, and later."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from captionbias.synthetic import plant
from tests.app.conftest import IMAGES, Served, ended, start, write_csv
from tests.app.pages import FRAME, drop, go, opens
from tests.browser import NEEDS_BROWSER

pytestmark = NEEDS_BROWSER

WAITED = 3.0  # seconds after which a run is cancelled that no page shows, where that is tested
PART = "This result is not whole: it is Sway alone; the rest"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, files: dict[str, Path]) -> dict[str, list[Path]]:
    """Two captioners, both in a file of the same name, with people's captions beside them."""
    made = {}
    for name, dial in (("A", 0.0), ("B", 0.9)):
        columns = {"image_id": range(IMAGES), "caption": plant(IMAGES, captions=2, a_to_t=dial).predictions}
        made[name] = [write_csv(tmp_path_factory.mktemp(name) / "mymodel.csv", columns), files["people"]]
    return made


def held(folder: Path, unseen: float) -> Iterator[Served]:
    page = start(folder, "tests.app.held_page", str(unseen), CAPTIONBIAS_CACHE=folder / "cache")
    yield page
    ended(page)


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from held(tmp_path_factory.mktemp("patient"), 600)


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from held(tmp_path_factory.mktemp("brief"), WAITED)


@pytest.fixture
def go_on(patient: Served) -> Iterator[Callable[[], None]]:
    """Lets the runs on the patient page become whole."""
    (patient.folder / "go").unlink(missing_ok=True)
    yield (patient.folder / "go").touch
    (patient.folder / "go").touch()


def ask(page: Any, *paths: Path, while_working: str = "#cancel") -> str:
    """Measure these files; gives the address of the run."""
    if paths:
        drop(page, *paths)
        page.locator("#next").click()
    page.locator("#measure:enabled").click()
    page.locator(while_working).wait_for()
    return str(page.url)


def part(page: Any) -> Any:
    """Wait for the first picture."""
    page.frame_locator(FRAME).locator("svg:visible").first.wait_for()
    return page.locator("#status")


def digest(page: Any, where: str) -> str:
    """What tells the captioner's file apart, as it is shown."""
    return str(page.locator(f"{where} small").first.inner_text())


def test_other_files_during_a_run_are_another_run_and_each_has_its_own_result(chromium, patient, folders, go_on):
    with opens(chromium, patient)(reloaded=True) as page:
        first = ask(page, *folders["A"])
        part(page).get_by_text(f"{PART} is still being measured").wait_for()
        of_first = digest(page, "#result-frame")
        drop(page, *folders["B"])
        assert page.get_by_role("tab", name="3. Result").is_disabled(), "the draft has no result"
        assert page.url != first
        page.locator("#next").click()
        second = ask(page)
        page.locator("#progress").get_by_text("Waiting: 1 run before this one.").wait_for()
        assert page.locator(FRAME).count() == 0
        go_on()
        page.locator("#downloads").wait_for()
        assert page.url == second
        assert digest(page, "#result-frame") != of_first
        # The list leads back to the first, which is whole, too, once it says that the second is.
        page.locator("#runs tbody tr", has_text="this one").get_by_text("done").wait_for()
        link = page.locator("#runs tbody tr", has_text="show it").locator("a").get_attribute("href")
        page.goto(urljoin(patient.url, link))
        assert page.url == first
        page.locator("#downloads").wait_for()
        assert digest(page, "#result-frame") == of_first
        go(page, "1. Files")
        assert "mymodel" in page.locator("#upload").inner_text(), "its own files, to which others can be added"


def test_a_run_goes_on_through_a_reload_and_in_a_second_tab_which_can_cancel_it(chromium, patient, folders, go_on):
    with opens(chromium, patient)(reloaded=True) as page:
        address = ask(page, *folders["A"])
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


def test_new_files_after_a_reload_are_what_is_measured(chromium, patient, folders, go_on):
    go_on()
    planted = plant(IMAGES, captions=2)
    columns = {"image_id": range(IMAGES), "caption": planted.predictions, "gender": planted.attributes}
    alone = write_csv(folders["A"][0].parent / "alone.csv", columns)
    with opens(chromium, patient)(reloaded=True) as page:
        ask(page, *folders["A"], while_working="#downloads")
        before = digest(page, "#result-frame")
        page.reload()
        go(page, "1. Files")
        page.locator("#upload").get_by_label("Clear").click()
        page.locator("#read table").wait_for(state="detached")
        page.locator("#upload input[type=file]").set_input_files(alone)
        page.locator("#next").click()  # at once, in vain: the files are on their way
        page.locator("#read").get_by_text("alone.csv").wait_for(state="attached")
        go(page, "2. Check")
        page.locator("#summary").get_by_text("alone").wait_for()
        ask(page, while_working="#downloads")
        assert digest(page, "#result-frame") != before
        assert "alone.csv" in page.locator("#result-frame").inner_text()


def test_an_earlier_run_s_captioners_are_measured_beside_this_one_s(chromium, patient, folders, go_on):
    go_on()
    with opens(chromium, patient)() as page:
        ask(page, *folders["A"], while_working="#downloads")
        ask(page, *folders["B"], while_working="#downloads")
        page.locator("#compare").press("Enter")
        page.locator("#compared [role=alert]").get_by_text("choose the earlier run to compare with").wait_for()
        compare_with_first(page)
        page.locator("#summary").get_by_text("mymodel, mymodel (2)").wait_for()
        ask(page, while_working="#downloads")
        result = page.frame_locator(FRAME)
        for name in ("mymodel", "mymodel (2)"):
            result.get_by_text(name, exact=True).first.wait_for(state="attached")
        # Of captions of other images there is nothing to compare.
        columns = {"image_id": [f"other {number}" for number in range(IMAGES)], "caption": ["a man"] * IMAGES}
        labels = {"gender": ["female", "male"] * (IMAGES // 2)}
        drop(page, write_csv(folders["B"][0].parent / "other.csv", columns | labels))
        compare_with_first(page)
        page.locator("#compared [role=alert]").get_by_text("have no image in common").wait_for()


def compare_with_first(page: Any) -> None:
    page.get_by_label("An earlier run").click()
    page.get_by_role("option").last.click()
    page.locator("#compare").press("Enter")


@pytest.mark.parametrize("how", ["closed", "offline"])
def test_a_run_that_no_page_shows_is_cancelled_and_says_so_to_who_comes_back(chromium, brief, folders, how):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(brief.url)
    address = ask(page, *folders["A"])
    page.close() if how == "closed" else context.set_offline(True)
    time.sleep(WAITED + 1)
    context.set_offline(False)
    back = context.new_page() if how == "closed" else page
    back.goto(address)
    back.locator("#status").get_by_text("Cancelled: no page showed this run for 3 s.").wait_for()
    back.locator("#again").wait_for()
    context.close()


def test_a_lost_connection_ends_no_run(chromium, patient, folders, go_on):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(patient.url)
    address = ask(page, *folders["A"])
    context.set_offline(True)
    page.wait_for_timeout(2000)
    context.set_offline(False)
    go_on()
    page.locator("#downloads").wait_for()
    assert page.url == address
    context.close()

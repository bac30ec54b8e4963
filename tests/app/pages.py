"""The page in a real browser, for tests: opened, given files, and its steps gone to."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from tests.browser import new_page, settled, watched

FRAME = "#result-frame iframe"
# What gradio logs when a page is left, or loaded again, while the server's stream is open.
OF_LEAVING = ("AbortError: signal is aborted without reason", "Unexpected error Connection errored out.")
Open = Callable[..., AbstractContextManager[Any]]


def opens(chromium: Any, served: Any) -> Open:
    """Opens the page; whatever is done there, nothing goes wrong in it and nobody else is asked for anything."""

    @contextmanager
    def open_page(width: int = 1440, height: int = 900, reloaded: bool = False, **options: Any) -> Iterator[Any]:
        page = new_page(chromium, viewport={"width": width, "height": height}, accept_downloads=True, **options)
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


def drop(page: Any, *paths: Path) -> None:
    """Give these files in the first step, and wait until they are read."""
    go(page, "1. Files")
    before = page.url
    page.locator("#upload input[type=file]").last.set_input_files(list(paths))
    page.wait_for_url(lambda url: url != before)  # they are another run
    page.locator("#read table").wait_for()


def go(page: Any, step: str) -> None:
    """Go to a step by its tab."""
    tab = page.get_by_role("tab", name=step)
    tab.hover()  # a frame in the page is a process of its own, which takes clicks until it knows that it moved
    settled(page)
    tab.click()
    page.get_by_role("tab", name=step, selected=True).wait_for()

"""A real browser for the tests: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.patience import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDS_BROWSER = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: apt install chromium, to test pages in a real browser"
)
# It looks for updates and the like otherwise; in a container it runs as root.
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=1000 * PATIENCE)
        try:
            yield chromium
        finally:
            chromium.close()


def new_page(chromium: Any, **options: Any) -> Any:
    """A page with cookies and a size of its own, which waits as long as tests wait."""
    context = chromium.new_context(**options)
    context.set_default_timeout(1000 * PATIENCE)
    return context.new_page()


def settled(page: Any) -> None:
    """Wait until what was clicked or scrolled to has been drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")


def quiet(page: Any) -> None:
    """Wait until the page has asked for nothing for a second: gradio tells of one choice several times."""
    asked: list[Any] = []
    before = -1
    page.on("request", lambda request: asked.append(request))
    while len(asked) > before:
        before = len(asked)
        page.wait_for_timeout(1000)


def watched(page: Any) -> tuple[list[str], list[str]]:
    """What a page asks for, and what goes wrong in it, as it happens."""
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    return asked, wrong


def too_wide(page: Any) -> bool:
    """Whether the page has to be scrolled sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def axe_violations(page: Any) -> list[str]:
    """What axe-core finds seriously or critically wrong in a page, without its frames, for people who use a keyboard, a
    screen reader or large print."""
    from axe_core_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"], "iframes": 0})["violations"]
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {node['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]

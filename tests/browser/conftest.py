"""Starts the real app once and drives it in headless Chromium.

Skipped, by name, where there is no Chromium.
"""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from benchmarks.server.visitor import running_app

PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)  # a busy machine is not a broken page
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# what no words of a stranger's may become, looked for in the page's own part
THEIRS = (
    'a[href*="evil" i], img[src*="evil" i], a[href^="mailto"], .katex, '
    '[data-testid="stMain"] b, [data-testid="stMain"] s'
)


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    # nothing may leave this machine: a download ends at a closed port
    closed = "http://127.0.0.1:9"
    with running_app(
        tmp_path_factory.mktemp("app"), HTTPS_PROXY=closed, HTTP_PROXY=closed, NO_PROXY="127.0.0.1"
    ) as app:
        yield app.url
        log = app.log.read_text()
        for alarm in ("Traceback", "missing ScriptRunContext"):
            assert alarm not in log, log[-3000:]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if chromium is None:
        pytest.skip("needs Chromium (Debian's package chromium) on the PATH")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        running.on("context", lambda context: context.set_default_timeout(PATIENCE))
        yield running
        running.close()


@pytest.fixture(scope="session")
def desktop(browser: Browser) -> Iterator[BrowserContext]:
    """One profile for all: scripts are fetched once.

    Each page in it is a session of its own all the same.
    """
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context
    context.close()


@pytest.fixture
def page(desktop: BrowserContext) -> Iterator[Page]:
    opened = desktop.new_page()
    yield opened
    opened.close()


@pytest.fixture
def nothing_from_strangers(page: Page) -> Iterator[None]:
    """The page asks for no address of a stranger's, and in the end shows nothing of theirs but
    words.
    """
    addresses, dialogs = list[str](), list[str]()
    page.on("request", lambda request: addresses.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    yield
    assert not [url for url in addresses if "evil" in url.lower()]
    assert dialogs == []
    theirs = page.locator(THEIRS)
    assert theirs.count() == 0, theirs.first.evaluate("e => e.outerHTML")

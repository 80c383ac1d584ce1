"""The page in headless Chromium, by keyboard and by mouse."""

import shutil
from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from lev_plugins.serving.context import Context
from lev_plugins.serving.limits import Access
from tests.serving import Client, FakeEditor, models, serving

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
DRIVER = shutil.which("chromedriver")
MISSING = CHROMIUM is None or DRIVER is None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(MISSING, reason="there is no chromium or no chromedriver (on Debian: chromium-driver)"),
]

CHROMIUM_FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server"),
]
PAGE_TEXT = "teh 😀 cat <b>tset</b>\nI saw hat"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*CHROMIUM_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def draft_server() -> Iterator[Client]:
    with serving(Context(models(FakeEditor(drafts=True), FakeEditor())), seconds=20) as client:
        yield client


class Page:
    def __init__(self, browser: webdriver.Chrome, client: Client, ready: bool = True):
        self.browser = browser
        browser.get_log("browser")
        browser.get(f"http://127.0.0.1:{client.port}/")
        if ready:
            self.wait(lambda: self.find("model").text)

    def find(self, name: str) -> WebElement:
        return self.browser.find_element(By.ID, name)

    def wait(self, condition: object) -> object:
        return WebDriverWait(self.browser, 10).until(lambda _: condition())  # type: ignore[operator]

    def write(self, text: str) -> None:
        self.browser.execute_script("arguments[0].value = arguments[1]", self.find("text"), text)

    def text(self) -> str:
        return str(self.find("text").get_property("value"))

    def says(self, text: str) -> None:
        self.wait(lambda: text in self.find("said").text)

    def edits(self) -> list[str]:
        return [str(mark.get_attribute("aria-label")) for mark in self.browser.find_elements(By.CLASS_NAME, "edit")]

    def check(self, text: str) -> None:
        self.write(text)
        self.find("check").click()
        self.says("found")

    def keys(self, *keys: str) -> None:
        self.browser.switch_to.active_element.send_keys(*keys)


@pytest.fixture
def page(browser: webdriver.Chrome, draft_server: Client) -> Iterator[Page]:
    page = Page(browser, draft_server)
    yield page
    problems = [entry["message"] for entry in browser.get_log("browser") if "favicon" not in entry["message"]]
    assert problems == []


def test_a_text_is_edited_by_keyboard_alone(page: Page) -> None:
    page.write(PAGE_TEXT)
    page.find("text").send_keys(Keys.CONTROL, Keys.ENTER)
    page.says("4 edits found")
    assert page.edits() == [
        "Replace “teh” with “the”, 90 % sure",
        "Replace “tset” with “test”, 80 % sure",
        "Insert “a ”, 40 % sure",
        "Insert “.”, 50 % sure",
    ]
    assert "<b>" in page.find("result").text and not page.find("result").find_elements(By.TAG_NAME, "b")
    while page.browser.switch_to.active_element.get_attribute("aria-label") != page.edits()[0]:
        page.keys(Keys.TAB)
    page.keys(Keys.ENTER)
    assert page.find("said").text == "Accepted" and page.text().startswith("the 😀 cat")
    assert page.browser.switch_to.active_element.get_attribute("aria-label") == page.edits()[1]
    page.keys(Keys.DELETE)
    assert "rejected" in page.edits()[1] and page.find("said").text == "Rejected"
    page.keys(Keys.ARROW_LEFT)
    assert page.browser.switch_to.active_element.get_attribute("aria-label") == page.edits()[1]
    page.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.keys(" ")
    assert page.text() == "the 😀 cat <b>tset</b>\nI saw hat."


def test_user_text_is_never_markup(page: Page) -> None:
    bad = "<img src=x onerror=alert(1)> teh <script>alert(2)</script>"
    page.check(bad)
    page.find("guard").click()
    page.find("word").send_keys("<i>x</i>", Keys.ENTER)
    assert page.browser.execute_script("return document.images.length + document.scripts.length") == 1
    assert bad.replace("teh", "") in page.find("result").text.replace("teh", "")
    assert "<i>x</i>" in page.find("words").text


def test_the_page_takes_a_token(browser: webdriver.Chrome) -> None:
    with serving(Context(models(FakeEditor()), Access(token="secret-token")), seconds=20) as client:
        page = Page(browser, client, ready=False)
        page.wait(lambda: "this server needs a token" in page.find("problem").text)
        page.find("token").send_keys("secret-token", Keys.ENTER)
        page.wait(lambda: not page.find("problem").is_displayed())
        page.check("teh")
        assert len(page.edits()) == 1
    page.find("check").click()
    page.wait(lambda: "The server does not answer. Is it still running?" in page.find("problem").text)


def test_all_controls_have_a_name_and_a_visible_focus(page: Page) -> None:
    page.check("teh")
    nameless = page.browser.execute_script(
        """return [...document.querySelectorAll("button, input, select, textarea, [tabindex]")].filter((each) =>
        !(each.getAttribute("aria-label") || each.textContent.trim() || each.labels?.length)).map((each) => each.id)"""
    )
    assert nameless == []
    for name in ("check", "text", "minimum", "word"):
        page.find(name).send_keys(Keys.SHIFT)
        width = "return getComputedStyle(arguments[0]).outlineWidth"
        page.browser.execute_script("arguments[0].focus({focusVisible: true})", page.find(name))
        assert page.browser.execute_script(width, page.find(name)) == "3px"
    assert page.find("problem").get_attribute("role") == "alert"
    assert page.find("said").get_attribute("aria-live") == "polite"

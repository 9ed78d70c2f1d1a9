"""The page as a browser shows it: right at every width, and inert whatever stands in it."""

import base64
import hashlib
import re
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from spark_jobs.report.collect import collect_report
from spark_jobs.report.facts import Report
from spark_jobs.report.render import render_run
from spark_jobs.report.source_facts import FileFact
from spark_jobs.report.write import write_report
from tests.report.lake_of_runs import PIPELINE, START, Day, Judged, LakeOfRuns, run_id_of

Scheme = Literal["light", "dark"]
HOSTILE = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "</style><style>body{display:none}</style>",
    "</title><svg onload=\"document.title='owned'\">",
    "javascript:document.title='owned'",
    "{{ 7 * 7 }}{% for x in y %}",
    "=cmd|' /C calc'!A0",
    "http://example.org/pixel.png",
    "W" * 1_000_000,
    "a\u202egnp.exe\u2066\u200f",
    "zero\x00 bell\x07 line\r\n\u2028end",
    "👩‍👩‍👧‍👦🏴‍☠️ नमस्ते مرحبا 你好 שלום",
    "\ud800 half a character".encode(errors="backslashreplace").decode(),
    "combining" + "\u0301" * 500,
)


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every place that holds text from outside, filled with all of them."""
    shop = LakeOfRuns(tmp_path_factory.mktemp("hostile"))
    shop.set_up(pipeline=_pipeline_of(HOSTILE[0]))
    day = Day(1, "failed", "gold.x failed: " + " ".join(text[:300] for text in HOSTILE), origin=" ".join(HOSTILE[:8]), judged={
        "order_once": Judged(1, is_met=False, observed=HOSTILE[1]), "known_status": Judged(None, is_met=False, problem=HOSTILE[2]),
    })  # fmt: skip
    shop.run(Day(0))
    shop.run(day)
    for place, text in enumerate(HOSTILE):
        shop.set_aside("quarantine.silver.orders", [(text, text, text)], day, file=text)
        shop.drift(day, text, file=text)
        shop.decide(replace(day, number=1), "release", text, text)
        shop.arrive("orders", Day(20 + place), "refused", text, text)
    return write_report(shop.project, "shop", day.run_id)


@pytest.fixture(scope="module")
def calm_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shop = LakeOfRuns(tmp_path_factory.mktemp("calm"))
    shop.set_up()
    for number in range(3):
        shop.run(Day(number, judged={"known_status": Judged(number, is_met=not number)}))
    return write_report(shop.project, "shop", run_id_of(2))


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 360, 768, 1_280])
def test_whatever_stands_in_the_data_the_page_is_inert_and_keeps_its_width(
    browser: Browser, hostile_page: Path, width: int
) -> None:
    with_page = Watched(browser, hostile_page, width)

    assert with_page.heard == []
    assert "owned" not in with_page.page.title()
    assert with_page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert with_page.page.evaluate("getComputedStyle(document.body).display") == "block"
    with_page.close()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1_280])
def test_a_page_is_styled_by_its_one_style_sheet_and_contrasts_enough(
    browser: Browser, calm_page: Path, width: int, scheme: Scheme
) -> None:
    with_page = Watched(browser, calm_page, width, scheme)

    assert with_page.heard == []
    assert with_page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert with_page.page.locator(".flow.wide").is_visible() == (width > 760)
    assert with_page.page.locator(".flow.tall").is_visible() == (width <= 760)
    assert with_page.page.evaluate(CONTRASTS) == []
    with_page.close()


@pytest.mark.browser
def test_the_lists_are_inert_and_lead_to_the_report(browser: Browser, calm_page: Path) -> None:
    with_page = Watched(browser, calm_page.parents[1] / "index.html", 360)

    with_page.page.get_by_role("link", name="shop").click()
    with_page.page.get_by_role("link", name=re.compile("2026-11-01 08:00")).click()

    assert with_page.page.get_by_role("heading", level=1).inner_text() == "shop: data quality"
    assert with_page.page.get_by_role("heading", level=2).first.inner_text() == "Good, with warnings"
    assert with_page.heard == []
    with_page.close()


def test_the_policy_lets_nothing_through_but_the_style(calm_page: Path) -> None:
    text = calm_page.read_text(encoding="utf-8")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()

    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'" in text


@pytest.mark.parametrize("page", ["calm_page", "hostile_page"])
def test_the_markup_has_no_script_no_style_attribute_and_nothing_from_elsewhere(
    page: str, request: pytest.FixtureRequest
) -> None:
    markup = Markup()
    markup.feed(request.getfixturevalue(page).read_text(encoding="utf-8"))

    assert {
        "script",
        "img",
        "iframe",
        "object",
        "embed",
        "form",
        "link",
        "base",
        "input",
    } & markup.tags == set()
    assert (
        sorted(
            name
            for name in markup.names
            if name.startswith("on") or name in ("style", "src", "srcset", "xlink:href")
        )
        == []
    )
    assert [link for link in markup.links if not re.fullmatch(r"(\.\./)?index\.html", link)] == []


def test_a_huge_value_does_not_make_a_huge_page(hostile_page: Path) -> None:
    assert hostile_page.stat().st_size < 400_000


def test_people_who_do_not_see_the_page_are_told_the_same(calm_page: Path) -> None:
    markup = Markup()
    markup.feed(calm_page.read_text(encoding="utf-8"))

    assert markup.languages == ["en"]
    assert markup.captions == markup.tables
    assert markup.unnamed_pictures == 0


def test_the_same_facts_give_the_same_page(tmp_path: Path) -> None:
    shop = LakeOfRuns(tmp_path)
    shop.set_up()
    shop.run(Day(0))
    report: Report = collect_report(shop.project, "shop", run_id_of(0), START + timedelta(days=1))

    assert render_run(report) == render_run(report)
    assert '<bdi class="val">&lt;b&gt;</bdi>' in render_run(
        replace(report, files_not_taken=(FileFact("orders", "<b>", "<i>"),))
    )


CONTRASTS = """() => {
  const linear = part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const light = colour => {
    const [red, green, blue] = colour.match(/[0-9.]+/g).slice(0, 3).map(part => linear(part / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!colour.endsWith(', 0)')) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const hasText = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  const ratio = element => {
    const lights = [light(getComputedStyle(element).color), light(ground(element))];
    return (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
  };
  return [...document.querySelectorAll('body *')]
    .filter(element => !element.closest('svg') && hasText(element) && ratio(element) < 4.5)
    .map(element => element.className + ': ' + element.textContent.slice(0, 40));
}"""
"""The elements whose text stands out less from its ground than WCAG's AA asks for."""


class Watched:
    """A page that notes whatever it should not do."""

    def __init__(self, browser: Browser, path: Path, width: int, scheme: Scheme = "light") -> None:
        self.heard: list[str] = []
        self.context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        self.page: Page = self.context.new_page()
        self.page.on("dialog", lambda dialog: self.heard.append(f"dialog {dialog.message}"))
        self.page.on("console", lambda message: self.heard.append(f"console {message.text}"))
        self.page.on("pageerror", lambda error: self.heard.append(f"error {error}"))
        self.page.on("request", lambda request: self._note(request.url))
        self.page.goto(path.as_uri())

    def _note(self, address: str) -> None:
        if not address.startswith("file://"):
            self.heard.append(f"request {address}")

    def close(self) -> None:
        self.context.close()


class Markup(HTMLParser):
    """What the file is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.languages: list[str] = []
        self.tables = self.captions = self.unnamed_pictures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.tags.add(tag)
        self.names |= set(known)
        self.links += [str(known["href"])] if "href" in known else []
        self.languages += [str(known["lang"])] if tag == "html" else []
        self.tables += tag == "table"
        self.captions += tag == "caption"
        self.unnamed_pictures += tag == "svg" and not {"aria-label", "aria-labelledby", "aria-hidden"} & set(
            known
        )


def _pipeline_of(description: str) -> str:
    return PIPELINE.replace("Orders of all shops, with their customers.", f'"{description}"')

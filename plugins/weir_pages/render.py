"""From what is known to HTML, and the headers of every answer. All is escaped, no script can run, nothing is
loaded but our own frames.
"""

import base64
import hashlib
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from spark_jobs.report import text

TEMPLATES = Path(__file__).parent / "templates"
REPORT_STYLE = Path(text.__file__).parent / "templates" / "style.css"
"""The pages look like the reports that they show."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def answer_page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """One of our own pages."""
    now = datetime.now(UTC)
    html = _environment().get_template(template).render(style=_style(), now=now, **values)
    return answer_html(html, status)


def answer_html(html: str, status: int = 200) -> HTMLResponse:
    """A whole page, ours or a report. Its own styles are let through by their hashes, as the reports' own
    policy does it.
    """
    styles = (
        " ".join(
            f"'sha256-{_digest(style)}'" for style in re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
        )
        or "'none'"
    )
    policy = (
        f"default-src 'none'; style-src {styles}; frame-src 'self'; frame-ancestors 'self'; base-uri 'none';"
        " form-action 'none'"
    )
    return HTMLResponse(html, status, {**HEADERS, "Content-Security-Policy": policy})


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _style() -> Markup:
    return Markup(
        REPORT_STYLE.read_text(encoding="utf-8") + (TEMPLATES / "style.css").read_text(encoding="utf-8")
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "age": text.age,
        "cut": text.cut,
        "duration": text.duration,
        "moment": text.moment,
        "number": text.number,
        "sign": text.sign_of,
        "title_of": text.title_of,
        "tone": text.tone_of,
    }
    return environment

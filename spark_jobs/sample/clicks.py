"""Clicks as JSON lines. They have no key: every line is a click, also a repeated one."""

from collections import Counter

import numpy as np

from spark_jobs.sample.delivery import Delivery, FileText, kind_places
from spark_jobs.sample.draws import DAY_MS, MINUTE_MS, Ids, below, time_texts

PAGES = ("/", "/search", "/product", "/basket", "/checkout", "/thanks", "/account", "/help")
REFERRERS = ('"mail"', '"search"', '"social"', '"partner"', "null")
ODD = ("late", "no_context", "extra_fields", "duplicate")
MISTAKES = (
    "future_time",
    "null_time",
    "cut_json",
    "glued_json",
    "wrong_user",
    "null_page",
    "no_page",
    "odd_page",
)
KINDS = ODD + MISTAKES

Tokens = dict[str, list[str]]


def click_file(delivery: Delivery, start: int, stop: int) -> FileText:
    ordinals = np.arange(start, stop, dtype=np.int64)
    kind, _ = kind_places(delivery, "clicks", ordinals, delivery.clicks, KINDS)
    tokens = _tokens(delivery, ordinals, kind)
    odd = np.flatnonzero(kind >= 0).tolist()
    for at in odd:
        _spoil_tokens(tokens, at, KINDS[kind[at]])
    lines = _lines(tokens)
    for at in odd:
        _spoil_line(lines, at, KINDS[kind[at]])
    kinds = Counter(KINDS[number] for number in kind[odd].tolist())
    return FileText("\n".join([*lines, ""]), len(lines) + kinds["duplicate"], kinds)


def _tokens(delivery: Delivery, ordinals: Ids, kind: Ids) -> Tokens:
    def draw(bound: int, what: str) -> Ids:
        return below(bound, delivery.seed, f"click {delivery.increment} {what}", ordinals)

    clicked_ms = (
        delivery.start_ms + ordinals * delivery.span_ms // delivery.clicks + draw(10 * MINUTE_MS, "at")
    )
    clicked_ms -= np.where(kind == KINDS.index("late"), DAY_MS, 0)
    pages = np.minimum(draw(len(PAGES), "page"), draw(len(PAGES), "depth"))
    return {
        "id": [f"c{delivery.increment}-{ordinal}" for ordinal in ordinals.tolist()],
        "user": [str(user + 1) for user in draw(delivery.customers, "user").tolist()],
        "page": [f'"page":"{PAGES[page]}",' for page in pages.tolist()],
        "clicked": [f'"{text}"' for text in time_texts(clicked_ms)],
        "referrer": [REFERRERS[number] for number in draw(len(REFERRERS), "referrer").tolist()],
    }


def _lines(tokens: Tokens) -> list[str]:
    return [
        f'{{"click_id":"{click}","user_id":{user},{page}"clicked_at":{clicked},"context":{{"referrer":{referrer}}}}}'
        for click, user, page, clicked, referrer in zip(*tokens.values(), strict=True)
    ]


def _spoil_tokens(tokens: Tokens, at: int, kind: str) -> None:
    match kind:
        case "future_time":
            tokens["clicked"][at] = '"2099-01-01T00:00:00.000Z"'
        case "null_time":
            tokens["clicked"][at] = "null"
        case "wrong_user":
            tokens["user"][at] = '"guest"'
        case "null_page":
            tokens["page"][at] = '"page":null,'
        case "no_page":
            tokens["page"][at] = ""
        case "odd_page":  # a text as any other; only an expectation tells that it is no page
            tokens["page"][at] = '"page":"javascript:alert(1)",'


def _spoil_line(lines: list[str], at: int, kind: str) -> None:
    match kind:
        case "no_context":
            lines[at] = lines[at].partition(',"context":')[0] + "}"
        case "extra_fields":
            lines[at] = lines[at][:-1] + ',"screen":{"width":1280,"height":720}}'
        case "cut_json":
            lines[at] = lines[at][: len(lines[at]) * 2 // 3]
        case "glued_json":
            lines[at] = lines[at] + lines[at - 1]
        case "duplicate":
            lines[at] = f"{lines[at]}\n{lines[at]}"

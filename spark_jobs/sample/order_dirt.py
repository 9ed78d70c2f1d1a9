"""The dirt of single order lines: a kind replaces tokens of a line before it is put together, or the line
afterwards.
"""

from spark_jobs.sample.orders import KINDS, LATE_MEMBERS, Orders

LATE_CUSTOMERS_FROM = 1_000_000_000
UNKNOWN_CUSTOMERS_FROM = 2_000_000_000
FUTURE = '"2099-12-31T23:59:59.000Z"'
# Some are hostile: whoever shows them must show them as text.
ODD_STATUSES = ("<script>document.title='owned'</script>", "lost", "=cmd|'/C calc'!A1", "PAID!")

Tokens = dict[str, list[str]]  # each field of each line as it stands in the JSON text


def late_customer(increment: int, nth: int) -> int:
    """A customer whose row arrives one delivery after its orders."""
    return LATE_CUSTOMERS_FROM + increment * LATE_MEMBERS + nth % LATE_MEMBERS


def late_product(increment: int, nth: int) -> str:
    return f"L{increment}-{nth % LATE_MEMBERS}"


def spoil_tokens(tokens: Tokens, at: int, orders: Orders) -> None:  # noqa: C901 - one case per kind of dirt
    increment, nth = int(orders.increment[at]), int(orders.nth[at])
    match KINDS[orders.kind[at]]:
        case "unknown_customer":
            tokens["customer"][at] = str(UNKNOWN_CUSTOMERS_FROM + int(orders.ids[at]))
        case "late_customer":
            tokens["customer"][at] = str(late_customer(increment, nth))
        case "unknown_product":
            tokens["items"][at] = _with_first_sku(tokens["items"][at], f"X{orders.ids[at]}")
        case "late_product":
            tokens["items"][at] = _with_first_sku(tokens["items"][at], late_product(increment, nth))
        case "empty_items":
            tokens["items"][at] = ""
        case "extra_fields":
            tokens["tail"][at] = ',"channel":"app","campaign":{"code":"SPRING","tags":["a","b"]}'
        case "text_numbers":
            tokens["id"][at], tokens["amount"][at] = f'"{tokens["id"][at]}"', f'"{tokens["amount"][at]}"'
        case "offset_time":
            tokens["ordered"][at] = tokens["ordered"][at].replace("Z", "+02:00")
        case "odd_scale":
            tokens["amount"][at] += "0"
        case "future_time":
            tokens["ordered"][at] = FUTURE
        case "null_time":
            tokens["ordered"][at] = "null"
        case "null_key":
            tokens["id"][at] = "null"
        case "null_sequence":
            tokens["updated"][at] = "null"
        case "wrong_amount":
            tokens["amount"][at] = '"abc"'
        case "wrong_id":
            tokens["id"][at] = f'"x{tokens["id"][at]}"'
        case "wrong_quantity":
            tokens["items"][at] = tokens["items"][at].replace(
                '"quantity":', '"quantity":"two","ordered_quantity":', 1
            )
        case "negative_amount":
            tokens["amount"][at] = f"-{tokens['amount'][at]}"
        case "odd_status":
            tokens["status"][at] = ODD_STATUSES[nth % len(ODD_STATUSES)]
        case "zero_quantity":
            tokens["items"][at] = tokens["items"][at].replace(
                '"quantity":', '"quantity":0,"ordered_quantity":', 1
            )


def spoil_line(lines: list[str], at: int, kind: str) -> None:
    match kind:
        case "no_items":
            lines[at] = lines[at].partition(',"items":')[0] + "}"
        case "no_payment":
            before, _, after = lines[at].partition('"payment":')
            lines[at] = before + '"payment":null,"items":' + after.partition('"items":')[2]
        case "cut_json":
            lines[at] = lines[at][: len(lines[at]) * 2 // 3]
        case "glued_json":
            lines[at] = lines[at] + lines[at - 1]


def _with_first_sku(items: str, sku: str) -> str:
    before, _, after = items.partition('"sku":"')
    return f'{before}"sku":"{sku}"{after.partition(chr(34))[2]}'

"""The tables of nested orders by DuckDB, from all landed files each time, written as Delta tables without
Spark. Times are UTC.
"""

import argparse
from pathlib import Path

import duckdb
from deltalake import write_deltalake

ORDERS = """
CREATE TABLE orders AS
WITH versions AS (
    FROM read_json('{landing}/orders/*.json', format = 'newline_delimited', columns = {{
        order_id: 'BIGINT', ordered_at: 'TIMESTAMP', updated_at: 'TIMESTAMP', customer: 'STRUCT(id BIGINT, channel VARCHAR)',
        store_id: 'INTEGER', status: 'VARCHAR', items: 'STRUCT(sku VARCHAR, quantity INTEGER, price DECIMAL(10,2))[]'}})
    QUALIFY row_number() OVER (PARTITION BY order_id ORDER BY updated_at DESC) = 1
)
SELECT order_id, ordered_at, updated_at, customer.id AS customer_id, customer.channel, store_id, status, items,
       list_sum(list_transform(items, lambda item: item.quantity * item.price))::DECIMAL(12,2) AS amount, segment, city
FROM versions LEFT JOIN '{landing}/customers/*.csv' members ON members.customer_id = customer.id
LEFT JOIN '{landing}/stores/*.csv' shops USING (store_id)
"""
HOURS = """
SELECT date_trunc('hour', ordered_at) AS window_start, city, count(*) AS order_count, sum(amount)::DECIMAL(38,2) AS revenue
FROM orders GROUP BY ALL
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--landing", type=Path, required=True)
    parser.add_argument("--lake", type=Path, required=True)
    places = parser.parse_args()
    with duckdb.connect() as session:
        session.execute(ORDERS.format(landing=places.landing / "nested"))
        for name, query in (("silver/orders", "FROM orders"), ("gold/revenue_per_hour", HOURS)):
            write_deltalake(places.lake / name, session.sql(query).to_arrow_reader(100_000), mode="overwrite")


if __name__ == "__main__":
    main()

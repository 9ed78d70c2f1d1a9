-- What each product sold, over all time. One row: one product.
SELECT
    sku,
    category,
    count(DISTINCT order_id) AS order_count,
    sum(quantity)            AS quantity,
    sum(quantity * price)    AS revenue
FROM silver.order_lines
GROUP BY sku, category

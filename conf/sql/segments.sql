-- Each segment with its share of the customers that retail knows now, and what they have bought.
WITH customers AS (
  SELECT segment, count(*) AS customer_count
  FROM retail.dimension.customers
  WHERE _valid_to IS NULL
  GROUP BY segment
),
sales AS (
  SELECT segment, sum(order_count) AS order_count, sum(revenue) AS revenue
  FROM gold.revenue_per_day
  GROUP BY segment
)
SELECT customers.segment, customer_count, coalesce(order_count, 0) AS order_count, coalesce(revenue, 0) AS revenue
FROM customers LEFT JOIN sales ON customers.segment <=> sales.segment

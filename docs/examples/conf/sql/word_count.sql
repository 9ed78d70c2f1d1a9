SELECT word, count(*) AS word_count
FROM silver.lines LATERAL VIEW explode(split(lower(line), '\\s+')) AS word
WHERE word <> ''
GROUP BY word

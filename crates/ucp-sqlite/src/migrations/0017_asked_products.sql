-- Products that the shop was asked for by name, with the number of the question: pages that were asked for before say nothing
-- about them.
CREATE TABLE asked_products (
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    question INTEGER NOT NULL,
    PRIMARY KEY (shop, id)
) STRICT, WITHOUT ROWID;

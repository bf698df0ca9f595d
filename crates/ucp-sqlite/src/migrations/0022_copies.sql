-- The copy that a shop was made by. While it is not finished, no gateway serves the shop, and the same copy may go on.
CREATE TABLE copies (
    shop TEXT NOT NULL PRIMARY KEY,
    -- Place that the shop is copied from, for people.
    origin TEXT NOT NULL,
    -- 1 once both sides held the same rows.
    finished INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

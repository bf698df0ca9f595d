-- Names that the operator of a shop has stated to mean the same, in the form of `ucp_shop::Synonyms`.
CREATE TABLE synonyms (
    shop TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    -- See `checksum.rs`. The default says that the row has none.
    sum INTEGER NOT NULL DEFAULT 46909632806912
) STRICT;

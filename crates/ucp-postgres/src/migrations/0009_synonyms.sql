-- Names that the operator has stated to mean the same, in the form of `ucp_shop::Synonyms`, and the number of their last change.
ALTER TABLE catalogs ADD COLUMN synonyms text NOT NULL DEFAULT '';
ALTER TABLE catalogs ADD COLUMN synonyms_number bigint NOT NULL DEFAULT 0;

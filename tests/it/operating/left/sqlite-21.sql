BEGIN TRANSACTION;
CREATE TABLE asked_products (
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    question INTEGER NOT NULL, sum INTEGER NOT NULL DEFAULT 46909632806912,
    PRIMARY KEY (shop, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE "carts" (
    seq INTEGER PRIMARY KEY,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- JSON of `ucp_core::cart::Cart`.
    document TEXT NOT NULL,
    -- Opens the cart's page. Never changes.
    token TEXT, holder TEXT, held INTEGER NOT NULL DEFAULT 0, sum INTEGER NOT NULL DEFAULT 46909632806912,
    UNIQUE (shop, id)
) STRICT;
INSERT INTO "carts" VALUES(1,'default','cart_66bac48567794faeac18fd742b7373cb','https://agent.example.com/profile.json',1,1798462960000000000,'{"id":"cart_66bac48567794faeac18fd742b7373cb","owner":"https://agent.example.com/profile.json","token":"e2f074b6be94405a9f9e770639bb46d6","draft":{"line_items":[{"item":"pot_ceramic","quantity":2}],"context":{}},"line_items":[{"id":"li_1","item":{"id":"pot_ceramic","title":"Ceramic Pot","price":1500,"image_url":"http://127.0.0.1:18951/pictures/pot-ceramic.svg","needs_fulfillment":true,"weight_grams":1100},"quantity":2,"totals":[{"kind":"subtotal","amount":3000},{"kind":"total","amount":3000}]}],"lines_ever":1,"currency":"USD","totals":[{"kind":"subtotal","amount":3000},{"kind":"total","amount":3000}],"discounts":{"codes":[],"applied":[]},"messages":[],"canceled":false,"created_at":"2026-11-28T13:02:40.385787784Z","expires_at":"2026-12-28T13:02:40Z"}','e2f074b6be94405a9f9e770639bb46d6',NULL,759,93826901310855);
CREATE TABLE changed_products (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    shop TEXT NOT NULL,
    id TEXT NOT NULL, sum INTEGER NOT NULL DEFAULT 46909632806912,
    UNIQUE (shop, id)
) STRICT;
CREATE TABLE "checkouts" (
    seq INTEGER PRIMARY KEY,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    -- The cart it was made of.
    cart_id TEXT,
    -- Begin of the payment attempt whose end is unknown. As long as there is one, the row stays.
    attempted_at INTEGER,
    expires_at INTEGER NOT NULL,
    -- JSON of `ucp_core::checkout::Checkout`.
    document TEXT NOT NULL,
    -- Opens the checkout's page. Never changes.
    token TEXT, holder TEXT, held INTEGER NOT NULL DEFAULT 0, open_cart TEXT, sum INTEGER NOT NULL DEFAULT 46909632806912,
    UNIQUE (shop, id)
) STRICT;
INSERT INTO "checkouts" VALUES(1,'default','chk_f0c6b67500974688a9fe51757ca1e3c6','https://agent.example.com/profile.json',3,'completed',NULL,NULL,1795892560000000000,'{"id":"chk_f0c6b67500974688a9fe51757ca1e3c6","owner":"https://agent.example.com/profile.json","token":"17efc930347a4213b5a02c42114b2702","status":"completed","order":{"id":"ord_5768576c557e477e8a04d7e18ca94233","label":"#8CA94233","token":"8e78e2ce76174cef84bdffaf08495bde"},"draft":{"line_items":[{"item":"bouquet_roses","quantity":1}],"buyer":{"email":"buyer@example.com"},"context":{},"fulfillment":{"methods":[{"kind":"shipping","destinations":[{"id":"home","address":{"street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"}}]}]},"instruments":[{"id":"i1","handler_id":"mock_payment_handler","kind":"card","selected":true}]},"line_items":[{"id":"li_1","item":{"id":"bouquet_roses","title":"Bouquet of Red Roses","price":3500,"image_url":"http://127.0.0.1:18951/pictures/bouquet-roses.svg","needs_fulfillment":true,"weight_grams":900},"quantity":1,"totals":[{"kind":"subtotal","amount":3500},{"kind":"total","amount":3500}]}],"lines_ever":1,"currency":"USD","totals":[{"kind":"subtotal","amount":3500},{"kind":"fulfillment","display_text":"Shipping","amount":0},{"kind":"total","amount":3500}],"discounts":{"codes":[],"applied":[]},"fulfillment":{"methods":[{"id":"shipping_1","kind":"shipping","line_item_ids":["li_1"],"destinations":[{"id":"home","address":{"street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"}}],"selected_destination_id":"home","groups":[{"id":"package_1","line_item_ids":["li_1"],"options":[{"id":"std-ship","title":"Standard Shipping (Free Shipping on Rose Bouquets)","earliest":"2026-12-01T00:00:00Z","latest":"2026-12-04T23:59:59Z","totals":[{"kind":"subtotal","amount":500},{"kind":"discount","amount":-500},{"kind":"total","amount":0}]},{"id":"exp-ship-us","title":"Express Shipping (US)","earliest":"2026-11-29T00:00:00Z","latest":"2026-11-30T23:59:59Z","totals":[{"kind":"subtotal","amount":1500},{"kind":"total","amount":1500}]}],"selected_option_id":"std-ship"}]}],"available_methods":[{"kind":"shipping","line_item_ids":["li_1"],"fulfillable_on":"now","description":"The goods can be sent to an address."}]},"messages":[{"type":"info","code":"free_shipping","content":"Free Shipping on Rose Bouquets","path":"$.fulfillment.methods[0].groups[0].options[0]"}],"completing":"old-complete-key","created_at":"2026-11-28T13:02:40.473874832Z","expires_at":"2026-11-28T19:02:40Z"}','17efc930347a4213b5a02c42114b2702',NULL,2501,NULL,93824335856797);
INSERT INTO "checkouts" VALUES(2,'default','chk_b81c6c8c9594406382534d5b1712c66f','https://agent.example.com/profile.json',1,'ready_for_complete',NULL,NULL,1795892560000000000,'{"id":"chk_b81c6c8c9594406382534d5b1712c66f","owner":"https://agent.example.com/profile.json","token":"634f9209829c45e097e8acdce0bea40f","status":"ready_for_complete","draft":{"line_items":[{"item":"bouquet_roses","quantity":1}],"buyer":{"email":"buyer@example.com"},"context":{},"fulfillment":{"methods":[{"kind":"shipping","destinations":[{"id":"home","address":{"street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"}}]}]}},"line_items":[{"id":"li_1","item":{"id":"bouquet_roses","title":"Bouquet of Red Roses","price":3500,"image_url":"http://127.0.0.1:18951/pictures/bouquet-roses.svg","needs_fulfillment":true,"weight_grams":900},"quantity":1,"totals":[{"kind":"subtotal","amount":3500},{"kind":"total","amount":3500}]}],"lines_ever":1,"currency":"USD","totals":[{"kind":"subtotal","amount":3500},{"kind":"fulfillment","display_text":"Shipping","amount":0},{"kind":"total","amount":3500}],"discounts":{"codes":[],"applied":[]},"fulfillment":{"methods":[{"id":"shipping_1","kind":"shipping","line_item_ids":["li_1"],"destinations":[{"id":"home","address":{"street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"}}],"selected_destination_id":"home","groups":[{"id":"package_1","line_item_ids":["li_1"],"options":[{"id":"std-ship","title":"Standard Shipping (Free Shipping on Rose Bouquets)","earliest":"2026-12-01T00:00:00Z","latest":"2026-12-04T23:59:59Z","totals":[{"kind":"subtotal","amount":500},{"kind":"discount","amount":-500},{"kind":"total","amount":0}]},{"id":"exp-ship-us","title":"Express Shipping (US)","earliest":"2026-11-29T00:00:00Z","latest":"2026-11-30T23:59:59Z","totals":[{"kind":"subtotal","amount":1500},{"kind":"total","amount":1500}]}],"selected_option_id":"std-ship"}]}],"available_methods":[{"kind":"shipping","line_item_ids":["li_1"],"fulfillable_on":"now","description":"The goods can be sent to an address."}]},"messages":[{"type":"info","code":"free_shipping","content":"Free Shipping on Rose Bouquets","path":"$.fulfillment.methods[0].groups[0].options[0]"}],"created_at":"2026-11-28T13:02:40.508930305Z","expires_at":"2026-11-28T19:02:40Z"}','634f9209829c45e097e8acdce0bea40f',NULL,2267,NULL,93827123803029);
CREATE TABLE commits (
    -- There is one row.
    only INTEGER PRIMARY KEY CHECK (only = 1),
    -- Random. A restored copy has another one.
    identity BLOB NOT NULL CHECK (length(identity) = 16),
    number INTEGER NOT NULL,
    sum INTEGER NOT NULL DEFAULT 46909632806912
) STRICT;
INSERT INTO "commits" VALUES(1,X'6A330145EFCBF90005F22AA2AE533A8E',7,93826789375633);
CREATE TABLE "cursor_key" (
    shop TEXT NOT NULL PRIMARY KEY,
    -- Seals cursors; see `ucp_core::catalog::cursor`.
    key BLOB NOT NULL CHECK (length(key) = 32)
, sum INTEGER NOT NULL DEFAULT 46909632806912) STRICT, WITHOUT ROWID;
INSERT INTO "cursor_key" VALUES('default',X'8FD54E84CCD1EC24E563E8AD47D7265D9EDB01E8601A5828326CE85C92CECC0D',93824532107163);
CREATE TABLE holdings (
    shop TEXT NOT NULL,
    -- A domain, a network, or `~` and the profile of a registered platform.
    name TEXT NOT NULL,
    -- Number of carts and checkouts that led to no order.
    open INTEGER NOT NULL,
    -- Size of their documents and of recorded answers, in bytes.
    bytes INTEGER NOT NULL,
    PRIMARY KEY (shop, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE "identifiers" (
    shop TEXT NOT NULL,
    value TEXT NOT NULL,
    -- Order of precedence: 0 product id, 1 variant id, 2 product handle, 3 variant handle, 4 SKU, 5 barcode.
    kind INTEGER NOT NULL,
    product INTEGER NOT NULL REFERENCES "products" (seq),
    -- Position of the variant in the product, -1 for the product itself.
    position INTEGER NOT NULL, sum INTEGER NOT NULL DEFAULT 46909632806912,
    PRIMARY KEY (shop, value, kind, product, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "identifiers" VALUES('default','BOUQUET-ROSES',4,1,0,93825640686614);
INSERT INTO "identifiers" VALUES('default','BOUQUET-SUNFLOWERS',4,3,0,93827681438124);
INSERT INTO "identifiers" VALUES('default','BOUQUET-TULIPS',4,4,0,93826655094224);
INSERT INTO "identifiers" VALUES('default','GARDENIAS',4,6,0,93827267068949);
INSERT INTO "identifiers" VALUES('default','ORCHID-WHITE',4,5,0,93824527982747);
INSERT INTO "identifiers" VALUES('default','POT-CERAMIC',4,2,0,93827610897812);
INSERT INTO "identifiers" VALUES('default','bouquet-roses',2,1,-1,93826192846185);
INSERT INTO "identifiers" VALUES('default','bouquet-sunflowers',2,3,-1,93823970478432);
INSERT INTO "identifiers" VALUES('default','bouquet-tulips',2,4,-1,93824105057738);
INSERT INTO "identifiers" VALUES('default','bouquet_roses',1,1,0,93823965142249);
INSERT INTO "identifiers" VALUES('default','bouquet_roses_product',0,1,-1,93824620944171);
INSERT INTO "identifiers" VALUES('default','bouquet_sunflowers',1,3,0,93827007036807);
INSERT INTO "identifiers" VALUES('default','bouquet_sunflowers_product',0,3,-1,93825135717879);
INSERT INTO "identifiers" VALUES('default','bouquet_tulips',1,4,0,93824066524650);
INSERT INTO "identifiers" VALUES('default','bouquet_tulips_product',0,4,-1,93825172931936);
INSERT INTO "identifiers" VALUES('default','gardenias',1,6,0,93824314848008);
INSERT INTO "identifiers" VALUES('default','gardenias',2,6,-1,93824393285616);
INSERT INTO "identifiers" VALUES('default','gardenias_product',0,6,-1,93825059519211);
INSERT INTO "identifiers" VALUES('default','orchid-white',2,5,-1,93826385380410);
INSERT INTO "identifiers" VALUES('default','orchid_white',1,5,0,93826532176580);
INSERT INTO "identifiers" VALUES('default','orchid_white_product',0,5,-1,93825422469555);
INSERT INTO "identifiers" VALUES('default','pot-ceramic',2,2,-1,93826474497607);
INSERT INTO "identifiers" VALUES('default','pot_ceramic',1,2,0,93824368305395);
INSERT INTO "identifiers" VALUES('default','pot_ceramic_product',0,2,-1,93827112559842);
CREATE TABLE "kept" (
    seq INTEGER PRIMARY KEY,
    shop TEXT NOT NULL,
    owner TEXT NOT NULL,
    operation TEXT NOT NULL,
    resource TEXT NOT NULL,
    key TEXT NOT NULL,
    identity BLOB NOT NULL CHECK (length(identity) = 32),
    answer TEXT NOT NULL,
    at INTEGER NOT NULL, holder TEXT, held INTEGER NOT NULL DEFAULT 0, sum INTEGER NOT NULL DEFAULT 46909632806912,
    UNIQUE (shop, key, resource, operation, owner)
) STRICT;
INSERT INTO "kept" VALUES(1,'default','https://agent.example.com/profile.json','create_cart','','old-cart-key',X'169A12CC415BC7AE10652791DADA0D62DBEEF564DF45272D5CCED38B86E06089','{"status":201}
{"ucp":{"version":"2026-08-25","status":"success","capabilities":{"dev.ucp.shopping.buyer_consent":[{"version":"2026-08-25"}],"dev.ucp.shopping.cart":[{"version":"2026-08-25"}],"dev.ucp.shopping.discount":[{"version":"2026-08-25"}]}},"id":"cart_66bac48567794faeac18fd742b7373cb","line_items":[{"id":"li_1","item":{"id":"pot_ceramic","title":"Ceramic Pot","price":1500,"image_url":"http://127.0.0.1:18951/pictures/pot-ceramic.svg"},"quantity":2,"totals":[{"type":"subtotal","amount":3000},{"type":"total","amount":3000}]}],"currency":"USD","totals":[{"type":"subtotal","amount":3000},{"type":"total","amount":3000}],"discounts":{"codes":[],"applied":[]},"links":[{"type":"privacy_policy","url":"https://example.com/privacy","title":"Privacy policy"},{"type":"terms_of_service","url":"https://example.com/terms","title":"Terms of service"},{"type":"refund_policy","url":"https://example.com/refunds","title":"Refunds"}],"continue_url":"http://127.0.0.1:18951/continue/e2f074b6be94405a9f9e770639bb46d6","expires_at":"2026-12-28T13:02:40Z"}',1795870960386189824,NULL,1051,93826902536841);
INSERT INTO "kept" VALUES(2,'default','https://agent.example.com/profile.json','create_checkout','','old-create-key',X'A663DD8FC57FFD279E3D08F97AE5F8CE7D0E7380A848C65F7E507A3CBA3D2434','{"status":201}
{"ucp":{"version":"2026-08-25","status":"success","capabilities":{"dev.ucp.shopping.buyer_consent":[{"version":"2026-08-25"}],"dev.ucp.shopping.checkout":[{"version":"2026-08-25"}],"dev.ucp.shopping.discount":[{"version":"2026-08-25"}],"dev.ucp.shopping.fulfillment":[{"version":"2026-08-25"}]},"payment_handlers":{"com.example.sandbox_payment":[{"id":"mock_payment_handler","version":"2026-08-25","spec":"https://example.com/sandbox_payment","schema":"https://example.com/sandbox_payment.json","available_instruments":[{"type":"card"}],"config":{"environment":"sandbox","supported_tokens":["success_token","fail_token","challenge_token","challenge_passed_token","three_ds_token","device_data_token","timeout_token","unknown_token","slow_token"],"action_origins":["http://127.0.0.1:18951"]}}]}},"id":"chk_f0c6b67500974688a9fe51757ca1e3c6","status":"ready_for_complete","line_items":[{"id":"li_1","item":{"id":"bouquet_roses","title":"Bouquet of Red Roses","price":3500,"image_url":"http://127.0.0.1:18951/pictures/bouquet-roses.svg"},"quantity":1,"totals":[{"type":"subtotal","amount":3500},{"type":"total","amount":3500}]}],"buyer":{"email":"buyer@example.com"},"currency":"USD","totals":[{"type":"subtotal","amount":3500},{"type":"fulfillment","display_text":"Shipping","amount":0},{"type":"total","amount":3500}],"discounts":{"codes":[],"applied":[]},"fulfillment":{"methods":[{"id":"shipping_1","type":"shipping","line_item_ids":["li_1"],"destinations":[{"type":"shipping_address","id":"home","street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"}],"selected_destination_id":"home","groups":[{"id":"package_1","line_item_ids":["li_1"],"options":[{"id":"std-ship","title":"Standard Shipping (Free Shipping on Rose Bouquets)","earliest_fulfillment_time":"2026-12-01T00:00:00Z","latest_fulfillment_time":"2026-12-04T23:59:59Z","totals":[{"type":"subtotal","amount":500},{"type":"discount","amount":-500},{"type":"total","amount":0}]},{"id":"exp-ship-us","title":"Express Shipping (US)","earliest_fulfillment_time":"2026-11-29T00:00:00Z","latest_fulfillment_time":"2026-11-30T23:59:59Z","totals":[{"type":"subtotal","amount":1500},{"type":"total","amount":1500}]}],"selected_option_id":"std-ship"}]}],"available_methods":[{"type":"shipping","line_item_ids":["li_1"],"fulfillable_on":"now","description":"The goods can be sent to an address."}]},"messages":[{"type":"info","code":"free_shipping","content":"Free Shipping on Rose Bouquets","path":"$.fulfillment.methods[0].groups[0].options[0]"}],"links":[{"type":"privacy_policy","url":"https://example.com/privacy","title":"Privacy policy"},{"type":"terms_of_service","url":"https://example.com/terms","title":"Terms of service"},{"type":"refund_policy","url":"https://example.com/refunds","title":"Refunds"}],"continue_url":"http://127.0.0.1:18951/continue/17efc930347a4213b5a02c42114b2702","expires_at":"2026-11-28T19:02:40Z"}',1795870960474586248,NULL,2990,93827668690500);
INSERT INTO "kept" VALUES(3,'default','https://agent.example.com/profile.json','create_checkout','','old-open-key',X'A663DD8FC57FFD279E3D08F97AE5F8CE7D0E7380A848C65F7E507A3CBA3D2434','{"status":201}
{"ucp":{"version":"2026-08-25","status":"success","capabilities":{"dev.ucp.shopping.buyer_consent":[{"version":"2026-08-25"}],"dev.ucp.shopping.checkout":[{"version":"2026-08-25"}],"dev.ucp.shopping.discount":[{"version":"2026-08-25"}],"dev.ucp.shopping.fulfillment":[{"version":"2026-08-25"}]},"payment_handlers":{"com.example.sandbox_payment":[{"id":"mock_payment_handler","version":"2026-08-25","spec":"https://example.com/sandbox_payment","schema":"https://example.com/sandbox_payment.json","available_instruments":[{"type":"card"}],"config":{"environment":"sandbox","supported_tokens":["success_token","fail_token","challenge_token","challenge_passed_token","three_ds_token","device_data_token","timeout_token","unknown_token","slow_token"],"action_origins":["http://127.0.0.1:18951"]}}]}},"id":"chk_b81c6c8c9594406382534d5b1712c66f","status":"ready_for_complete","line_items":[{"id":"li_1","item":{"id":"bouquet_roses","title":"Bouquet of Red Roses","price":3500,"image_url":"http://127.0.0.1:18951/pictures/bouquet-roses.svg"},"quantity":1,"totals":[{"type":"subtotal","amount":3500},{"type":"total","amount":3500}]}],"buyer":{"email":"buyer@example.com"},"currency":"USD","totals":[{"type":"subtotal","amount":3500},{"type":"fulfillment","display_text":"Shipping","amount":0},{"type":"total","amount":3500}],"discounts":{"codes":[],"applied":[]},"fulfillment":{"methods":[{"id":"shipping_1","type":"shipping","line_item_ids":["li_1"],"destinations":[{"type":"shipping_address","id":"home","street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"}],"selected_destination_id":"home","groups":[{"id":"package_1","line_item_ids":["li_1"],"options":[{"id":"std-ship","title":"Standard Shipping (Free Shipping on Rose Bouquets)","earliest_fulfillment_time":"2026-12-01T00:00:00Z","latest_fulfillment_time":"2026-12-04T23:59:59Z","totals":[{"type":"subtotal","amount":500},{"type":"discount","amount":-500},{"type":"total","amount":0}]},{"id":"exp-ship-us","title":"Express Shipping (US)","earliest_fulfillment_time":"2026-11-29T00:00:00Z","latest_fulfillment_time":"2026-11-30T23:59:59Z","totals":[{"type":"subtotal","amount":1500},{"type":"total","amount":1500}]}],"selected_option_id":"std-ship"}]}],"available_methods":[{"type":"shipping","line_item_ids":["li_1"],"fulfillable_on":"now","description":"The goods can be sent to an address."}]},"messages":[{"type":"info","code":"free_shipping","content":"Free Shipping on Rose Bouquets","path":"$.fulfillment.methods[0].groups[0].options[0]"}],"links":[{"type":"privacy_policy","url":"https://example.com/privacy","title":"Privacy policy"},{"type":"terms_of_service","url":"https://example.com/terms","title":"Terms of service"},{"type":"refund_policy","url":"https://example.com/refunds","title":"Refunds"}],"continue_url":"http://127.0.0.1:18951/continue/634f9209829c45e097e8acdce0bea40f","expires_at":"2026-11-28T19:02:40Z"}',1795870960509809334,NULL,2990,93824494691128);
INSERT INTO "kept" VALUES(4,'default','https://agent.example.com/profile.json','complete_checkout','','old-complete-key',X'466ECEA219A5ADD9A85039DCFFC98B1B275A202154BDE5B8745636C9D4BF23A9','{"status":200}
{"ucp":{"version":"2026-08-25","status":"success","capabilities":{"dev.ucp.shopping.buyer_consent":[{"version":"2026-08-25"}],"dev.ucp.shopping.checkout":[{"version":"2026-08-25"}],"dev.ucp.shopping.discount":[{"version":"2026-08-25"}],"dev.ucp.shopping.fulfillment":[{"version":"2026-08-25"}]},"payment_handlers":{"com.example.sandbox_payment":[{"id":"mock_payment_handler","version":"2026-08-25","spec":"https://example.com/sandbox_payment","schema":"https://example.com/sandbox_payment.json","available_instruments":[{"type":"card"}],"config":{"environment":"sandbox","supported_tokens":["success_token","fail_token","challenge_token","challenge_passed_token","three_ds_token","device_data_token","timeout_token","unknown_token","slow_token"],"action_origins":["http://127.0.0.1:18951"]}}]}},"id":"chk_f0c6b67500974688a9fe51757ca1e3c6","status":"completed","line_items":[{"id":"li_1","item":{"id":"bouquet_roses","title":"Bouquet of Red Roses","price":3500,"image_url":"http://127.0.0.1:18951/pictures/bouquet-roses.svg"},"quantity":1,"totals":[{"type":"subtotal","amount":3500},{"type":"total","amount":3500}]}],"buyer":{"email":"buyer@example.com"},"currency":"USD","totals":[{"type":"subtotal","amount":3500},{"type":"fulfillment","display_text":"Shipping","amount":0},{"type":"total","amount":3500}],"discounts":{"codes":[],"applied":[]},"fulfillment":{"methods":[{"id":"shipping_1","type":"shipping","line_item_ids":["li_1"],"destinations":[{"type":"shipping_address","id":"home","street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"}],"selected_destination_id":"home","groups":[{"id":"package_1","line_item_ids":["li_1"],"options":[{"id":"std-ship","title":"Standard Shipping (Free Shipping on Rose Bouquets)","earliest_fulfillment_time":"2026-12-01T00:00:00Z","latest_fulfillment_time":"2026-12-04T23:59:59Z","totals":[{"type":"subtotal","amount":500},{"type":"discount","amount":-500},{"type":"total","amount":0}]},{"id":"exp-ship-us","title":"Express Shipping (US)","earliest_fulfillment_time":"2026-11-29T00:00:00Z","latest_fulfillment_time":"2026-11-30T23:59:59Z","totals":[{"type":"subtotal","amount":1500},{"type":"total","amount":1500}]}],"selected_option_id":"std-ship"}]}],"available_methods":[{"type":"shipping","line_item_ids":["li_1"],"fulfillable_on":"now","description":"The goods can be sent to an address."}]},"payment":{"instruments":[{"id":"i1","handler_id":"mock_payment_handler","type":"card","selected":true}]},"messages":[{"type":"info","code":"free_shipping","content":"Free Shipping on Rose Bouquets","path":"$.fulfillment.methods[0].groups[0].options[0]"}],"links":[{"type":"privacy_policy","url":"https://example.com/privacy","title":"Privacy policy"},{"type":"terms_of_service","url":"https://example.com/terms","title":"Terms of service"},{"type":"refund_policy","url":"https://example.com/refunds","title":"Refunds"}],"expires_at":"2026-11-28T19:02:40Z","order":{"id":"ord_5768576c557e477e8a04d7e18ca94233","label":"#8CA94233","permalink_url":"http://127.0.0.1:18951/order/8e78e2ce76174cef84bdffaf08495bde"}}',1795870960590497266,NULL,3159,93825945676996);
CREATE TABLE "location_names" (
    shop TEXT NOT NULL,
    value TEXT NOT NULL,
    -- 0 for the id of a location, 1 for an alias, which several may share, and 2 for the id of a location that is not
    -- public: it is taken, and names nothing.
    kind INTEGER NOT NULL,
    merchant INTEGER NOT NULL REFERENCES "merchants" (seq), sum INTEGER NOT NULL DEFAULT 46909632806912,
    PRIMARY KEY (shop, value, kind, merchant)
) STRICT, WITHOUT ROWID;
CREATE TABLE "mandates" (
    shop TEXT NOT NULL,
    checkout_id TEXT NOT NULL,
    -- The mandate as it was presented. It stays for as long as the order does: disputes are settled by it.
    mandate TEXT NOT NULL, sum INTEGER NOT NULL DEFAULT 46909632806912,
    PRIMARY KEY (shop, checkout_id)
) STRICT;
CREATE TABLE "merchants" (
    -- Order in which merchants came. Never reused, and kept when a merchant changes.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    -- Grows with every transaction that changes merchants of the shop.
    revision INTEGER NOT NULL,
    -- JSON of `ucp_core::merchant::record::Merchant`.
    document TEXT NOT NULL, sum INTEGER NOT NULL DEFAULT 46909632806912,
    UNIQUE (shop, id)
) STRICT;
CREATE TABLE "orders" (
    seq INTEGER PRIMARY KEY,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    -- A checkout becomes one order at most, whatever else goes wrong.
    checkout_id TEXT NOT NULL,
    -- JSON of `ucp_core::order::Order`.
    document TEXT NOT NULL,
    -- Opens the order's page. Never changes.
    token TEXT, anonymous INTEGER NOT NULL DEFAULT 0, sum INTEGER NOT NULL DEFAULT 46909632806912, buyer TEXT,
    UNIQUE (shop, id),
    UNIQUE (shop, checkout_id)
) STRICT;
INSERT INTO "orders" VALUES(1,'default','ord_5768576c557e477e8a04d7e18ca94233','https://agent.example.com/profile.json',1,'chk_f0c6b67500974688a9fe51757ca1e3c6','{"id":"ord_5768576c557e477e8a04d7e18ca94233","label":"#8CA94233","token":"8e78e2ce76174cef84bdffaf08495bde","owner":"https://agent.example.com/profile.json","checkout_id":"chk_f0c6b67500974688a9fe51757ca1e3c6","line_items":[{"id":"li_1","item":{"id":"bouquet_roses","title":"Bouquet of Red Roses","price":3500,"image_url":"http://127.0.0.1:18951/pictures/bouquet-roses.svg","needs_fulfillment":true,"weight_grams":900},"original":1,"total":1,"fulfilled":0,"totals":[{"kind":"subtotal","amount":3500},{"kind":"total","amount":3500}]}],"currency":"USD","totals":[{"kind":"subtotal","amount":3500},{"kind":"fulfillment","display_text":"Shipping","amount":0},{"kind":"total","amount":3500}],"expectations":[{"id":"exp_1","line_items":[{"id":"li_1","quantity":1}],"method":"shipping","destination":{"street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"},"description":"Standard Shipping (Free Shipping on Rose Bouquets)","fulfillable_on":"now"}],"events":[],"adjustments":[],"payment":{"handler_id":"mock_payment_handler","attempt_id":"pay_a3642a82457c4d08a3b1db3c2c107023","reference":"sandbox_pay_a3642a82457c4d08a3b1db3c2c107023"},"placed_at":"2026-11-28T13:02:40.589632132Z"}','8e78e2ce76174cef84bdffaf08495bde',0,93826078797171,NULL);
CREATE TABLE "outbox" (
    seq INTEGER PRIMARY KEY,
    shop TEXT NOT NULL,
    -- A UUID.
    id TEXT NOT NULL,
    order_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    order_version INTEGER NOT NULL,
    occurred_at INTEGER NOT NULL,
    -- waiting, delivered, gone, expired or unwanted.
    state TEXT NOT NULL DEFAULT 'waiting',
    attempts INTEGER NOT NULL DEFAULT 0,
    -- Time of the next attempt. Of the waiting events of an order only the first has one.
    since INTEGER NOT NULL,
    settled_at INTEGER,
    problem TEXT,
    -- Release and bytes of the message, once it was written.
    release TEXT,
    body BLOB,
    -- Process that is sending the event, until `claimed_until`.
    document TEXT, untold INTEGER, sum INTEGER NOT NULL DEFAULT 46909632806912,
    UNIQUE (shop, id)
) STRICT;
INSERT INTO "outbox" VALUES(1,'default','ec69ab2a-19f9-4c23-838f-77eeeb90f5ed','ord_5768576c557e477e8a04d7e18ca94233','https://agent.example.com/profile.json',1,1795870960589632132,'waiting',0,1795870960589632132,NULL,NULL,NULL,NULL,'{"id":"ord_5768576c557e477e8a04d7e18ca94233","label":"#8CA94233","token":"8e78e2ce76174cef84bdffaf08495bde","owner":"https://agent.example.com/profile.json","checkout_id":"chk_f0c6b67500974688a9fe51757ca1e3c6","line_items":[{"id":"li_1","item":{"id":"bouquet_roses","title":"Bouquet of Red Roses","price":3500,"image_url":"http://127.0.0.1:18951/pictures/bouquet-roses.svg","needs_fulfillment":true,"weight_grams":900},"original":1,"total":1,"fulfilled":0,"totals":[{"kind":"subtotal","amount":3500},{"kind":"total","amount":3500}]}],"currency":"USD","totals":[{"kind":"subtotal","amount":3500},{"kind":"fulfillment","display_text":"Shipping","amount":0},{"kind":"total","amount":3500}],"expectations":[{"id":"exp_1","line_items":[{"id":"li_1","quantity":1}],"method":"shipping","destination":{"street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"},"description":"Standard Shipping (Free Shipping on Rose Bouquets)","fulfillable_on":"now"}],"events":[],"adjustments":[],"payment":{"handler_id":"mock_payment_handler","attempt_id":"pay_a3642a82457c4d08a3b1db3c2c107023","reference":"sandbox_pay_a3642a82457c4d08a3b1db3c2c107023"},"placed_at":"2026-11-28T13:02:40.589632132Z"}',1,93824678099683);
CREATE TABLE "owners" (
    shop TEXT NOT NULL,
    -- cart, checkout or order.
    kind TEXT NOT NULL,
    -- Identifier at the remote shop.
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    -- Release in which the owner was served.
    release TEXT NOT NULL,
    -- Time until which it is known to be alive.
    at INTEGER NOT NULL,
    -- 1 if it was made with mandates negotiated.
    mandates INTEGER NOT NULL DEFAULT 0, sum INTEGER NOT NULL DEFAULT 46909632806912,
    PRIMARY KEY (shop, kind, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE "products" (
    -- Order in which a search without a question lists products. Never reused, and kept when a product changes.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    -- Grows with every transaction that changes products of the shop: whoever read up to a revision finds what came later.
    revision INTEGER NOT NULL,
    -- JSON of `ucp_core::catalog::record::Record`.
    document TEXT NOT NULL, sum INTEGER NOT NULL DEFAULT 46909632806912,
    UNIQUE (shop, id)
) STRICT;
INSERT INTO "products" VALUES(1,'default','bouquet_roses_product',1,'{"id":"bouquet_roses_product","handle":"bouquet-roses","title":"Bouquet of Red Roses","description":{"plain":"Twelve long-stemmed red roses, cut this morning and tied by hand."},"url":"https://example.com/products/bouquet-roses","categories":[{"value":"Flowers > Bouquets","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/bouquet-roses.svg","alt_text":"A tied bouquet of red roses"}],"variants":[{"id":"bouquet_roses","sku":"BOUQUET-ROSES","price":{"amount":3500,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":900}],"tags":["roses","red","romantic"]}',93825096255602);
INSERT INTO "products" VALUES(2,'default','pot_ceramic_product',1,'{"id":"pot_ceramic_product","handle":"pot-ceramic","title":"Ceramic Pot","description":{"plain":"A glazed pot with a saucer and a drain hole, for plants in pots of up to 14 cm."},"url":"https://example.com/products/pot-ceramic","categories":[{"value":"Pots & Care","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/pot-ceramic.svg","alt_text":"A glazed ceramic pot"}],"variants":[{"id":"pot_ceramic","sku":"POT-CERAMIC","price":{"amount":1500,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":1100}],"tags":["pot","ceramic"]}',93824635021589);
INSERT INTO "products" VALUES(3,'default','bouquet_sunflowers_product',1,'{"id":"bouquet_sunflowers_product","handle":"bouquet-sunflowers","title":"Sunflower Bundle","description":{"plain":"Seven sunflowers on sturdy stems, bundled with eucalyptus."},"url":"https://example.com/products/bouquet-sunflowers","categories":[{"value":"Flowers > Bouquets","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/bouquet-sunflowers.svg","alt_text":"A bundle of sunflowers"}],"variants":[{"id":"bouquet_sunflowers","sku":"BOUQUET-SUNFLOWERS","price":{"amount":2500,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":850}],"tags":["sunflowers","yellow"]}',93827766825055);
INSERT INTO "products" VALUES(4,'default','bouquet_tulips_product',1,'{"id":"bouquet_tulips_product","handle":"bouquet-tulips","title":"Spring Tulips","description":{"plain":"Twenty tulips in mixed colors, still closed, so that they open at home."},"url":"https://example.com/products/bouquet-tulips","categories":[{"value":"Flowers > Bouquets","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/bouquet-tulips.svg","alt_text":"A bouquet of mixed tulips"}],"variants":[{"id":"bouquet_tulips","sku":"BOUQUET-TULIPS","price":{"amount":3000,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":700}],"tags":["tulips","spring"]}',93824397414969);
INSERT INTO "products" VALUES(5,'default','orchid_white_product',1,'{"id":"orchid_white_product","handle":"orchid-white","title":"White Orchid","description":{"plain":"A moth orchid with two flowering stems, in a clear inner pot."},"url":"https://example.com/products/orchid-white","categories":[{"value":"Plants","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/orchid-white.svg","alt_text":"A white moth orchid in a pot"}],"variants":[{"id":"orchid_white","sku":"ORCHID-WHITE","price":{"amount":4500,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":1600}],"tags":["orchid","white","gift"]}',93824406579408);
INSERT INTO "products" VALUES(6,'default','gardenias_product',1,'{"id":"gardenias_product","handle":"gardenias","title":"Gardenias","description":{"plain":"A small gardenia bush with dark leaves and buds that smell of summer evenings."},"url":"https://example.com/products/gardenias","categories":[{"value":"Plants","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/gardenias.svg","alt_text":"A gardenia with white blossoms"}],"variants":[{"id":"gardenias","sku":"GARDENIAS","price":{"amount":2000,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":1300}],"tags":["gardenia","white","scented"]}',93826950167732);
CREATE TABLE "shop" (
    -- Identifier of the shop.
    shop TEXT NOT NULL PRIMARY KEY,
    -- Random. A search index that names another identity was made from another database.
    identity TEXT NOT NULL,
    -- JSON of `ucp_core::catalog::market::Market`.
    market TEXT NOT NULL,
    -- JSON of `ucp_core::purchase::terms::Terms`.
    terms TEXT NOT NULL DEFAULT '{}'
, sum INTEGER NOT NULL DEFAULT 46909632806912) STRICT, WITHOUT ROWID;
INSERT INTO "shop" VALUES('default','606ca7507be73dace4e860eea6d71d95','{"name":"Example Flower Shop","currency":"USD","currencies":[],"language":"en","languages":[],"countries":{"US":"USD"},"by_country":false,"rates":{},"links":[{"type":"privacy_policy","url":"https://example.com/privacy","title":"Privacy policy"},{"type":"terms_of_service","url":"https://example.com/terms","title":"Terms of service"},{"type":"refund_policy","url":"https://example.com/refunds","title":"Refunds"}]}','{"tax":{"rates":[],"shipping":false},"fees":[],"discounts":[{"id":"10off","title":"10% Off","codes":["10OFF"],"off":"10%","target":"order","items":[],"method":"each","combines":true,"priority":100,"buyers":[]},{"id":"welcome20","title":"20% Off","codes":["WELCOME20"],"off":"20%","target":"order","items":[],"method":"each","combines":true,"priority":100,"buyers":[]},{"id":"fixed500","title":"$5.00 Off","codes":["FIXED500"],"off":500,"target":"order","items":[],"method":"each","combines":true,"priority":100,"buyers":[]}],"shipping":{"rates":[{"id":"std-ship","title":"Standard Shipping","countries":[],"except":[],"price":500,"min_days":3,"max_days":6},{"id":"exp-ship-us","title":"Express Shipping (US)","countries":["US"],"except":[],"price":1500,"min_days":1,"max_days":2},{"id":"exp-ship-intl","title":"International Express","countries":[],"except":["US"],"price":2500,"min_days":2,"max_days":5}],"free":[{"title":"Free Shipping on orders over $100","rates":["std-ship"],"min_subtotal":10000,"items":[],"countries":[]},{"title":"Free Shipping on Rose Bouquets","rates":["std-ship"],"items":["bouquet_roses"],"countries":[]}],"required":[],"several_destinations":false,"separate":[]},"pickup":{"places":[],"several_destinations":false},"shipping_with_pickup":false,"customers":[{"name":"John Doe","email":"john.doe@example.com","addresses":[{"id":"addr_1","address":{"street_address":"123 Main St","address_locality":"Springfield","address_region":"IL","address_country":"US","postal_code":"62704"}},{"id":"addr_2","address":{"street_address":"456 Oak Ave","address_locality":"Metropolis","address_region":"NY","address_country":"US","postal_code":"10012"}}]},{"name":"Jane Smith","email":"jane.smith@example.com","addresses":[{"id":"addr_3","address":{"street_address":"789 Pine Ln","address_locality":"Smallville","address_region":"KS","address_country":"US","postal_code":"66002"}}]},{"name":"Jane Doe","email":"jane.doe@example.com","addresses":[]}],"claims":[],"required":[],"reviews":[],"lifetimes":{"cart_seconds":2592000,"checkout_seconds":21600}}',93825123898143);
CREATE TABLE "stock" (
    shop TEXT NOT NULL,
    variant TEXT NOT NULL,
    product INTEGER NOT NULL REFERENCES "products" (seq),
    quantity INTEGER NOT NULL CHECK (quantity >= 0), owed INTEGER NOT NULL DEFAULT 0 CHECK (owed >= 0), stated INTEGER, stated_at INTEGER, sum INTEGER NOT NULL DEFAULT 46909632806912,
    PRIMARY KEY (shop, variant)
) STRICT, WITHOUT ROWID;
INSERT INTO "stock" VALUES('default','bouquet_roses',1,999,0,1000,0,93826059641861);
INSERT INTO "stock" VALUES('default','bouquet_sunflowers',3,500,0,500,0,93825811551678);
INSERT INTO "stock" VALUES('default','bouquet_tulips',4,1500,0,1500,0,93824546243381);
INSERT INTO "stock" VALUES('default','gardenias',6,0,0,0,0,93825641963607);
INSERT INTO "stock" VALUES('default','orchid_white',5,800,0,800,0,93824098294956);
INSERT INTO "stock" VALUES('default','pot_ceramic',2,2000,0,2000,0,93823663234798);
CREATE TABLE synchronised (
    shop TEXT NOT NULL PRIMARY KEY,
    -- JSON of `ucp_sync::State`.
    state TEXT NOT NULL
, sum INTEGER NOT NULL DEFAULT 46909632806912) STRICT, WITHOUT ROWID;
CREATE TABLE synchronised_products (
    shop TEXT NOT NULL,
    product INTEGER NOT NULL REFERENCES products (seq),
    run INTEGER NOT NULL, sum INTEGER NOT NULL DEFAULT 46909632806912,
    PRIMARY KEY (shop, product)
) STRICT, WITHOUT ROWID;
CREATE TABLE takings (
    shop TEXT NOT NULL,
    variant TEXT NOT NULL,
    checkout TEXT NOT NULL,
    -- Time of the sale; the greatest number while the payment has no end.
    at INTEGER NOT NULL,
    quantity INTEGER NOT NULL, sum INTEGER NOT NULL DEFAULT 46909632806912,
    PRIMARY KEY (shop, variant, checkout, at)
) STRICT, WITHOUT ROWID;
INSERT INTO "takings" VALUES('default','bouquet_roses','chk_f0c6b67500974688a9fe51757ca1e3c6',1795870960589632132,1,93824846824148);
CREATE TABLE tasks (
    shop TEXT NOT NULL,
    -- settle, move_money, abandon or tell.
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    -- Party that is asked, with the kind.
    lane TEXT NOT NULL,
    -- Name under which events wake the task.
    name TEXT,
    due INTEGER NOT NULL,
    body TEXT NOT NULL,
    -- Time at which it was due first.
    since INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    -- 1 for a task that is not carried out again by itself.
    given_up INTEGER NOT NULL DEFAULT 0,
    problem TEXT,
    -- 1 if it was woken since it was claimed last.
    woken INTEGER NOT NULL DEFAULT 0,
    -- Process that carries it out, since `claimed_at` and until `claimed_until`.
    claimant TEXT,
    claimed_at INTEGER,
    claimed_until INTEGER, sum INTEGER NOT NULL DEFAULT 46909632806912,
    PRIMARY KEY (shop, kind, key)
) STRICT, WITHOUT ROWID;
INSERT INTO "tasks" VALUES('default','tell','ord_5768576c557e477e8a04d7e18ca94233','tell:https://agent.example.com/profile.json',NULL,1795870960589632132,'',1795870960589632132,0,0,NULL,0,NULL,NULL,NULL,93826528516455);
CREATE TABLE told (
    shop TEXT NOT NULL PRIMARY KEY,
    checkouts_until INTEGER NOT NULL
, sum INTEGER NOT NULL DEFAULT 46909632806912) STRICT, WITHOUT ROWID;
INSERT INTO "told" VALUES('default',1795870960239931762,93827223424460);
CREATE INDEX products_by_seq ON products (shop, seq);
CREATE INDEX products_by_revision ON products (shop, revision);
CREATE INDEX stock_by_product ON stock (product);
CREATE INDEX stock_sold_out ON stock (product) WHERE quantity = 0;
CREATE INDEX merchants_by_revision ON merchants (shop, revision);
CREATE INDEX carts_by_expiry ON carts (shop, expires_at);
CREATE UNIQUE INDEX carts_by_token ON carts (shop, token);
CREATE INDEX checkouts_by_cart ON checkouts (shop, cart_id) WHERE cart_id IS NOT NULL;
CREATE INDEX checkouts_by_expiry ON checkouts (shop, expires_at);
CREATE UNIQUE INDEX checkouts_by_token ON checkouts (shop, token);
CREATE TRIGGER mandates_of_checkouts AFTER DELETE ON checkouts WHEN OLD.status <> 'completed'
BEGIN
    DELETE FROM mandates WHERE shop = OLD.shop AND checkout_id = OLD.id;
END;
CREATE INDEX orders_by_seq ON orders (shop, seq);
CREATE UNIQUE INDEX orders_by_token ON orders (shop, token);
CREATE INDEX kept_by_age ON kept (shop, at);
CREATE INDEX outbox_waiting ON outbox (shop, order_id, seq) WHERE state = 'waiting';
CREATE INDEX outbox_settled ON outbox (shop, settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX outbox_since ON outbox (shop, since) WHERE state = 'waiting';
CREATE INDEX outbox_by_seq ON outbox (shop, seq);
CREATE INDEX owners_by_age ON owners (shop, kind, at);
CREATE INDEX outbox_untold ON outbox (shop, seq) WHERE untold = 1;
CREATE INDEX takings_by_age ON takings (shop, at);
CREATE INDEX tasks_due ON tasks (shop, lane, due) WHERE given_up = 0;
CREATE INDEX tasks_by_name ON tasks (shop, name) WHERE name IS NOT NULL;
CREATE UNIQUE INDEX checkouts_open ON checkouts (shop, open_cart) WHERE open_cart IS NOT NULL;
CREATE INDEX orders_with_addresses
    ON orders (shop, CASE WHEN json_valid(document) THEN json_extract(document, '$.placed_at') END) WHERE anonymous = 0;
CREATE INDEX orders_by_buyer ON orders (shop, buyer) WHERE buyer IS NOT NULL;
CREATE TRIGGER shop_changed AFTER UPDATE OF shop, identity, market, terms ON shop WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.identity, NEW.market, NEW.terms) IS NOT (OLD.shop, OLD.identity, OLD.market, OLD.terms) BEGIN UPDATE shop SET sum = 46909632806912 WHERE (shop) = (NEW.shop) AND sum = OLD.sum; END;
CREATE TRIGGER cursor_key_changed AFTER UPDATE OF shop, key ON cursor_key WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.key) IS NOT (OLD.shop, OLD.key) BEGIN UPDATE cursor_key SET sum = 46909632806912 WHERE (shop) = (NEW.shop) AND sum = OLD.sum; END;
CREATE TRIGGER products_changed AFTER UPDATE OF seq, shop, id, revision, document ON products WHEN NEW.sum = OLD.sum AND (NEW.seq, NEW.shop, NEW.id, NEW.revision, NEW.document) IS NOT (OLD.seq, OLD.shop, OLD.id, OLD.revision, OLD.document) BEGIN UPDATE products SET sum = 46909632806912 WHERE (seq) = (NEW.seq) AND sum = OLD.sum; END;
CREATE TRIGGER identifiers_changed AFTER UPDATE OF shop, value, kind, product, position ON identifiers WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.value, NEW.kind, NEW.product, NEW.position) IS NOT (OLD.shop, OLD.value, OLD.kind, OLD.product, OLD.position) BEGIN UPDATE identifiers SET sum = 46909632806912 WHERE (shop, value, kind, product, position) = (NEW.shop, NEW.value, NEW.kind, NEW.product, NEW.position) AND sum = OLD.sum; END;
CREATE TRIGGER stock_changed AFTER UPDATE OF shop, variant, product, quantity, owed, stated, stated_at ON stock WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.variant, NEW.product, NEW.quantity, NEW.owed, NEW.stated, NEW.stated_at) IS NOT (OLD.shop, OLD.variant, OLD.product, OLD.quantity, OLD.owed, OLD.stated, OLD.stated_at) BEGIN UPDATE stock SET sum = 46909632806912 WHERE (shop, variant) = (NEW.shop, NEW.variant) AND sum = OLD.sum; END;
CREATE TRIGGER merchants_changed AFTER UPDATE OF seq, shop, id, revision, document ON merchants WHEN NEW.sum = OLD.sum AND (NEW.seq, NEW.shop, NEW.id, NEW.revision, NEW.document) IS NOT (OLD.seq, OLD.shop, OLD.id, OLD.revision, OLD.document) BEGIN UPDATE merchants SET sum = 46909632806912 WHERE (seq) = (NEW.seq) AND sum = OLD.sum; END;
CREATE TRIGGER location_names_changed AFTER UPDATE OF shop, value, kind, merchant ON location_names WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.value, NEW.kind, NEW.merchant) IS NOT (OLD.shop, OLD.value, OLD.kind, OLD.merchant) BEGIN UPDATE location_names SET sum = 46909632806912 WHERE (shop, value, kind, merchant) = (NEW.shop, NEW.value, NEW.kind, NEW.merchant) AND sum = OLD.sum; END;
CREATE TRIGGER carts_changed AFTER UPDATE OF seq, shop, id, owner, version, expires_at, document, token, holder, held ON carts WHEN NEW.sum = OLD.sum AND (NEW.seq, NEW.shop, NEW.id, NEW.owner, NEW.version, NEW.expires_at, NEW.document, NEW.token, NEW.holder, NEW.held) IS NOT (OLD.seq, OLD.shop, OLD.id, OLD.owner, OLD.version, OLD.expires_at, OLD.document, OLD.token, OLD.holder, OLD.held) BEGIN UPDATE carts SET sum = 46909632806912 WHERE (seq) = (NEW.seq) AND sum = OLD.sum; END;
CREATE TRIGGER checkouts_changed AFTER UPDATE OF seq, shop, id, owner, version, status, cart_id, attempted_at, expires_at, document, token, holder, held, open_cart ON checkouts WHEN NEW.sum = OLD.sum AND (NEW.seq, NEW.shop, NEW.id, NEW.owner, NEW.version, NEW.status, NEW.cart_id, NEW.attempted_at, NEW.expires_at, NEW.document, NEW.token, NEW.holder, NEW.held, NEW.open_cart) IS NOT (OLD.seq, OLD.shop, OLD.id, OLD.owner, OLD.version, OLD.status, OLD.cart_id, OLD.attempted_at, OLD.expires_at, OLD.document, OLD.token, OLD.holder, OLD.held, OLD.open_cart) BEGIN UPDATE checkouts SET sum = 46909632806912 WHERE (seq) = (NEW.seq) AND sum = OLD.sum; END;
CREATE TRIGGER mandates_changed AFTER UPDATE OF shop, checkout_id, mandate ON mandates WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.checkout_id, NEW.mandate) IS NOT (OLD.shop, OLD.checkout_id, OLD.mandate) BEGIN UPDATE mandates SET sum = 46909632806912 WHERE (shop, checkout_id) = (NEW.shop, NEW.checkout_id) AND sum = OLD.sum; END;
CREATE TRIGGER orders_changed AFTER UPDATE OF seq, shop, id, owner, version, checkout_id, document, token, anonymous, buyer ON orders WHEN NEW.sum = OLD.sum AND (NEW.seq, NEW.shop, NEW.id, NEW.owner, NEW.version, NEW.checkout_id, NEW.document, NEW.token, NEW.anonymous, NEW.buyer) IS NOT (OLD.seq, OLD.shop, OLD.id, OLD.owner, OLD.version, OLD.checkout_id, OLD.document, OLD.token, OLD.anonymous, OLD.buyer) BEGIN UPDATE orders SET sum = 46909632806912 WHERE (seq) = (NEW.seq) AND sum = OLD.sum; END;
CREATE TRIGGER kept_changed AFTER UPDATE OF seq, shop, owner, operation, resource, key, identity, answer, at, holder, held ON kept WHEN NEW.sum = OLD.sum AND (NEW.seq, NEW.shop, NEW.owner, NEW.operation, NEW.resource, NEW.key, NEW.identity, NEW.answer, NEW.at, NEW.holder, NEW.held) IS NOT (OLD.seq, OLD.shop, OLD.owner, OLD.operation, OLD.resource, OLD.key, OLD.identity, OLD.answer, OLD.at, OLD.holder, OLD.held) BEGIN UPDATE kept SET sum = 46909632806912 WHERE (seq) = (NEW.seq) AND sum = OLD.sum; END;
CREATE TRIGGER outbox_changed AFTER UPDATE OF seq, shop, id, order_id, owner, order_version, occurred_at, state, attempts, since, settled_at, problem, release, body, document, untold ON outbox WHEN NEW.sum = OLD.sum AND (NEW.seq, NEW.shop, NEW.id, NEW.order_id, NEW.owner, NEW.order_version, NEW.occurred_at, NEW.state, NEW.attempts, NEW.since, NEW.settled_at, NEW.problem, NEW.release, NEW.body, NEW.document, NEW.untold) IS NOT (OLD.seq, OLD.shop, OLD.id, OLD.order_id, OLD.owner, OLD.order_version, OLD.occurred_at, OLD.state, OLD.attempts, OLD.since, OLD.settled_at, OLD.problem, OLD.release, OLD.body, OLD.document, OLD.untold) BEGIN UPDATE outbox SET sum = 46909632806912 WHERE (seq) = (NEW.seq) AND sum = OLD.sum; END;
CREATE TRIGGER owners_changed AFTER UPDATE OF shop, kind, id, owner, release, at, mandates ON owners WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.kind, NEW.id, NEW.owner, NEW.release, NEW.at, NEW.mandates) IS NOT (OLD.shop, OLD.kind, OLD.id, OLD.owner, OLD.release, OLD.at, OLD.mandates) BEGIN UPDATE owners SET sum = 46909632806912 WHERE (shop, kind, id) = (NEW.shop, NEW.kind, NEW.id) AND sum = OLD.sum; END;
CREATE TRIGGER told_changed AFTER UPDATE OF shop, checkouts_until ON told WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.checkouts_until) IS NOT (OLD.shop, OLD.checkouts_until) BEGIN UPDATE told SET sum = 46909632806912 WHERE (shop) = (NEW.shop) AND sum = OLD.sum; END;
CREATE TRIGGER synchronised_changed AFTER UPDATE OF shop, state ON synchronised WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.state) IS NOT (OLD.shop, OLD.state) BEGIN UPDATE synchronised SET sum = 46909632806912 WHERE (shop) = (NEW.shop) AND sum = OLD.sum; END;
CREATE TRIGGER synchronised_products_changed AFTER UPDATE OF shop, product, run ON synchronised_products WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.product, NEW.run) IS NOT (OLD.shop, OLD.product, OLD.run) BEGIN UPDATE synchronised_products SET sum = 46909632806912 WHERE (shop, product) = (NEW.shop, NEW.product) AND sum = OLD.sum; END;
CREATE TRIGGER changed_products_changed AFTER UPDATE OF seq, shop, id ON changed_products WHEN NEW.sum = OLD.sum AND (NEW.seq, NEW.shop, NEW.id) IS NOT (OLD.seq, OLD.shop, OLD.id) BEGIN UPDATE changed_products SET sum = 46909632806912 WHERE (seq) = (NEW.seq) AND sum = OLD.sum; END;
CREATE TRIGGER takings_changed AFTER UPDATE OF shop, variant, checkout, at, quantity ON takings WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.variant, NEW.checkout, NEW.at, NEW.quantity) IS NOT (OLD.shop, OLD.variant, OLD.checkout, OLD.at, OLD.quantity) BEGIN UPDATE takings SET sum = 46909632806912 WHERE (shop, variant, checkout, at) = (NEW.shop, NEW.variant, NEW.checkout, NEW.at) AND sum = OLD.sum; END;
CREATE TRIGGER asked_products_changed AFTER UPDATE OF shop, id, question ON asked_products WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.id, NEW.question) IS NOT (OLD.shop, OLD.id, OLD.question) BEGIN UPDATE asked_products SET sum = 46909632806912 WHERE (shop, id) = (NEW.shop, NEW.id) AND sum = OLD.sum; END;
CREATE TRIGGER tasks_changed AFTER UPDATE OF shop, kind, key, lane, name, due, body, since, tries, given_up, problem, woken, claimant, claimed_at, claimed_until ON tasks WHEN NEW.sum = OLD.sum AND (NEW.shop, NEW.kind, NEW.key, NEW.lane, NEW.name, NEW.due, NEW.body, NEW.since, NEW.tries, NEW.given_up, NEW.problem, NEW.woken, NEW.claimant, NEW.claimed_at, NEW.claimed_until) IS NOT (OLD.shop, OLD.kind, OLD.key, OLD.lane, OLD.name, OLD.due, OLD.body, OLD.since, OLD.tries, OLD.given_up, OLD.problem, OLD.woken, OLD.claimant, OLD.claimed_at, OLD.claimed_until) BEGIN UPDATE tasks SET sum = 46909632806912 WHERE (shop, kind, key) = (NEW.shop, NEW.kind, NEW.key) AND sum = OLD.sum; END;
CREATE TRIGGER commits_changed AFTER UPDATE OF only, identity, number ON commits WHEN NEW.sum = OLD.sum AND (NEW.only, NEW.identity, NEW.number) IS NOT (OLD.only, OLD.identity, OLD.number) BEGIN UPDATE commits SET sum = 46909632806912 WHERE (only) = (NEW.only) AND sum = OLD.sum; END;
CREATE INDEX holdings_by_size ON holdings (shop, bytes);
CREATE TRIGGER carts_counted AFTER INSERT ON carts WHEN NEW.holder IS NOT NULL BEGIN
    INSERT INTO holdings (shop, name, open, bytes)
        SELECT NEW.shop, value, 1, NEW.held FROM json_each('["' || replace(NEW.holder, ' ', '","') || '"]') WHERE true
        ON CONFLICT DO UPDATE SET open = open + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER carts_uncounted AFTER DELETE ON carts WHEN OLD.holder IS NOT NULL BEGIN
    UPDATE holdings SET open = open - 1, bytes = bytes - OLD.held WHERE shop = OLD.shop
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
    DELETE FROM holdings WHERE shop = OLD.shop AND open <= 0 AND bytes <= 0
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
END;
CREATE TRIGGER carts_recounted AFTER UPDATE OF holder, held ON carts
    WHEN OLD.holder IS NOT NEW.holder OR OLD.held <> NEW.held BEGIN
    UPDATE holdings SET open = open - 1, bytes = bytes - OLD.held WHERE shop = OLD.shop
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
    INSERT INTO holdings (shop, name, open, bytes)
        SELECT NEW.shop, value, 1, NEW.held FROM json_each('["' || replace(NEW.holder, ' ', '","') || '"]')
        WHERE NEW.holder IS NOT NULL
        ON CONFLICT DO UPDATE SET open = open + 1, bytes = bytes + excluded.bytes;
    DELETE FROM holdings WHERE shop = OLD.shop AND open <= 0 AND bytes <= 0
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
END;
CREATE TRIGGER checkouts_counted AFTER INSERT ON checkouts WHEN NEW.holder IS NOT NULL BEGIN
    INSERT INTO holdings (shop, name, open, bytes)
        SELECT NEW.shop, value, 1, NEW.held FROM json_each('["' || replace(NEW.holder, ' ', '","') || '"]') WHERE true
        ON CONFLICT DO UPDATE SET open = open + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER checkouts_uncounted AFTER DELETE ON checkouts WHEN OLD.holder IS NOT NULL BEGIN
    UPDATE holdings SET open = open - 1, bytes = bytes - OLD.held WHERE shop = OLD.shop
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
    DELETE FROM holdings WHERE shop = OLD.shop AND open <= 0 AND bytes <= 0
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
END;
CREATE TRIGGER checkouts_recounted AFTER UPDATE OF holder, held ON checkouts
    WHEN OLD.holder IS NOT NEW.holder OR OLD.held <> NEW.held BEGIN
    UPDATE holdings SET open = open - 1, bytes = bytes - OLD.held WHERE shop = OLD.shop
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
    INSERT INTO holdings (shop, name, open, bytes)
        SELECT NEW.shop, value, 1, NEW.held FROM json_each('["' || replace(NEW.holder, ' ', '","') || '"]')
        WHERE NEW.holder IS NOT NULL
        ON CONFLICT DO UPDATE SET open = open + 1, bytes = bytes + excluded.bytes;
    DELETE FROM holdings WHERE shop = OLD.shop AND open <= 0 AND bytes <= 0
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
END;
CREATE TRIGGER kept_counted AFTER INSERT ON kept WHEN NEW.holder IS NOT NULL BEGIN
    INSERT INTO holdings (shop, name, open, bytes)
        SELECT NEW.shop, value, 0, NEW.held FROM json_each('["' || replace(NEW.holder, ' ', '","') || '"]') WHERE true
        ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER kept_uncounted AFTER DELETE ON kept WHEN OLD.holder IS NOT NULL BEGIN
    UPDATE holdings SET bytes = bytes - OLD.held WHERE shop = OLD.shop
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
    DELETE FROM holdings WHERE shop = OLD.shop AND open <= 0 AND bytes <= 0
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
END;
CREATE INDEX carts_held_by_expiry ON carts (shop, expires_at) WHERE holder < '~';
CREATE INDEX checkouts_held_by_expiry ON checkouts (shop, expires_at) WHERE holder < '~';
CREATE INDEX orders_by_label
    ON orders (shop, CASE WHEN json_valid(document) THEN json_extract(document, '$.label') END);
CREATE INDEX orders_by_reference
    ON orders (shop, CASE WHEN json_valid(document) THEN json_extract(document, '$.remote.reference') END);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('products',6);
COMMIT;
PRAGMA user_version = 21;

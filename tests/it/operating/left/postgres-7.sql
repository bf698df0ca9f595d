CREATE TABLE public.carts (
    shop text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL,
    token text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    expires_at bigint NOT NULL,
    document text NOT NULL,
    holder text COLLATE pg_catalog."C",
    held bigint NOT NULL,
    made uuid NOT NULL
);
CREATE TABLE public.catalog_event_numbers (
    shop text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL
);
CREATE TABLE public.catalog_events (
    shop text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    id text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.catalogs (
    shop text NOT NULL COLLATE pg_catalog."C",
    identity text NOT NULL,
    market text NOT NULL,
    terms text NOT NULL,
    number bigint NOT NULL,
    edition bigint NOT NULL
);
CREATE TABLE public.checkouts (
    shop text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL,
    token text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    status text NOT NULL,
    cart_id text COLLATE pg_catalog."C",
    attempted_at bigint,
    leased_by uuid,
    leased_until bigint,
    expires_at bigint NOT NULL,
    document text NOT NULL,
    holder text COLLATE pg_catalog."C",
    held bigint NOT NULL,
    made uuid NOT NULL,
    open_cart text COLLATE pg_catalog."C"
);
CREATE TABLE public.commits (
    shop text NOT NULL COLLATE pg_catalog."C",
    id uuid NOT NULL
);
CREATE TABLE public.kept (
    shop text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    operation text NOT NULL COLLATE pg_catalog."C",
    resource text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    identity bytea NOT NULL,
    answer bytea NOT NULL,
    at bigint NOT NULL,
    holder text COLLATE pg_catalog."C",
    held bigint NOT NULL
);
CREATE TABLE public.mandates (
    shop text NOT NULL COLLATE pg_catalog."C",
    checkout_id text NOT NULL COLLATE pg_catalog."C",
    mandate bytea NOT NULL
);
CREATE TABLE public.orders (
    shop text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL,
    token text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    checkout_id text NOT NULL COLLATE pg_catalog."C",
    document text NOT NULL,
    placed_at bigint NOT NULL,
    anonymous boolean DEFAULT false NOT NULL,
    made uuid NOT NULL,
    buyer text COLLATE pg_catalog."C",
    label text COLLATE pg_catalog."C",
    reference text COLLATE pg_catalog."C"
);
CREATE TABLE public.outbox (
    shop text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    order_version bigint NOT NULL,
    occurred_at bigint NOT NULL,
    state text NOT NULL,
    attempts bigint NOT NULL,
    next_at bigint,
    since bigint NOT NULL,
    settled_at bigint,
    problem text,
    release text,
    body bytea,
    claimant text,
    claimed_until bigint,
    document text,
    untold boolean DEFAULT false NOT NULL,
    made uuid NOT NULL
);
CREATE TABLE public.owners (
    shop text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL,
    release text NOT NULL,
    at bigint NOT NULL,
    mandates boolean NOT NULL
);
CREATE TABLE public.products (
    shop text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    place bigint NOT NULL,
    number bigint NOT NULL,
    document text NOT NULL
);
CREATE TABLE public.remote_carts (
    shop text NOT NULL COLLATE pg_catalog."C",
    reference text NOT NULL COLLATE pg_catalog."C",
    document text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.schema_version (
    one integer NOT NULL,
    version integer NOT NULL,
    minimum integer NOT NULL
);
CREATE TABLE public.shops (
    shop text NOT NULL COLLATE pg_catalog."C",
    cursor_key bytea NOT NULL
);
CREATE TABLE public.stock (
    shop text NOT NULL COLLATE pg_catalog."C",
    variant text NOT NULL COLLATE pg_catalog."C",
    product text NOT NULL COLLATE pg_catalog."C",
    quantity bigint NOT NULL,
    owed bigint DEFAULT 0 NOT NULL,
    stated bigint,
    stated_at bigint,
    CONSTRAINT stock_owed_check CHECK ((owed >= 0)),
    CONSTRAINT stock_quantity_check CHECK ((quantity >= 0))
);
CREATE TABLE public.takings (
    shop text NOT NULL COLLATE pg_catalog."C",
    variant text NOT NULL COLLATE pg_catalog."C",
    checkout text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    quantity bigint NOT NULL
);
CREATE TABLE public.tasks (
    shop text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    lane text NOT NULL COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    due bigint NOT NULL,
    body text NOT NULL,
    since bigint NOT NULL,
    tries bigint DEFAULT 0 NOT NULL,
    given_up boolean DEFAULT false NOT NULL,
    problem text,
    woken boolean DEFAULT false NOT NULL,
    claimant text,
    claimed_at bigint,
    claimed_until bigint
);
CREATE TABLE public.told (
    shop text NOT NULL COLLATE pg_catalog."C",
    checkouts_until bigint NOT NULL
);
INSERT INTO public.carts VALUES ('default', 'cart_a250b85c2f10409db53828cf1a628e8a', 'https://agent.example.com/profile.json', '5070b00d072c4708a767e964a44525ab', 1, 1798463006000000000, '{"id":"cart_a250b85c2f10409db53828cf1a628e8a","owner":"https://agent.example.com/profile.json","token":"5070b00d072c4708a767e964a44525ab","draft":{"line_items":[{"item":"pot_ceramic","quantity":2}],"context":{}},"line_items":[{"id":"li_1","item":{"id":"pot_ceramic","title":"Ceramic Pot","price":1500,"image_url":"http://127.0.0.1:18952/pictures/pot-ceramic.svg","needs_fulfillment":true,"weight_grams":1100},"quantity":2,"totals":[{"kind":"subtotal","amount":3000},{"kind":"total","amount":3000}]}],"lines_ever":1,"currency":"USD","totals":[{"kind":"subtotal","amount":3000},{"kind":"total","amount":3000}],"discounts":{"codes":[],"applied":[]},"messages":[],"canceled":false,"created_at":"2026-11-28T13:03:26.504933642Z","expires_at":"2026-12-28T13:03:26Z"}', NULL, 759, '01a22240-df29-72fa-84bd-d7bd1493df26');
INSERT INTO public.catalogs VALUES ('default', 'a46e8514bb1302609da7f739a5f97e3c', '{"name":"Example Flower Shop","currency":"USD","currencies":[],"language":"en","languages":[],"countries":{"US":"USD"},"by_country":false,"rates":{},"links":[{"type":"privacy_policy","url":"https://example.com/privacy","title":"Privacy policy"},{"type":"terms_of_service","url":"https://example.com/terms","title":"Terms of service"},{"type":"refund_policy","url":"https://example.com/refunds","title":"Refunds"}]}', '{"tax":{"rates":[],"shipping":false},"fees":[],"discounts":[{"id":"10off","title":"10% Off","codes":["10OFF"],"off":"10%","target":"order","items":[],"method":"each","combines":true,"priority":100,"buyers":[]},{"id":"welcome20","title":"20% Off","codes":["WELCOME20"],"off":"20%","target":"order","items":[],"method":"each","combines":true,"priority":100,"buyers":[]},{"id":"fixed500","title":"$5.00 Off","codes":["FIXED500"],"off":500,"target":"order","items":[],"method":"each","combines":true,"priority":100,"buyers":[]}],"shipping":{"rates":[{"id":"std-ship","title":"Standard Shipping","countries":[],"except":[],"price":500,"min_days":3,"max_days":6},{"id":"exp-ship-us","title":"Express Shipping (US)","countries":["US"],"except":[],"price":1500,"min_days":1,"max_days":2},{"id":"exp-ship-intl","title":"International Express","countries":[],"except":["US"],"price":2500,"min_days":2,"max_days":5}],"free":[{"title":"Free Shipping on orders over $100","rates":["std-ship"],"min_subtotal":10000,"items":[],"countries":[]},{"title":"Free Shipping on Rose Bouquets","rates":["std-ship"],"items":["bouquet_roses"],"countries":[]}],"required":[],"several_destinations":false,"separate":[]},"pickup":{"places":[],"several_destinations":false},"shipping_with_pickup":false,"customers":[{"name":"John Doe","email":"john.doe@example.com","addresses":[{"id":"addr_1","address":{"street_address":"123 Main St","address_locality":"Springfield","address_region":"IL","address_country":"US","postal_code":"62704"}},{"id":"addr_2","address":{"street_address":"456 Oak Ave","address_locality":"Metropolis","address_region":"NY","address_country":"US","postal_code":"10012"}}]},{"name":"Jane Smith","email":"jane.smith@example.com","addresses":[{"id":"addr_3","address":{"street_address":"789 Pine Ln","address_locality":"Smallville","address_region":"KS","address_country":"US","postal_code":"66002"}}]},{"name":"Jane Doe","email":"jane.doe@example.com","addresses":[]}],"claims":[],"required":[],"reviews":[],"lifetimes":{"cart_seconds":2592000,"checkout_seconds":21600}}', 1, 1);
INSERT INTO public.checkouts VALUES ('default', 'chk_e8792ec4daac4a4d98617afc69fb80ee', 'https://agent.example.com/profile.json', '72e69e63d92548868c07266edb9fe72a', 3, 'completed', NULL, NULL, NULL, NULL, 1795892606000000000, '{"id":"chk_e8792ec4daac4a4d98617afc69fb80ee","owner":"https://agent.example.com/profile.json","token":"72e69e63d92548868c07266edb9fe72a","status":"completed","order":{"id":"ord_4f5dd20573ad4dea8fecba1b51f5e09e","label":"#51F5E09E","token":"d0dbf24d71ad49889543bdf566438b07"},"draft":{"line_items":[{"item":"bouquet_roses","quantity":1}],"buyer":{"email":"buyer@example.com"},"context":{},"fulfillment":{"methods":[{"kind":"shipping","destinations":[{"id":"home","address":{"street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"}}]}]},"instruments":[{"id":"i1","handler_id":"mock_payment_handler","kind":"card","selected":true}]},"line_items":[{"id":"li_1","item":{"id":"bouquet_roses","title":"Bouquet of Red Roses","price":3500,"image_url":"http://127.0.0.1:18952/pictures/bouquet-roses.svg","needs_fulfillment":true,"weight_grams":900},"quantity":1,"totals":[{"kind":"subtotal","amount":3500},{"kind":"total","amount":3500}]}],"lines_ever":1,"currency":"USD","totals":[{"kind":"subtotal","amount":3500},{"kind":"fulfillment","display_text":"Shipping","amount":0},{"kind":"total","amount":3500}],"discounts":{"codes":[],"applied":[]},"fulfillment":{"methods":[{"id":"shipping_1","kind":"shipping","line_item_ids":["li_1"],"destinations":[{"id":"home","address":{"street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"}}],"selected_destination_id":"home","groups":[{"id":"package_1","line_item_ids":["li_1"],"options":[{"id":"std-ship","title":"Standard Shipping (Free Shipping on Rose Bouquets)","earliest":"2026-12-01T00:00:00Z","latest":"2026-12-04T23:59:59Z","totals":[{"kind":"subtotal","amount":500},{"kind":"discount","amount":-500},{"kind":"total","amount":0}]},{"id":"exp-ship-us","title":"Express Shipping (US)","earliest":"2026-11-29T00:00:00Z","latest":"2026-11-30T23:59:59Z","totals":[{"kind":"subtotal","amount":1500},{"kind":"total","amount":1500}]}],"selected_option_id":"std-ship"}]}],"available_methods":[{"kind":"shipping","line_item_ids":["li_1"],"fulfillable_on":"now","description":"The goods can be sent to an address."}]},"messages":[{"type":"info","code":"free_shipping","content":"Free Shipping on Rose Bouquets","path":"$.fulfillment.methods[0].groups[0].options[0]"}],"completing":"old-complete-key","created_at":"2026-11-28T13:03:26.589444544Z","expires_at":"2026-11-28T19:03:26Z"}', NULL, 2501, '01a22240-df7e-77ae-8e15-b85931f7bd99', NULL);
INSERT INTO public.commits VALUES ('default', '01a22240-df98-741a-8d5a-3c1ab66bc0ac');
INSERT INTO public.kept VALUES ('default', 'https://agent.example.com/profile.json', 'create_cart', '', 'old-cart-key', '\x169a12cc415bc7ae10652791dada0d62dbeef564df45272d5cced38b86e06089', '\x7b22737461747573223a3230317d0a7b22756370223a7b2276657273696f6e223a22323032362d30382d3235222c22737461747573223a2273756363657373222c226361706162696c6974696573223a7b226465762e7563702e73686f7070696e672e62757965725f636f6e73656e74223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d2c226465762e7563702e73686f7070696e672e63617274223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d2c226465762e7563702e73686f7070696e672e646973636f756e74223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d7d7d2c226964223a22636172745f6132353062383563326631303430396462353338323863663161363238653861222c226c696e655f6974656d73223a5b7b226964223a226c695f31222c226974656d223a7b226964223a22706f745f636572616d6963222c227469746c65223a22436572616d696320506f74222c227072696365223a313530302c22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a31383935322f70696374757265732f706f742d636572616d69632e737667227d2c227175616e74697479223a322c22746f74616c73223a5b7b2274797065223a22737562746f74616c222c22616d6f756e74223a333030307d2c7b2274797065223a22746f74616c222c22616d6f756e74223a333030307d5d7d5d2c2263757272656e6379223a22555344222c22746f74616c73223a5b7b2274797065223a22737562746f74616c222c22616d6f756e74223a333030307d2c7b2274797065223a22746f74616c222c22616d6f756e74223a333030307d5d2c22646973636f756e7473223a7b22636f646573223a5b5d2c226170706c696564223a5b5d7d2c226c696e6b73223a5b7b2274797065223a22707269766163795f706f6c696379222c2275726c223a2268747470733a2f2f6578616d706c652e636f6d2f70726976616379222c227469746c65223a225072697661637920706f6c696379227d2c7b2274797065223a227465726d735f6f665f73657276696365222c2275726c223a2268747470733a2f2f6578616d706c652e636f6d2f7465726d73222c227469746c65223a225465726d73206f662073657276696365227d2c7b2274797065223a22726566756e645f706f6c696379222c2275726c223a2268747470733a2f2f6578616d706c652e636f6d2f726566756e6473222c227469746c65223a22526566756e6473227d5d2c22636f6e74696e75655f75726c223a22687474703a2f2f3132372e302e302e313a31383935322f636f6e74696e75652f3530373062303064303732633437303861373637653936346134343532356162222c22657870697265735f6174223a22323032362d31322d32385431333a30333a32365a227d', 1795871006505351121, NULL, 1051);
INSERT INTO public.kept VALUES ('default', 'https://agent.example.com/profile.json', 'create_checkout', '', 'old-create-key', '\xa663dd8fc57ffd279e3d08f97ae5f8ce7d0e7380a848c65f7e507a3cba3d2434', '\x7b22737461747573223a3230317d0a7b22756370223a7b2276657273696f6e223a22323032362d30382d3235222c22737461747573223a2273756363657373222c226361706162696c6974696573223a7b226465762e7563702e73686f7070696e672e62757965725f636f6e73656e74223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d2c226465762e7563702e73686f7070696e672e636865636b6f7574223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d2c226465762e7563702e73686f7070696e672e646973636f756e74223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d2c226465762e7563702e73686f7070696e672e66756c66696c6c6d656e74223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d7d2c227061796d656e745f68616e646c657273223a7b22636f6d2e6578616d706c652e73616e64626f785f7061796d656e74223a5b7b226964223a226d6f636b5f7061796d656e745f68616e646c6572222c2276657273696f6e223a22323032362d30382d3235222c2273706563223a2268747470733a2f2f6578616d706c652e636f6d2f73616e64626f785f7061796d656e74222c22736368656d61223a2268747470733a2f2f6578616d706c652e636f6d2f73616e64626f785f7061796d656e742e6a736f6e222c22617661696c61626c655f696e737472756d656e7473223a5b7b2274797065223a2263617264227d5d2c22636f6e666967223a7b22656e7669726f6e6d656e74223a2273616e64626f78222c22737570706f727465645f746f6b656e73223a5b22737563636573735f746f6b656e222c226661696c5f746f6b656e222c226368616c6c656e67655f746f6b656e222c226368616c6c656e67655f7061737365645f746f6b656e222c2274687265655f64735f746f6b656e222c226465766963655f646174615f746f6b656e222c2274696d656f75745f746f6b656e222c22756e6b6e6f776e5f746f6b656e222c22736c6f775f746f6b656e225d2c22616374696f6e5f6f726967696e73223a5b22687474703a2f2f3132372e302e302e313a3138393532225d7d7d5d7d7d2c226964223a2263686b5f6538373932656334646161633461346439383631376166633639666238306565222c22737461747573223a2272656164795f666f725f636f6d706c657465222c226c696e655f6974656d73223a5b7b226964223a226c695f31222c226974656d223a7b226964223a22626f75717565745f726f736573222c227469746c65223a22426f7571756574206f662052656420526f736573222c227072696365223a333530302c22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a31383935322f70696374757265732f626f75717565742d726f7365732e737667227d2c227175616e74697479223a312c22746f74616c73223a5b7b2274797065223a22737562746f74616c222c22616d6f756e74223a333530307d2c7b2274797065223a22746f74616c222c22616d6f756e74223a333530307d5d7d5d2c226275796572223a7b22656d61696c223a226275796572406578616d706c652e636f6d227d2c2263757272656e6379223a22555344222c22746f74616c73223a5b7b2274797065223a22737562746f74616c222c22616d6f756e74223a333530307d2c7b2274797065223a2266756c66696c6c6d656e74222c22646973706c61795f74657874223a225368697070696e67222c22616d6f756e74223a307d2c7b2274797065223a22746f74616c222c22616d6f756e74223a333530307d5d2c22646973636f756e7473223a7b22636f646573223a5b5d2c226170706c696564223a5b5d7d2c2266756c66696c6c6d656e74223a7b226d6574686f6473223a5b7b226964223a227368697070696e675f31222c2274797065223a227368697070696e67222c226c696e655f6974656d5f696473223a5b226c695f31225d2c2264657374696e6174696f6e73223a5b7b2274797065223a227368697070696e675f61646472657373222c226964223a22686f6d65222c227374726565745f61646472657373223a2231204d61696e205374222c22616464726573735f6c6f63616c697479223a22537072696e676669656c64222c22616464726573735f726567696f6e223a224f52222c22616464726573735f636f756e747279223a225553222c22706f7374616c5f636f6465223a223937343735222c2266756c6c5f6e616d65223a2241204275796572227d5d2c2273656c65637465645f64657374696e6174696f6e5f6964223a22686f6d65222c2267726f757073223a5b7b226964223a227061636b6167655f31222c226c696e655f6974656d5f696473223a5b226c695f31225d2c226f7074696f6e73223a5b7b226964223a227374642d73686970222c227469746c65223a225374616e64617264205368697070696e67202846726565205368697070696e67206f6e20526f736520426f75717565747329222c226561726c696573745f66756c66696c6c6d656e745f74696d65223a22323032362d31322d30315430303a30303a30305a222c226c61746573745f66756c66696c6c6d656e745f74696d65223a22323032362d31322d30345432333a35393a35395a222c22746f74616c73223a5b7b2274797065223a22737562746f74616c222c22616d6f756e74223a3530307d2c7b2274797065223a22646973636f756e74222c22616d6f756e74223a2d3530307d2c7b2274797065223a22746f74616c222c22616d6f756e74223a307d5d7d2c7b226964223a226578702d736869702d7573222c227469746c65223a2245787072657373205368697070696e672028555329222c226561726c696573745f66756c66696c6c6d656e745f74696d65223a22323032362d31312d32395430303a30303a30305a222c226c61746573745f66756c66696c6c6d656e745f74696d65223a22323032362d31312d33305432333a35393a35395a222c22746f74616c73223a5b7b2274797065223a22737562746f74616c222c22616d6f756e74223a313530307d2c7b2274797065223a22746f74616c222c22616d6f756e74223a313530307d5d7d5d2c2273656c65637465645f6f7074696f6e5f6964223a227374642d73686970227d5d7d5d2c22617661696c61626c655f6d6574686f6473223a5b7b2274797065223a227368697070696e67222c226c696e655f6974656d5f696473223a5b226c695f31225d2c2266756c66696c6c61626c655f6f6e223a226e6f77222c226465736372697074696f6e223a2254686520676f6f64732063616e2062652073656e7420746f20616e20616464726573732e227d5d7d2c226d65737361676573223a5b7b2274797065223a22696e666f222c22636f6465223a22667265655f7368697070696e67222c22636f6e74656e74223a2246726565205368697070696e67206f6e20526f736520426f757175657473222c2270617468223a22242e66756c66696c6c6d656e742e6d6574686f64735b305d2e67726f7570735b305d2e6f7074696f6e735b305d227d5d2c226c696e6b73223a5b7b2274797065223a22707269766163795f706f6c696379222c2275726c223a2268747470733a2f2f6578616d706c652e636f6d2f70726976616379222c227469746c65223a225072697661637920706f6c696379227d2c7b2274797065223a227465726d735f6f665f73657276696365222c2275726c223a2268747470733a2f2f6578616d706c652e636f6d2f7465726d73222c227469746c65223a225465726d73206f662073657276696365227d2c7b2274797065223a22726566756e645f706f6c696379222c2275726c223a2268747470733a2f2f6578616d706c652e636f6d2f726566756e6473222c227469746c65223a22526566756e6473227d5d2c22636f6e74696e75655f75726c223a22687474703a2f2f3132372e302e302e313a31383935322f636f6e74696e75652f3732653639653633643932353438383638633037323636656462396665373261222c22657870697265735f6174223a22323032362d31312d32385431393a30333a32365a227d', 1795871006590094175, NULL, 2990);
INSERT INTO public.kept VALUES ('default', 'https://agent.example.com/profile.json', 'complete_checkout', '', 'old-complete-key', '\x9b4e188221aae1f8c8560be77f1d4edbd83bbb371652b47e6fbd7ba12b198e42', '\x7b22737461747573223a3230307d0a7b22756370223a7b2276657273696f6e223a22323032362d30382d3235222c22737461747573223a2273756363657373222c226361706162696c6974696573223a7b226465762e7563702e73686f7070696e672e62757965725f636f6e73656e74223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d2c226465762e7563702e73686f7070696e672e636865636b6f7574223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d2c226465762e7563702e73686f7070696e672e646973636f756e74223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d2c226465762e7563702e73686f7070696e672e66756c66696c6c6d656e74223a5b7b2276657273696f6e223a22323032362d30382d3235227d5d7d2c227061796d656e745f68616e646c657273223a7b22636f6d2e6578616d706c652e73616e64626f785f7061796d656e74223a5b7b226964223a226d6f636b5f7061796d656e745f68616e646c6572222c2276657273696f6e223a22323032362d30382d3235222c2273706563223a2268747470733a2f2f6578616d706c652e636f6d2f73616e64626f785f7061796d656e74222c22736368656d61223a2268747470733a2f2f6578616d706c652e636f6d2f73616e64626f785f7061796d656e742e6a736f6e222c22617661696c61626c655f696e737472756d656e7473223a5b7b2274797065223a2263617264227d5d2c22636f6e666967223a7b22656e7669726f6e6d656e74223a2273616e64626f78222c22737570706f727465645f746f6b656e73223a5b22737563636573735f746f6b656e222c226661696c5f746f6b656e222c226368616c6c656e67655f746f6b656e222c226368616c6c656e67655f7061737365645f746f6b656e222c2274687265655f64735f746f6b656e222c226465766963655f646174615f746f6b656e222c2274696d656f75745f746f6b656e222c22756e6b6e6f776e5f746f6b656e222c22736c6f775f746f6b656e225d2c22616374696f6e5f6f726967696e73223a5b22687474703a2f2f3132372e302e302e313a3138393532225d7d7d5d7d7d2c226964223a2263686b5f6538373932656334646161633461346439383631376166633639666238306565222c22737461747573223a22636f6d706c65746564222c226c696e655f6974656d73223a5b7b226964223a226c695f31222c226974656d223a7b226964223a22626f75717565745f726f736573222c227469746c65223a22426f7571756574206f662052656420526f736573222c227072696365223a333530302c22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a31383935322f70696374757265732f626f75717565742d726f7365732e737667227d2c227175616e74697479223a312c22746f74616c73223a5b7b2274797065223a22737562746f74616c222c22616d6f756e74223a333530307d2c7b2274797065223a22746f74616c222c22616d6f756e74223a333530307d5d7d5d2c226275796572223a7b22656d61696c223a226275796572406578616d706c652e636f6d227d2c2263757272656e6379223a22555344222c22746f74616c73223a5b7b2274797065223a22737562746f74616c222c22616d6f756e74223a333530307d2c7b2274797065223a2266756c66696c6c6d656e74222c22646973706c61795f74657874223a225368697070696e67222c22616d6f756e74223a307d2c7b2274797065223a22746f74616c222c22616d6f756e74223a333530307d5d2c22646973636f756e7473223a7b22636f646573223a5b5d2c226170706c696564223a5b5d7d2c2266756c66696c6c6d656e74223a7b226d6574686f6473223a5b7b226964223a227368697070696e675f31222c2274797065223a227368697070696e67222c226c696e655f6974656d5f696473223a5b226c695f31225d2c2264657374696e6174696f6e73223a5b7b2274797065223a227368697070696e675f61646472657373222c226964223a22686f6d65222c227374726565745f61646472657373223a2231204d61696e205374222c22616464726573735f6c6f63616c697479223a22537072696e676669656c64222c22616464726573735f726567696f6e223a224f52222c22616464726573735f636f756e747279223a225553222c22706f7374616c5f636f6465223a223937343735222c2266756c6c5f6e616d65223a2241204275796572227d5d2c2273656c65637465645f64657374696e6174696f6e5f6964223a22686f6d65222c2267726f757073223a5b7b226964223a227061636b6167655f31222c226c696e655f6974656d5f696473223a5b226c695f31225d2c226f7074696f6e73223a5b7b226964223a227374642d73686970222c227469746c65223a225374616e64617264205368697070696e67202846726565205368697070696e67206f6e20526f736520426f75717565747329222c226561726c696573745f66756c66696c6c6d656e745f74696d65223a22323032362d31322d30315430303a30303a30305a222c226c61746573745f66756c66696c6c6d656e745f74696d65223a22323032362d31322d30345432333a35393a35395a222c22746f74616c73223a5b7b2274797065223a22737562746f74616c222c22616d6f756e74223a3530307d2c7b2274797065223a22646973636f756e74222c22616d6f756e74223a2d3530307d2c7b2274797065223a22746f74616c222c22616d6f756e74223a307d5d7d2c7b226964223a226578702d736869702d7573222c227469746c65223a2245787072657373205368697070696e672028555329222c226561726c696573745f66756c66696c6c6d656e745f74696d65223a22323032362d31312d32395430303a30303a30305a222c226c61746573745f66756c66696c6c6d656e745f74696d65223a22323032362d31312d33305432333a35393a35395a222c22746f74616c73223a5b7b2274797065223a22737562746f74616c222c22616d6f756e74223a313530307d2c7b2274797065223a22746f74616c222c22616d6f756e74223a313530307d5d7d5d2c2273656c65637465645f6f7074696f6e5f6964223a227374642d73686970227d5d7d5d2c22617661696c61626c655f6d6574686f6473223a5b7b2274797065223a227368697070696e67222c226c696e655f6974656d5f696473223a5b226c695f31225d2c2266756c66696c6c61626c655f6f6e223a226e6f77222c226465736372697074696f6e223a2254686520676f6f64732063616e2062652073656e7420746f20616e20616464726573732e227d5d7d2c227061796d656e74223a7b22696e737472756d656e7473223a5b7b226964223a226931222c2268616e646c65725f6964223a226d6f636b5f7061796d656e745f68616e646c6572222c2274797065223a2263617264222c2273656c6563746564223a747275657d5d7d2c226d65737361676573223a5b7b2274797065223a22696e666f222c22636f6465223a22667265655f7368697070696e67222c22636f6e74656e74223a2246726565205368697070696e67206f6e20526f736520426f757175657473222c2270617468223a22242e66756c66696c6c6d656e742e6d6574686f64735b305d2e67726f7570735b305d2e6f7074696f6e735b305d227d5d2c226c696e6b73223a5b7b2274797065223a22707269766163795f706f6c696379222c2275726c223a2268747470733a2f2f6578616d706c652e636f6d2f70726976616379222c227469746c65223a225072697661637920706f6c696379227d2c7b2274797065223a227465726d735f6f665f73657276696365222c2275726c223a2268747470733a2f2f6578616d706c652e636f6d2f7465726d73222c227469746c65223a225465726d73206f662073657276696365227d2c7b2274797065223a22726566756e645f706f6c696379222c2275726c223a2268747470733a2f2f6578616d706c652e636f6d2f726566756e6473222c227469746c65223a22526566756e6473227d5d2c22657870697265735f6174223a22323032362d31312d32385431393a30333a32365a222c226f72646572223a7b226964223a226f72645f3466356464323035373361643464656138666563626131623531663565303965222c226c6162656c223a22233531463545303945222c227065726d616c696e6b5f75726c223a22687474703a2f2f3132372e302e302e313a31383935322f6f726465722f6430646266323464373161643439383839353433626466353636343338623037227d7d', 1795871006630332220, NULL, 3159);
INSERT INTO public.orders VALUES ('default', 'ord_4f5dd20573ad4dea8fecba1b51f5e09e', 'https://agent.example.com/profile.json', 'd0dbf24d71ad49889543bdf566438b07', 1, 'chk_e8792ec4daac4a4d98617afc69fb80ee', '{"id":"ord_4f5dd20573ad4dea8fecba1b51f5e09e","label":"#51F5E09E","token":"d0dbf24d71ad49889543bdf566438b07","owner":"https://agent.example.com/profile.json","checkout_id":"chk_e8792ec4daac4a4d98617afc69fb80ee","line_items":[{"id":"li_1","item":{"id":"bouquet_roses","title":"Bouquet of Red Roses","price":3500,"image_url":"http://127.0.0.1:18952/pictures/bouquet-roses.svg","needs_fulfillment":true,"weight_grams":900},"original":1,"total":1,"fulfilled":0,"totals":[{"kind":"subtotal","amount":3500},{"kind":"total","amount":3500}]}],"currency":"USD","totals":[{"kind":"subtotal","amount":3500},{"kind":"fulfillment","display_text":"Shipping","amount":0},{"kind":"total","amount":3500}],"expectations":[{"id":"exp_1","line_items":[{"id":"li_1","quantity":1}],"method":"shipping","destination":{"street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"},"description":"Standard Shipping (Free Shipping on Rose Bouquets)","fulfillable_on":"now"}],"events":[],"adjustments":[],"payment":{"handler_id":"mock_payment_handler","attempt_id":"pay_b6f0ab09cc054ef5b3ea87ac1ce1364e","reference":"sandbox_pay_b6f0ab09cc054ef5b3ea87ac1ce1364e"},"placed_at":"2026-11-28T13:03:26.629784719Z"}', 1795871006629784719, false, '01a22240-dfa6-734e-82f5-19eacaa1c1d1', NULL, '#51F5E09E', NULL);
INSERT INTO public.outbox VALUES ('default', '40d5e4b4-3466-490f-831d-44553e7fbf73', 'ord_4f5dd20573ad4dea8fecba1b51f5e09e', 'https://agent.example.com/profile.json', 1, 1795871006629784719, 'waiting', 0, NULL, 1795871006629784719, NULL, NULL, NULL, NULL, NULL, NULL, '{"id":"ord_4f5dd20573ad4dea8fecba1b51f5e09e","label":"#51F5E09E","token":"d0dbf24d71ad49889543bdf566438b07","owner":"https://agent.example.com/profile.json","checkout_id":"chk_e8792ec4daac4a4d98617afc69fb80ee","line_items":[{"id":"li_1","item":{"id":"bouquet_roses","title":"Bouquet of Red Roses","price":3500,"image_url":"http://127.0.0.1:18952/pictures/bouquet-roses.svg","needs_fulfillment":true,"weight_grams":900},"original":1,"total":1,"fulfilled":0,"totals":[{"kind":"subtotal","amount":3500},{"kind":"total","amount":3500}]}],"currency":"USD","totals":[{"kind":"subtotal","amount":3500},{"kind":"fulfillment","display_text":"Shipping","amount":0},{"kind":"total","amount":3500}],"expectations":[{"id":"exp_1","line_items":[{"id":"li_1","quantity":1}],"method":"shipping","destination":{"street_address":"1 Main St","address_locality":"Springfield","address_region":"OR","address_country":"US","postal_code":"97475","full_name":"A Buyer"},"description":"Standard Shipping (Free Shipping on Rose Bouquets)","fulfillable_on":"now"}],"events":[],"adjustments":[],"payment":{"handler_id":"mock_payment_handler","attempt_id":"pay_b6f0ab09cc054ef5b3ea87ac1ce1364e","reference":"sandbox_pay_b6f0ab09cc054ef5b3ea87ac1ce1364e"},"placed_at":"2026-11-28T13:03:26.629784719Z"}', true, '01a22240-dfa6-734e-82f5-19eb66e3361b');
INSERT INTO public.products VALUES ('default', 'bouquet_roses_product', 3189425506223128577, 1, '{"id":"bouquet_roses_product","handle":"bouquet-roses","title":"Bouquet of Red Roses","description":{"plain":"Twelve long-stemmed red roses, cut this morning and tied by hand."},"url":"https://example.com/products/bouquet-roses","categories":[{"value":"Flowers > Bouquets","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/bouquet-roses.svg","alt_text":"A tied bouquet of red roses"}],"variants":[{"id":"bouquet_roses","sku":"BOUQUET-ROSES","price":{"amount":3500,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":900}],"tags":["roses","red","romantic"]}');
INSERT INTO public.products VALUES ('default', 'pot_ceramic_product', 3189425506223128578, 1, '{"id":"pot_ceramic_product","handle":"pot-ceramic","title":"Ceramic Pot","description":{"plain":"A glazed pot with a saucer and a drain hole, for plants in pots of up to 14 cm."},"url":"https://example.com/products/pot-ceramic","categories":[{"value":"Pots & Care","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/pot-ceramic.svg","alt_text":"A glazed ceramic pot"}],"variants":[{"id":"pot_ceramic","sku":"POT-CERAMIC","price":{"amount":1500,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":1100}],"tags":["pot","ceramic"]}');
INSERT INTO public.products VALUES ('default', 'bouquet_sunflowers_product', 3189425506223128579, 1, '{"id":"bouquet_sunflowers_product","handle":"bouquet-sunflowers","title":"Sunflower Bundle","description":{"plain":"Seven sunflowers on sturdy stems, bundled with eucalyptus."},"url":"https://example.com/products/bouquet-sunflowers","categories":[{"value":"Flowers > Bouquets","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/bouquet-sunflowers.svg","alt_text":"A bundle of sunflowers"}],"variants":[{"id":"bouquet_sunflowers","sku":"BOUQUET-SUNFLOWERS","price":{"amount":2500,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":850}],"tags":["sunflowers","yellow"]}');
INSERT INTO public.products VALUES ('default', 'bouquet_tulips_product', 3189425506223128580, 1, '{"id":"bouquet_tulips_product","handle":"bouquet-tulips","title":"Spring Tulips","description":{"plain":"Twenty tulips in mixed colors, still closed, so that they open at home."},"url":"https://example.com/products/bouquet-tulips","categories":[{"value":"Flowers > Bouquets","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/bouquet-tulips.svg","alt_text":"A bouquet of mixed tulips"}],"variants":[{"id":"bouquet_tulips","sku":"BOUQUET-TULIPS","price":{"amount":3000,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":700}],"tags":["tulips","spring"]}');
INSERT INTO public.products VALUES ('default', 'orchid_white_product', 3189425506223128581, 1, '{"id":"orchid_white_product","handle":"orchid-white","title":"White Orchid","description":{"plain":"A moth orchid with two flowering stems, in a clear inner pot."},"url":"https://example.com/products/orchid-white","categories":[{"value":"Plants","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/orchid-white.svg","alt_text":"A white moth orchid in a pot"}],"variants":[{"id":"orchid_white","sku":"ORCHID-WHITE","price":{"amount":4500,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":1600}],"tags":["orchid","white","gift"]}');
INSERT INTO public.products VALUES ('default', 'gardenias_product', 3189425506223128582, 1, '{"id":"gardenias_product","handle":"gardenias","title":"Gardenias","description":{"plain":"A small gardenia bush with dark leaves and buds that smell of summer evenings."},"url":"https://example.com/products/gardenias","categories":[{"value":"Plants","taxonomy":"merchant"}],"media":[{"type":"image","url":"https://pictures.example.com/gardenias.svg","alt_text":"A gardenia with white blossoms"}],"variants":[{"id":"gardenias","sku":"GARDENIAS","price":{"amount":2000,"currency":"USD"},"availability":{"available":true,"status":"in_stock"},"weight_grams":1300}],"tags":["gardenia","white","scented"]}');
INSERT INTO public.schema_version VALUES (1, 7, 1);
INSERT INTO public.shops VALUES ('default', '\x0a915290e86e114f96a6769b2cbc99bda88d0ae46cddcd686b9d49bf0325dedb');
INSERT INTO public.stock VALUES ('default', 'pot_ceramic', 'pot_ceramic_product', 2000, 0, 2000, 0);
INSERT INTO public.stock VALUES ('default', 'bouquet_sunflowers', 'bouquet_sunflowers_product', 500, 0, 500, 0);
INSERT INTO public.stock VALUES ('default', 'bouquet_tulips', 'bouquet_tulips_product', 1500, 0, 1500, 0);
INSERT INTO public.stock VALUES ('default', 'orchid_white', 'orchid_white_product', 800, 0, 800, 0);
INSERT INTO public.stock VALUES ('default', 'gardenias', 'gardenias_product', 0, 0, 0, 0);
INSERT INTO public.stock VALUES ('default', 'bouquet_roses', 'bouquet_roses_product', 999, 0, 1000, 0);
INSERT INTO public.takings VALUES ('default', 'bouquet_roses', 'chk_e8792ec4daac4a4d98617afc69fb80ee', 1795871006629784719, 1);
INSERT INTO public.tasks VALUES ('default', 'tell', 'ord_4f5dd20573ad4dea8fecba1b51f5e09e', 'tell:https://agent.example.com/profile.json', NULL, 1795871006629784719, '', 1795871006629784719, 0, false, NULL, false, NULL, NULL, NULL);
INSERT INTO public.told VALUES ('default', 1795871006349083448);
ALTER TABLE ONLY public.carts
    ADD CONSTRAINT carts_pkey PRIMARY KEY (shop, id);
ALTER TABLE ONLY public.catalog_event_numbers
    ADD CONSTRAINT catalog_event_numbers_pkey PRIMARY KEY (shop);
ALTER TABLE ONLY public.catalog_events
    ADD CONSTRAINT catalog_events_pkey PRIMARY KEY (shop, number);
ALTER TABLE ONLY public.catalogs
    ADD CONSTRAINT catalogs_pkey PRIMARY KEY (shop);
ALTER TABLE ONLY public.checkouts
    ADD CONSTRAINT checkouts_pkey PRIMARY KEY (shop, id);
ALTER TABLE ONLY public.commits
    ADD CONSTRAINT commits_pkey PRIMARY KEY (shop, id);
ALTER TABLE ONLY public.kept
    ADD CONSTRAINT kept_pkey PRIMARY KEY (shop, key, resource, operation, owner);
ALTER TABLE ONLY public.mandates
    ADD CONSTRAINT mandates_pkey PRIMARY KEY (shop, checkout_id);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (shop, id);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (shop, id);
ALTER TABLE ONLY public.owners
    ADD CONSTRAINT owners_pkey PRIMARY KEY (shop, kind, id);
ALTER TABLE ONLY public.products
    ADD CONSTRAINT products_pkey PRIMARY KEY (shop, id);
ALTER TABLE ONLY public.remote_carts
    ADD CONSTRAINT remote_carts_pkey PRIMARY KEY (shop, reference);
ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (one);
ALTER TABLE ONLY public.shops
    ADD CONSTRAINT shops_pkey PRIMARY KEY (shop);
ALTER TABLE ONLY public.stock
    ADD CONSTRAINT stock_pkey PRIMARY KEY (shop, variant);
ALTER TABLE ONLY public.takings
    ADD CONSTRAINT takings_pkey PRIMARY KEY (shop, variant, checkout, at);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (shop, kind, key);
ALTER TABLE ONLY public.told
    ADD CONSTRAINT told_pkey PRIMARY KEY (shop);
CREATE INDEX carts_by_expiry ON public.carts USING btree (shop, expires_at);
CREATE INDEX carts_by_group ON public.carts USING gin (string_to_array(holder, ' '::text)) WHERE (holder IS NOT NULL);
CREATE INDEX carts_by_holder ON public.carts USING btree (shop, holder, held) WHERE (holder IS NOT NULL);
CREATE UNIQUE INDEX carts_by_token ON public.carts USING btree (shop, token);
CREATE INDEX carts_of_strangers_by_expiry ON public.carts USING btree (shop, expires_at) WHERE (holder < '~'::text);
CREATE INDEX catalog_events_by_age ON public.catalog_events USING btree (shop, at);
CREATE INDEX checkouts_by_attempt ON public.checkouts USING btree (shop, attempted_at) WHERE (attempted_at IS NOT NULL);
CREATE INDEX checkouts_by_cart ON public.checkouts USING btree (shop, cart_id, made) WHERE (cart_id IS NOT NULL);
CREATE INDEX checkouts_by_expiry ON public.checkouts USING btree (shop, expires_at);
CREATE INDEX checkouts_by_group ON public.checkouts USING gin (string_to_array(holder, ' '::text)) WHERE (holder IS NOT NULL);
CREATE INDEX checkouts_by_holder ON public.checkouts USING btree (shop, holder, held) WHERE (holder IS NOT NULL);
CREATE UNIQUE INDEX checkouts_by_token ON public.checkouts USING btree (shop, token);
CREATE INDEX checkouts_of_strangers_by_expiry ON public.checkouts USING btree (shop, expires_at) WHERE (holder < '~'::text);
CREATE UNIQUE INDEX checkouts_open ON public.checkouts USING btree (shop, open_cart) WHERE (open_cart IS NOT NULL);
CREATE INDEX kept_by_age ON public.kept USING btree (shop, at);
CREATE INDEX kept_by_group ON public.kept USING gin (string_to_array(holder, ' '::text)) WHERE (holder IS NOT NULL);
CREATE INDEX kept_by_holder ON public.kept USING btree (shop, holder, held) WHERE (holder IS NOT NULL);
CREATE INDEX orders_by_age ON public.orders USING btree (shop, made);
CREATE INDEX orders_by_buyer ON public.orders USING btree (shop, buyer) WHERE (buyer IS NOT NULL);
CREATE UNIQUE INDEX orders_by_checkout ON public.orders USING btree (shop, checkout_id);
CREATE INDEX orders_by_label ON public.orders USING btree (shop, label) WHERE (label IS NOT NULL);
CREATE INDEX orders_by_reference ON public.orders USING btree (shop, reference) WHERE (reference IS NOT NULL);
CREATE UNIQUE INDEX orders_by_token ON public.orders USING btree (shop, token);
CREATE INDEX orders_with_addresses ON public.orders USING btree (shop, placed_at) WHERE (NOT anonymous);
CREATE INDEX outbox_by_age ON public.outbox USING btree (shop, made);
CREATE INDEX outbox_due ON public.outbox USING btree (shop, owner, next_at) WHERE (state = 'waiting'::text);
CREATE INDEX outbox_of_order ON public.outbox USING btree (shop, order_id, order_version);
CREATE INDEX outbox_settled ON public.outbox USING btree (shop, settled_at) WHERE (settled_at IS NOT NULL);
CREATE INDEX outbox_since ON public.outbox USING btree (shop, since) WHERE (state = 'waiting'::text);
CREATE INDEX outbox_untold ON public.outbox USING btree (shop, made) WHERE untold;
CREATE INDEX owners_by_age ON public.owners USING btree (shop, kind, at);
CREATE INDEX products_by_number ON public.products USING btree (shop, number);
CREATE UNIQUE INDEX products_by_place ON public.products USING btree (shop, place);
CREATE INDEX remote_carts_by_age ON public.remote_carts USING btree (shop, at);
CREATE INDEX stock_by_product ON public.stock USING btree (shop, product);
CREATE INDEX takings_by_age ON public.takings USING btree (shop, at);
CREATE INDEX tasks_by_name ON public.tasks USING btree (shop, name) WHERE (name IS NOT NULL);
CREATE INDEX tasks_due ON public.tasks USING btree (shop, lane, due) WHERE (NOT given_up);

//! Drafts of mappings.

use serde_json::{Value, json};
use ucp_mapped::draft::{from_graphql, from_openapi};

/// Names of the holes of a draft, in which nothing else may be wrong.
fn holes(draft: &str) -> Vec<String> {
    let Err(faulty) = ucp_mapped::read(draft) else { return Vec::new() };
    let hole = |fault: &String| {
        let name = fault.split_once(": the hole `").and_then(|(_, rest)| rest.split_once("` must be filled"));
        name.unwrap_or_else(|| panic!("{fault}\n{draft}")).0.to_owned()
    };
    faulty.0.iter().map(hole).collect()
}

fn openapi() -> Value {
    let of = |schema: Value| json!({"responses": {"200": {"content": {"application/json": {"schema": schema}}}}});
    let product = json!({"$ref": "#/components/schemas/Product"});
    let cart = json!({"$ref": "#/components/schemas/Cart"});
    let mut list = of(json!({"properties": {
        "count": {"type": "integer"}, "next": {"type": ["string", "null"]}, "results": {"type": "array", "items": product},
    }}));
    list["parameters"] = json!([
        {"name": "q", "in": "query"}, {"name": "page", "in": "query"}, {"name": "page_size", "in": "query"},
        {"name": "sort", "in": "query"},
    ]);
    let mut add = of(cart.clone());
    add["requestBody"] = json!({"content": {"application/json": {"schema": {
        "required": ["product_id", "quantity", "warehouse"],
        "properties": {
            "product_id": {"type": "integer"}, "quantity": {"type": "integer"}, "warehouse": {"type": "string"},
            "note": {"type": "string"},
        },
    }}}});
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Flowers \"& Co\"\n"},
        "servers": [{"url": "https://flowers.example/api"}],
        "paths": {
            "/categories/": {"get": of(json!({"type": "array", "items": {"properties": {"name": {"type": "string"}}}}))},
            "/products/": {"get": list},
            "/products{format}": {"get": of(product.clone())},
            "/products/{product_id}/": {"get": of(product)},
            "/carts/{cart_id}/": {"get": of(cart.clone())},
            "/carts/{cart_id}/lines/": {"post": add},
            "/checkout/": {"post": of(json!({"properties": {"number": {"type": "string"}}}))},
            "/orders/{number}/": {"get": of(json!({"properties": {"number": {"type": "string"}}}))},
        },
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}},
            "schemas": {
                "Product": {"properties": {
                    "id": {"type": "integer"}, "name": {"type": "string"}, "description": {"type": "string"},
                    "price": {"type": "string"}, "currency": {"type": "string"}, "in_stock": {"type": "boolean"},
                    "images": {"type": "array", "items": {"properties": {"url": {"type": "string"}}}},
                }},
                "Cart": {"properties": {
                    "id": {"type": "string"}, "total": {"type": "number"},
                    "lines": {"type": "array", "items": {"properties": {
                        "product": {"type": "integer"}, "quantity": {"type": "integer"}, "unit_price": {"type": "number"},
                    }}},
                }},
            },
        },
    })
}

#[test]
fn a_draft_of_openapi_has_what_names_say_and_names_what_they_do_not() {
    let draft = from_openapi(&openapi().to_string()).expect("a draft");
    for line in [
        "name = \"Flowers & Co\"",
        "address = \"https://flowers.example/api\"",
        "auth = { kind = \"token\", secret = \"SHOP_TOKEN\", header = \"X-Api-Key\", prefix = \"\" }",
        "  id: (.id | tostring),",
        "  title: .name,",
        "    price: ((.currency | currency) as $in | {amount: (.price | minor($in)), currency: $in}),",
        "    availability: {available: (.in_stock | boolean)}",
        "paging = \"page\"",
        "{products: .results, next: (.next != null), total: .count}",
        "path = 'products/'",
        "query.q = \"$question.words\"",
        "query.page = \"$paging.number\"",
        "query.page_size = \"$paging.size\"",
        "# query.sort =",
        "path = 'products/{.}/'",
        "path = 'carts/{$question.cart}/lines/'",
        "  product_id: (.variant | tonumber),",
        "  quantity: .quantity,",
        "  # note: text",
        "    price: (.unit_price | minor($market.currency))",
    ] {
        assert!(draft.lines().any(|own| own == line), "{line}\n{draft}");
    }
    let holes = holes(&draft);
    for hole in ["warehouse, text", "how a cart is given up", "status placed with the order, or absent", "number"] {
        assert!(holes.iter().any(|own| own == hole), "{hole}: {holes:?}");
    }
}

#[test]
fn a_draft_whose_holes_are_filled_is_a_mapping() {
    let draft = from_openapi(&openapi().to_string()).expect("a draft");
    let mut filled = draft.as_str().to_owned();
    while let Some(at) = filled.find("hole(\"") {
        let end = at + filled[at..].find("\")").expect("its end") + 2;
        filled.replace_range(at..end, "null");
    }
    assert!(holes(&filled).is_empty(), "{filled}");
}

const SDL: &str = r#"
"""A shop. type Nothing { a: Int }"""
schema { query: Query, mutation: Mutation }
directive @cost(weight: Int = 1) repeatable on FIELD_DEFINITION | OBJECT
scalar Money @specifiedBy(url: "https://example.com/\"money")
enum Stock { IN OUT }
interface Node { id: ID! }
type Query {
  "Lists products." products(options: ProductListOptions = {take: 10}, tags: [String!]): ProductList! @cost(weight: 5)
  product(id: ID!): Product
  activeCart: Cart
  orderByCode(code: String!): Order
}
type ProductList { items: [Product!]! totalItems: Int! }
input ProductListOptions { take: Int, skip: Int, term: String, filter: Filter }
input Filter { and: [Filter!], name: String, between: Range }
input Range { start: Int!, end: Int! }
type Product implements Node & Other @cost {
  id: ID! # the identifier
  name: String!
  description: String!
  variants: [Variant!]!
}
type Variant { id: ID! sku: String! priceWithTax: Money! currencyCode: String! stockLevel: Stock! }
type Cart { id: ID! lines: [Line!]! total: Money! }
type Line { id: ID! productVariant: Variant! quantity: Int! unitPriceWithTax: Money! }
type Order { id: ID! code: String! state: String! }
union AddResult = | Cart | StockError
type StockError { errorCode: String! message: String! }
type Mutation {
  addItemToCart(productVariantId: ID!, quantity: Int!, gift: Boolean!): AddResult!
  applyCouponCode(couponCode: String!): AddResult!
  placeOrder(note: String): Order
}
extend type Mutation { setShippingMethod(shippingMethodId: [ID!]!): AddResult! }
"#;

#[test]
fn a_draft_of_graphql_has_documents_and_variables() {
    let draft = from_graphql(SDL).expect("a draft");
    for line in [
        "paging = \"offset\"",
        "query($options: ProductListOptions) { products(options: $options) { items { id name description variants { id sku \
         priceWithTax currencyCode stockLevel } } totalItems } }",
        "  options: {take: $paging.size, skip: $paging.offset, term: $question.words}",
        "  variants: [.variants[] | {",
        "query($id: ID!) { product(id: $id) { id name description variants { id sku priceWithTax currencyCode stockLevel } } }",
        "each = \"$question.ids\"",
        "  id: .",
        "  productVariantId: .variant,",
        "  quantity: .quantity,",
        "mutation($couponCode: String!) { applyCouponCode(couponCode: $couponCode) { __typename ... on Cart { id } ... on \
         StockError { errorCode message } } }",
        "  shippingMethodId: [$question.delivery_option]",
    ] {
        assert!(draft.lines().any(|own| own == line), "{line}\n{draft}");
    }
    let holes = holes(&draft);
    for hole in ["gift, Boolean!", "true if this says that it can be bought", "how a cart is given up"] {
        assert!(holes.iter().any(|own| own == hole), "{hole}: {holes:?}");
    }
}

#[test]
fn an_introspection_is_read_like_sdl() {
    let scalar = |name: &str| json!({"kind": "SCALAR", "name": name});
    let some = |of: Value| json!({"kind": "NON_NULL", "ofType": of});
    let list = |of: Value| json!({"kind": "LIST", "ofType": of});
    let object = |name: &str| json!({"kind": "OBJECT", "name": name});
    let field = |name: &str, of: Value| json!({"name": name, "args": [], "type": of});
    let document = json!({"data": {"__schema": {
        "queryType": {"name": "Query"}, "mutationType": null,
        "types": [
            {"kind": "OBJECT", "name": "Query", "fields": [
                {"name": "products", "args": [{"name": "first", "type": scalar("Int")}], "type": some(list(some(object("Product"))))},
            ]},
            {"kind": "OBJECT", "name": "Product", "fields": [
                field("id", some(scalar("ID"))), field("name", scalar("String")), field("price", scalar("Float")),
                field("evil' } ''' x", scalar("String")),
            ]},
            {"kind": "OBJECT", "name": "__Type", "fields": []},
        ],
    }}});
    let draft = from_graphql(&document.to_string()).expect("a draft");
    assert!(draft.contains("query($first: Int) { products(first: $first) { id name price } }"), "{draft}");
    assert!(!draft.contains("evil") && draft.contains("no query and no mutation looks like a cart"), "{draft}");
    assert!(!holes(&draft).is_empty());
}

#[test]
fn documents_that_are_none_are_refused() {
    for (document, reason) in [
        ("openapi: 3.0.0", "must be an OpenAPI document in JSON (convert one in YAML first)"),
        ("{}", "must be an OpenAPI document with `paths`"),
        ("{\"paths\": {}}", "must be an OpenAPI document with `paths`"),
    ] {
        let error = from_openapi(document).expect_err(document).to_string();
        assert!(error.starts_with(reason), "{error}");
    }
    for (document, reason) in [
        ("{\"data\": {}}", "must be the answer to an introspection"),
        ("{", "must be JSON or SDL"),
        ("", "must define the type `Query` with its fields"),
        ("hello", "must be a schema in SDL: expected a definition"),
        ("type Query { a", "must be a schema in SDL: expected `:`"),
        ("type Query { a(b: [[[[[[[[[[[Int", "must be a schema in SDL: expected lists"),
    ] {
        let error = from_graphql(document).expect_err(document).to_string();
        assert!(error.starts_with(reason), "{document}: {error}");
    }
}

#[test]
fn no_document_breaks_out_of_its_draft() {
    let evil = "x''' \"\\\n# [cart]";
    let mut document = openapi();
    document["info"]["title"] = evil.into();
    document["servers"][0]["url"] = format!("https://shop.example/{evil}").into();
    document["paths"][format!("/products/{evil}/")] = document["paths"]["/products/"].clone();
    document["components"]["schemas"]["Product"]["properties"][evil] = json!({"type": "string"});
    let add = &mut document["paths"]["/carts/{cart_id}/lines/"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    add["properties"][evil] = json!({"type": "string"});
    add["required"] = json!([evil]);
    // Schemas that contain themselves come to an end.
    document["components"]["schemas"]["Product"]["properties"]["children"] =
        json!({"type": "array", "items": {"$ref": "#/components/schemas/Product"}});
    document["components"]["schemas"]["Cart"] = json!({"$ref": "#/components/schemas/Cart"});
    assert!(!holes(&from_openapi(&document.to_string()).expect("a draft")).is_empty());
}

//! Hostile identifiers.

use super::*;

fn hostile() -> Vec<String> {
    let mut ids: Vec<String> = [
        "' OR '1'='1",
        "'; DROP TABLE products; --",
        "\" OR 1=1",
        "%",
        "_",
        "*",
        "prod_abc12*",
        "PROD_ABC123",
        " prod_abc123",
        "prod_abc123 ",
        "../../../etc/passwd",
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data",
        "$.ids",
        "{{7*7}}",
        "${jndi:ldap://x}",
        "<script>alert(1)</script>",
        "\u{202e}321cba_dorp",
        "ｐrod_abc123",
        "🦀",
        "\r\nSet-Cookie: a=b",
        "null",
        "0",
        "-1",
        "NaN",
    ]
    .map(str::to_owned)
    .to_vec();
    ids.push("x".repeat(1_000_000));
    ids.push("é".repeat(100_000));
    ids
}

/// SEC-04: identifiers are compared, never interpreted.
#[test]
fn sec_04_identifiers_are_opaque() {
    let gateway = Gateway::shared();
    for id in hostile() {
        let shown: String = id.chars().take(40).collect();
        let product = json!({ "id": id });
        let [rest, mcp] = both(&gateway, "get_product", product.to_string().as_bytes());
        assert_eq!(rest, mcp, "{shown}");
        let answer = rest.answer();
        assert_eq!((codes(&answer), &answer["ucp"]["status"]), (vec!["not_found"], &json!("error")), "{shown}");

        let listed = json!({ "ids": [id, "prod_abc123"] });
        let [rest, mcp] = both(&gateway, "lookup_catalog", listed.to_string().as_bytes());
        assert_eq!(rest, mcp, "{shown}");
        let answer = rest.answer();
        assert_eq!(elements(&answer["products"]).len(), 1, "{shown}");
        assert_eq!(answer["messages"][0]["content"], id, "the identifier comes back as it was sent (LKP-06)");
    }
}

#[test]
fn texts_of_every_kind_are_only_texts() {
    let gateway = Gateway::shared();
    for text in hostile().into_iter().filter(|text| text.len() < 1_000) {
        for payload in [
            json!({ "query": "runner", "context": { "language": text, "currency": text, "address_country": text, "intent": text } }),
            json!({ "query": "runner", "filters": { "categories": [text] } }),
        ] {
            gateway.search(&payload);
        }
        let selected = json!([{ "name": text, "label": text, "id": text }]);
        gateway.product(&json!({ "id": "prod_abc123", "selected": selected, "preferences": [text, text] }));
    }
}

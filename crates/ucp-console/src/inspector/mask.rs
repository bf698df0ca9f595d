//! Masking: of a document, members that are listed here are shown, and every other value is replaced before a record is
//! written. So nothing is shown that tells who a buyer is, opens a page of theirs, or pays, nor what nobody has heard of.

use std::borrow::Cow;

use serde_json::{Map, Value};
use ucp_core::purchase::payment::holds_card_number;

/// Placeholder of a masked value.
const MASKED: &str = "•••";

/// Members that hold others, which are looked at one by one. Whatever is not an object or a list there is masked.
const GROUPS: &str = "_meta adjustments allocations applied arguments available_instruments available_methods barcodes cart catalog \
    checkout content context credits data delivery_options description discount discounts error errors events \
    expectations fees filters fulfillment groups handlers hours inputs instruments item items line_items links \
    list_price list_price_range location locations media merchant merchants messages meta methods option options \
    order pagination params price price_range product products quantity quantity_rule rating result selected seller \
    structuredContent taxes totals ucp ucp-agent unit_price values variants";

/// Members that hold others under names of their own, which are reverse domains.
const REGISTRIES: [&str; 3] = ["capabilities", "payment_handlers", "services"];

/// Members whose value is shown: names of the protocol, identifiers, amounts, numbers, times, and words that are one of a few.
const VALUES: &str = "address_country amount available cart_id checkout_id count country created_at currency day distance exists \
    expires_at fulfillable_on fulfilled handler_id has_next_page height id ids isError jsonrpc kind language \
    lead_days limit line_item_ids list_price max max_days method method_type method_types min min_days occurred_at \
    open_now order_id original parent_id payment_instrument_id placed_at price priority product_id profile \
    provisional quantity radius rating release request_id retry_after retryable scale_max scale_min \
    selected_destination_id selected_group_id selected_option_id severity sku status step total total_count type \
    unit version width";

/// Members that the gateway and the shop write, and whose value is shown in answers.
const WRITTEN: &str = "accepted alt_text brand carrier categories code content content_type display_text endpoint extends html \
    image_url label markdown message name path plain problem schema source spec tags title transport url";

/// Members in which the gateway may repeat what a caller has said.
const REPEATING: [&str; 5] = ["accepted", "content", "message", "path", "problem"];

/// Members of a payment whose values are shown.
const OF_PAYMENTS: [&str; 2] = ["handler_id", "type"];

/// Maximum number of values of a request that are looked for in its answer, and their length in bytes.
const SOUGHT: usize = 512;
const SOUGHT_LENGTH: std::ops::RangeInclusive<usize> = 4..=256;

/// Query parameters whose values are kept.
const PARAMETERS: [&str; 1] = ["view"];

/// Masks the path and query of a request: email addresses in its parts, and the values of parameters that are not known.
pub(super) fn masked_path(path: &str) -> String {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let address =
        |part: &str| part.contains('@') || part.to_ascii_lowercase().contains("%40") || holds_card_number(part);
    let parts: Vec<_> = path.split('/').map(|part| if address(part) { MASKED } else { part }).collect();
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if !PARAMETERS.contains(&name) => {
            format!("{}={MASKED}", if address(name) { MASKED } else { name })
        }
        None if address(pair) => MASKED.to_owned(),
        _ => pair.to_owned(),
    };
    let query: Option<Vec<_>> = query.map(|query| query.split('&').map(pair).collect());
    parts.join("/") + &query.map_or_else(String::new, |query| format!("?{}", query.join("&")))
}

/// Replaces the email addresses in a text: what stands around an `@` up to white space, quotes and brackets.
pub(super) fn without_addresses(text: &str) -> Cow<'_, str> {
    if !text.contains('@') {
        return Cow::Borrowed(text);
    }
    let is_edge = |character: char| character.is_whitespace() || "\"'`<>()[]{},;:/\\".contains(character);
    let words = text.split_inclusive(is_edge).map(|word| {
        let edge = word
            .chars()
            .next_back()
            .filter(|last| is_edge(*last))
            .map_or("", |last| &word[word.len() - last.len_utf8()..]);
        let is_address = word
            .trim_end_matches(is_edge)
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
        if is_address { format!("{MASKED}{edge}") } else { word.to_owned() }
    });
    Cow::Owned(words.collect())
}

/// Author of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Author {
    Caller,
    Gateway,
}

/// Masks the documents of a call, first its request, then its answer.
#[derive(Debug, Default)]
pub(super) struct Masking {
    /// Values of the request that were masked, which the answer may repeat.
    masked: Vec<String>,
}

impl Masking {
    /// Masks a request in place.
    pub(super) fn request(&mut self, document: &mut Value) {
        self.mask(document, "", Author::Caller);
        // A longer value may have a shorter one in it.
        self.masked.sort_unstable_by_key(|value| std::cmp::Reverse(value.len()));
        self.masked.dedup();
    }

    /// Masks an answer in place. The text of an MCP result repeats its structured content and is masked as a whole.
    pub(super) fn answer(&mut self, document: &mut Value) {
        self.mask(document, "", Author::Gateway);
    }

    /// Masks what the gateway says about the call, which may repeat values of the request.
    pub(super) fn said(&self, text: &str) -> String {
        let mut text = scrubbed(text).into_owned();
        for value in self.masked.iter().filter(|value| value.as_str() != MASKED) {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), MASKED);
            }
        }
        text
    }

    /// Masks the value of a member called `name`: what is a group of others, or the whole document.
    fn mask(&mut self, value: &mut Value, name: &str, author: Author) {
        match value {
            Value::Object(members) => self.mask_members(members, name, author),
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.mask(element, name, author)),
            _ => self.blank(value, author),
        }
    }

    fn mask_members(&mut self, members: &mut Map<String, Value>, parent: &str, author: Author) {
        *members = std::mem::take(members)
            .into_iter()
            .map(|(name, mut value)| {
                if name == "payment" {
                    self.mask_payment(&mut value, author);
                } else if let (true, Value::Object(entries)) = (REGISTRIES.contains(&name.as_str()), &mut value) {
                    *entries = std::mem::take(entries)
                        .into_iter()
                        .map(|(key, mut entry)| {
                            self.mask(&mut entry, &name, author);
                            (named(key), entry)
                        })
                        .collect();
                } else if is_shown(&name, parent, author) && is_plain(&value) {
                    self.show(&name, &mut value);
                } else if is_in(GROUPS, &name) {
                    self.mask(&mut value, &name, author);
                } else {
                    self.blank(&mut value, author);
                }
                (named(name), value)
            })
            .collect();
    }

    /// Shows a value, without addresses and numbers of cards.
    fn show(&self, name: &str, value: &mut Value) {
        match value {
            Value::String(text) if REPEATING.contains(&name) => *text = self.said(text),
            Value::String(text) => *text = scrubbed(text).into_owned(),
            Value::Number(number) if holds_card_number(&number.to_string()) => *value = MASKED.into(),
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.show(name, element)),
            _ => {}
        }
    }

    /// Masks a payment in place, whatever stands where it should: what it is for stays, and nothing that pays.
    fn mask_payment(&mut self, document: &mut Value, author: Author) {
        match document {
            Value::Object(members) => {
                for (name, value) in members.iter_mut() {
                    if OF_PAYMENTS.contains(&name.as_str()) && value.is_string() {
                        self.show(name, value);
                    } else {
                        self.mask_payment(value, author);
                    }
                }
                *members = std::mem::take(members).into_iter().map(|(name, value)| (named(name), value)).collect();
            }
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.mask_payment(element, author)),
            other => self.blank(other, author),
        }
    }

    /// Masks every value of a document, and leaves its form.
    fn blank(&mut self, document: &mut Value, author: Author) {
        match document {
            Value::Object(members) => {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(name, mut value)| {
                        self.blank(&mut value, author);
                        (named(name), value)
                    })
                    .collect();
            }
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.blank(element, author)),
            Value::Null => {}
            value => {
                let masked = std::mem::replace(value, MASKED.into());
                if let Value::String(text) = masked
                    && author == Author::Caller
                    && self.masked.len() < SOUGHT
                    && SOUGHT_LENGTH.contains(&text.len())
                {
                    self.masked.push(text);
                }
            }
        }
    }
}

/// Returns `true` if a member's own value is shown.
fn is_shown(name: &str, parent: &str, author: Author) -> bool {
    match (name, parent) {
        // Codes of discounts, gift cards and credits are a buyer's. An address leads to where a buyer goes on, or tells what was
        // searched for.
        ("code", "applied" | "credits" | "discounts")
        | ("url", "" | "cart" | "checkout" | "order" | "config" | "params") => false,
        // The tool that is called, and choices among the values of an option.
        ("name", "params" | "selected" | "options") | ("label", "selected" | "options") => true,
        _ => is_in(VALUES, name) || author == Author::Gateway && is_in(WRITTEN, name),
    }
}

/// Returns `true` if a list has a name.
fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|listed| listed == name)
}

/// Returns `true` for a value without members.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(elements) => elements.iter().all(|element| !element.is_object() && !element.is_array()),
        _ => true,
    }
}

/// Returns the name of a member, or what stands for it if it is none that a program would give.
fn named(name: String) -> String {
    let is_name = name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:/$".contains(&byte))
        && !holds_card_number(&name);
    if is_name { name } else { MASKED.to_owned() }
}

/// Returns a text without addresses, and nothing of one with the number of a card.
fn scrubbed(text: &str) -> Cow<'_, str> {
    if holds_card_number(text) { Cow::Borrowed(MASKED) } else { without_addresses(text) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masked(mut document: Value) -> Value {
        Masking::default().request(&mut document);
        document
    }

    /// Words that no list has, in every place that a request and an answer have for words.
    #[test]
    fn what_is_shown_is_listed() {
        let secret = "Wilhelmina";
        let fields = json!({
            "intent": secret, "note": secret, "notes": [secret], "gift_message": { "text": secret, "id": secret },
            "attribution": { "utm_source": secret, "source": secret }, "codes": [secret], "code": secret,
            "com.example.loyalty": { "id": secret, "points": 4_711 }, "meta": { "trace": secret, "io.example/id": secret },
            "query": secret, "title": secret, "postal_code": secret, "url": secret, "unknown": { "id": [secret, 4_711] },
            "buyer": { "id": secret, "email": secret }, "context": { "address_region": secret, "intent": secret, "eligibility": [secret] },
            "signals": { "ip": secret }, "destinations": [{ "id": secret, "name": secret }], "id": { "id": secret },
            "discounts": { "codes": [secret], "applied": [{ "code": secret }] }, "Wilhelmina of the mill": 1,
            "payment": { "instruments": [{ "id": secret, "billing_address": { "type": [secret] } }], "note": secret },
            "fulfillment": secret, "type": { "type": secret }, "cursor": secret, "name": secret, "description": secret,
            "capabilities": secret, "config": { "id": secret, "url": secret },
        });
        let shapes = [
            fields.clone(),
            json!({ "line_items": [fields], "context": fields, "fulfillment": { "methods": [fields] }, "item": fields }),
            json!({ "jsonrpc": "2.0", "params": { "name": "t", "arguments": { "checkout": fields, "meta": fields }, "_meta": fields } }),
            json!({ "params": [fields, secret, { "catalog": fields }] }),
            json!([[fields], secret]),
            json!(secret),
        ];
        for shape in shapes {
            let text = masked(shape.clone()).to_string();
            // The name of a tool is shown, wherever `params` has one.
            let shown = text.matches("\"name\":\"Wilhelmina\"").count();
            assert_eq!(text.matches(secret).count(), shown, "{text}");
            assert!(!text.contains("4711"), "{text}");
            assert!(shown == 0 || shape["params"].is_array(), "{text}");
        }
    }

    #[test]
    fn what_is_known_is_shown() {
        let shown = json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": { "name": "update_checkout", "arguments": {
                "meta": { "ucp-agent": { "profile": "https://agent.example/p" } },
                "checkout": { "id": "chk_1", "line_items": [{ "id": "li_1", "item": { "id": "var_1" }, "quantity": 2 }],
                    "context": { "address_country": "DE", "language": "de", "currency": "EUR" },
                    "fulfillment": { "methods": [{ "id": "m", "type": "shipping", "selected_destination_id": "d",
                        "groups": [{ "id": "g", "selected_option_id": "o" }] }] },
                    "payment": { "instruments": [{ "handler_id": "sandbox", "type": "card" }] } },
                "catalog": { "ids": ["a", "b"], "filters": { "price": { "min": 1, "max": 2 } }, "pagination": { "limit": 3 },
                    "selected": [{ "name": "Size", "label": "10" }] },
            } },
        });
        assert_eq!(masked(shown.clone()), shown);
        let answer = json!({
            "ucp": { "version": "2026-08-25", "capabilities": { "dev.ucp.shopping.checkout": [{ "version": "2026-08-25" }] } },
            "id": "chk_1", "status": "incomplete", "currency": "USD",
            "line_items": [{ "id": "li_1", "item": { "id": "var_1", "title": "A red pot", "price": 5 }, "quantity": 1,
                "totals": [{ "type": "total", "amount": 5, "display_text": "Total" }] }],
            "messages": [{ "type": "error", "code": "missing", "path": "$.buyer", "content": "Say who buys.", "severity": "recoverable" }],
            "products": [{ "id": "p", "title": "Pot", "description": { "plain": "Of clay." }, "media": [{ "type": "image", "url": "https://a.example/p.png" }],
                "options": [{ "name": "Size", "values": [{ "id": "s", "label": "Small", "exists": true, "available": false }] }] }],
        });
        let mut document = answer.clone();
        Masking::default().answer(&mut document);
        assert_eq!(document, answer);
    }

    #[test]
    fn what_the_gateway_repeats_of_a_request_is_masked_there() {
        let mut masking = Masking::default();
        masking
            .request(&mut json!({ "discounts": { "codes": ["FOR-BEA", "FOR-BEA-MILLER"] }, "buyer": { "age": "40" } }));
        let mut answer =
            json!({ "messages": [{ "code": "discount_code_invalid", "content": "`FOR-BEA-MILLER` is no code; 40." }] });
        masking.answer(&mut answer);
        assert_eq!(
            answer["messages"][0],
            json!({ "code": "discount_code_invalid", "content": "`•••` is no code; 40." })
        );
        assert_eq!(masking.said("at $.x: `FOR-BEA` of a@b.example"), "at $.x: `•••` of •••");
    }

    #[test]
    fn nothing_of_a_buyer_is_left_and_the_rest_is() {
        let secret = ["bea@example.com", "Bea", "1 Main St", "97401", "tok_1", "blue shoes", "a211b75c"];
        let mut document = json!({
            "jsonrpc": "2.0",
            "params": { "arguments": { "meta": { "idempotency-key": "tok_1" }, "catalog": { "query": "blue shoes" } } },
            "id": "chk_1", "status": "incomplete", "buyer": { "email": "bea@example.com", "first_name": "Bea" },
            "fulfillment": { "methods": [{ "id": "shipping_1", "destinations": [{ "street_address": "1 Main St", "postal_code": "97401" }],
                "groups": [{ "id": "package_1", "options": [{ "title": "Standard" }] }] }] },
            "payment": { "instruments": [{ "handler_id": "sandbox", "credential": { "token": "tok_1" } }] },
            "continue_url": "https://shop.example/continue/a211b75c",
            "content": [{ "type": "text", "text": "{\"buyer\":{\"first_name\":\"Bea\"}}" }],
            "totals": [{ "type": "total", "amount": 12_000 }],
        });
        Masking::default().answer(&mut document);
        let text = document.to_string();
        for secret in secret {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        for kept in ["chk_1", "shipping_1", "package_1", "Standard", "sandbox", "12000"] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
        assert_eq!(document["buyer"], json!({ "email": MASKED, "first_name": MASKED }));
    }

    #[test]
    fn what_pays_is_masked_wherever_it_stands() {
        let card = "4111111111111111";
        let document = json!({
            "payment": { "instruments": [{ "id": "tok_1", "handler_id": "sandbox", "type": "card", "last": 7 }, { "type": card }] },
            "line_items": [{ "id": "card 4111-1111 1111 1111, 12/30", "parent_id": 4_111_111_111_111_111_u64, "payment": card }],
            "id": "4111111111111112", "created_at": "2026-11-26T14:56:31Z", "type": card, "4111 1111 1111 1111": { "4111111111111111": 1 },
        });
        let expected = json!({
            "payment": { "instruments": [{ "id": MASKED, "handler_id": "sandbox", "type": "card", "last": MASKED }, { "type": MASKED }] },
            "line_items": [{ "id": MASKED, "parent_id": MASKED, "payment": MASKED }],
            "id": "4111111111111112", "created_at": "2026-11-26T14:56:31Z", "type": MASKED, MASKED: { MASKED: MASKED },
        });
        assert_eq!(masked(document), expected);
        assert_eq!(
            masked_path("/checkout-sessions/4111-1111-1111-1111?4111111111111111=1"),
            "/checkout-sessions/•••?•••=•••"
        );
    }

    #[test]
    fn addresses_are_masked_wherever_they_stand() {
        let document =
            json!({ "emial": "bea@example.com", "ids": ["Gift for <bea@example.com>, soon"], "id": "@ 5 @home" });
        let expected = json!({ "emial": MASKED, "ids": ["Gift for <•••>, soon"], "id": "@ 5 @home" });
        assert_eq!(masked(document), expected);
        for (path, expected) in [
            ("/carts/cart_1", "/carts/cart_1"),
            ("/carts/cart_1?view=compact", "/carts/cart_1?view=compact"),
            ("/carts/cart_1?email=bea%40example.com&view=compact&x", "/carts/cart_1?email=•••&view=compact&x"),
            ("/carts/bea@example.com/x?bea@example.com", "/carts/•••/x?•••"),
            ("/carts/bea%40example.com?", "/carts/•••?"),
        ] {
            assert_eq!(masked_path(path), expected);
        }
    }
}

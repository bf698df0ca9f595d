//! A draft from an OpenAPI document, 3 or 2.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    MAX_DOCUMENT, Undrafted,
    programs::{self, hole},
    shape::{MAX_DEPTH, Shape},
    words::{self, AFTER, OFFSET, PAGE, PRICE, SIZE, TITLE, VARIANTS, WORDS, has, is},
};

/// Maximum number of references that are followed one after the other.
const MAX_REFERENCES: usize = 16;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

struct Operation {
    method: &'static str,
    /// Path below the server, without leading slash.
    path: String,
    name: String,
    query: Vec<String>,
    sent: Option<Shape>,
    answer: Shape,
}

impl Operation {
    fn parameters(&self) -> usize {
        self.path.matches('{').count()
    }

    fn ends_in_parameter(&self) -> bool {
        let last = self.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        last.starts_with('{') && last.ends_with('}')
    }

    fn has(&self, words: &[&str]) -> bool {
        has(&self.path, words) || has(&self.name, words)
    }
}

/// Makes a draft from a document in JSON.
///
/// # Errors
/// [`Undrafted`].
pub fn from_openapi(document: &str) -> Result<String, Undrafted> {
    if document.len() > MAX_DOCUMENT {
        return Err(Undrafted::TooLarge);
    }
    let document: Value = serde_json::from_str(document).map_err(|error| {
        Undrafted::Unreadable(format!("must be an OpenAPI document in JSON (convert one in YAML first): {error}"))
    })?;
    if document["paths"].as_object().is_none_or(serde_json::Map::is_empty) {
        return Err(Undrafted::Unreadable("must be an OpenAPI document with `paths`".to_owned()));
    }
    Ok(draft(&document))
}

fn operations(document: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for method in METHODS {
            let stated = &item[method];
            // What would end the text that it is written in is no path.
            if !stated.is_object() || path.contains(|letter: char| letter.is_control() || letter == '\'') {
                continue;
            }
            let parameters = item["parameters"].as_array().into_iter().chain(stated["parameters"].as_array()).flatten();
            let parameters: Vec<_> = parameters.map(|parameter| resolved(document, parameter)).collect();
            let query = parameters.iter().filter(|parameter| parameter["in"] == "query");
            let query = query.filter_map(|parameter| parameter["name"].as_str().map(str::to_owned)).collect();
            let body =
                parameters.iter().find(|parameter| parameter["in"] == "body").map(|parameter| &parameter["schema"]);
            let body = body.or_else(|| content(resolved(document, &stated["requestBody"])));
            let responses = &stated["responses"];
            let answer = ["200", "201", "202", "default"].iter().find_map(|status| {
                let response = resolved(document, responses.get(status)?);
                response.get("schema").or_else(|| content(response))
            });
            operations.push(Operation {
                method,
                path: path.trim_start_matches('/').to_owned(),
                name: stated["operationId"].as_str().unwrap_or_default().to_owned(),
                query,
                sent: body.map(|body| shape(document, body, MAX_DEPTH)),
                answer: answer.map_or(Shape::Unknown, |answer| shape(document, answer, MAX_DEPTH)),
            });
        }
    }
    operations
}

fn content(of: &Value) -> Option<&Value> {
    let content = of["content"].as_object()?;
    let json = content.iter().find(|(kind, _)| kind.contains("json")).or_else(|| content.iter().next());
    json.and_then(|(_, content)| content.get("schema"))
}

/// Follows references within the document.
fn resolved<'d>(document: &'d Value, mut value: &'d Value) -> &'d Value {
    for _ in 0..MAX_REFERENCES {
        let Some(pointer) = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) else { break };
        match document.pointer(pointer) {
            Some(target) => value = target,
            None => break,
        }
    }
    value
}

fn shape(document: &Value, schema: &Value, depth: usize) -> Shape {
    let schema = resolved(document, schema);
    if depth == 0 {
        return Shape::Unknown;
    }
    for several in ["allOf", "oneOf", "anyOf"] {
        if let Some(parts) = schema[several].as_array() {
            let shapes =
                parts.iter().map(|part| shape(document, part, depth - 1)).filter(|shape| *shape != Shape::Unknown);
            let shapes: Vec<_> = shapes.collect();
            let members: Vec<_> = shapes.iter().flat_map(|shape| shape.members().to_vec()).collect();
            return if members.is_empty() {
                shapes.into_iter().next().unwrap_or(Shape::Unknown)
            } else {
                Shape::Object(members)
            };
        }
    }
    let kind = schema["type"]
        .as_str()
        .or_else(|| schema["type"].as_array()?.iter().find_map(|kind| kind.as_str().filter(|kind| *kind != "null")));
    match kind {
        Some("array") => Shape::List(Box::new(shape(document, &schema["items"], depth))),
        Some("string") => Shape::Text,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Boolean,
        _ => match schema["properties"].as_object() {
            Some(members) => {
                let required =
                    |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|own| own == name));
                Shape::Object(
                    members
                        .iter()
                        .map(|(name, member)| (name.clone(), shape(document, member, depth - 1), required(name)))
                        .collect(),
                )
            }
            None => Shape::Unknown,
        },
    }
}

fn best(operations: &[Operation], worth: impl Fn(&Operation) -> i32) -> Option<&Operation> {
    let scored = operations.iter().map(|operation| (worth(operation), operation)).filter(|(worth, _)| *worth > 0);
    scored.rev().max_by_key(|(worth, _)| *worth).map(|(_, operation)| operation)
}

fn draft(document: &Value) -> String {
    let operations = operations(document);
    let shop = |operation: &Operation| !operation.has(&["admin", "dashboard", "user", "login", "register", "webhook"]);
    let purchase = ["cart", "basket", "order", "checkout", "address", "categor", "payment", "store"];
    let worth = |holds: bool, worth: i32| if holds { worth } else { 0 };
    let find = best(&operations, |operation| {
        let listed = operation.answer.list();
        let fits =
            operation.method == "get" && operation.parameters() == 0 && shop(operation) && !operation.has(&purchase);
        let titled = listed.as_ref().is_some_and(|(_, element)| words::member(element, TITLE).is_some());
        let priced = listed.is_some_and(|(_, element)| {
            words::member(element, PRICE).is_some() || words::member(element, VARIANTS).is_some()
        });
        worth(
            fits && (titled || operation.has(&["product"])),
            1 + worth(operation.has(&["product", "item", "article"]), 5)
                + worth(operation.has(&["search"]), 2)
                + worth(titled, 3)
                + worth(priced, 3)
                - worth(operation.has(&["review", "image", "attribute", "option"]), 4),
        )
    });
    let one = best(&operations, |operation| {
        let fits = operation.method == "get" && operation.parameters() == 1 && operation.ends_in_parameter();
        let same = find.is_some_and(|find| operation.path.starts_with(find.path.trim_end_matches('/')));
        worth(
            fits && shop(operation) && !operation.has(&purchase) && operation.has(&["product", "item", "article"]),
            1 + worth(same, 4) + worth(words::member(&operation.answer, TITLE).is_some(), 3),
        )
    });
    let carts = |method: &str, all: &[&str], none: &[&str]| {
        best(&operations, |operation| {
            let fits = operation.method == method && operation.has(&["cart", "basket"]) && shop(operation);
            let short = 100 - i32::try_from(operation.path.len()).unwrap_or(99).min(99);
            worth(fits && (all.is_empty() || operation.has(all)) && !operation.has(none), short)
        })
    };
    let cart = carts("get", &[], &["line", "item", "shipping", "voucher", "coupon"]);
    let add = carts("post", &["line", "item", "product", "add"], &["voucher", "coupon", "shipping"]);
    let code = carts("post", &["voucher", "coupon", "discount"], &[]);
    let ways = carts("post", &["shipping", "delivery"], &[]).or_else(|| carts("get", &["shipping", "delivery"], &[]));
    let place = best(&operations, |operation| {
        let fits =
            operation.method == "post" && operation.has(&["checkout", "order", "place", "purchase"]) && shop(operation);
        worth(
            fits && !operation.has(&["line", "item", "cancel", "refund"]),
            1 + worth(operation.has(&["checkout", "place", "complete"]), 2),
        )
    });
    let order = best(&operations, |operation| {
        let fits = operation.method == "get" && operation.has(&["order"]) && operation.ends_in_parameter();
        worth(fits && !operation.has(&["line"]), 2 - worth(!shop(operation), 1))
    });

    let title = document["info"]["title"]
        .as_str()
        .unwrap_or("Shop")
        .replace(|letter: char| letter.is_control() || matches!(letter, '"' | '\\'), "");
    let mut text = format!(
        "# A first mapping, drafted from the OpenAPI document of {title}. `ucp-gateway check-config` names the holes that are to\n\
         # be filled; whatever is under REVIEW was guessed from names. Try each question with\n\
         # `ucp-gateway backend try FILE QUESTION`.\n\n"
    );
    let product = one.map(|one| &one.answer).filter(|shape| words::member(shape, TITLE).is_some());
    let product = product.or_else(|| find.and_then(|find| find.answer.list().map(|(_, element)| element)));
    if let Some(product) = product {
        let _ = writeln!(text, "# One product.\nproduct = '''\n{}'''\n", programs::product(product));
    }
    let _ = writeln!(
        text,
        "# REVIEW: the market of the shop.\n[market]\nname = \"{title}\"\ncurrency = \"EUR\"\nlanguage = \"en\"\n"
    );
    source(&mut text, document);
    match find {
        Some(find) => {
            let path = find.answer.list().map(|(path, _)| path).unwrap_or_default();
            let style = [("page", PAGE), ("offset", OFFSET), ("cursor", AFTER)];
            let style = style.into_iter().find(|(_, names)| find.query.iter().any(|name| is(name, names)));
            let _ = writeln!(text, "[find]");
            match style {
                Some((style, _)) => drop(writeln!(text, "paging = \"{style}\"")),
                None => text.push_str(
                    "# REVIEW: the list seems to have no pages; `limit` products are to be answered at most.\n",
                ),
            }
            let _ = writeln!(text, "answer = '''\n{}\n'''\n", programs::page(&find.answer, &path, style.is_some()));
            step(&mut text, "find", "page", find, "once");
        }
        None => drop(writeln!(text, "[find]\nanswer = '''\n{}\n'''\n", hole("request that lists products"))),
    }
    match one {
        Some(one) => {
            text.push_str(
                "# REVIEW: identifiers of variants have to find their product, too.\n[resolve]\nanswer = \"{products: [$product[] | values]}\"\n\n",
            );
            step(&mut text, "resolve", "product", one, "ids");
        }
        None => drop(writeln!(
            text,
            "[resolve]\nanswer = '''\n{}\n'''\n",
            hole("request that finds products by identifiers")
        )),
    }
    let (Some(cart), Some(add)) = (cart, add) else {
        text.push_str("# REVIEW: no operation looks like a cart: the gateway offers the catalog alone.\n");
        unused(&mut text, &operations);
        return text;
    };
    let answer = format!("answer = '''\n$cart\n| {}'''\n", programs::cart(&cart.answer));
    let _ = writeln!(
        text,
        "# REVIEW: lines that are in the cart and not wanted are to be removed first; a cart that is not the one in question is\n\
         # `gone`.\n[cart]\ncompletion = \"place\"\n\n[cart.sync]\n{answer}"
    );
    step(&mut text, "cart.sync", "added", add, "lines");
    if let Some(code) = code {
        step(&mut text, "cart.sync", "codes", code, "codes");
    }
    if let Some(ways) = ways {
        step(&mut text, "cart.sync", "delivery", ways, "address");
    }
    step(&mut text, "cart.sync", "cart", cart, "once");
    let _ = writeln!(text, "[cart.fetch]\n{answer}");
    step(&mut text, "cart.fetch", "cart", cart, "once");
    let _ = writeln!(text, "[cart.abandon]\nanswer = '''\n{}\n'''\n", hole("how a cart is given up"));
    let _ = writeln!(
        text,
        "[place]\nanswer = '''\n{}\n'''\n",
        hole("status placed with the order, or declined with a reason")
    );
    if let Some(place) = place {
        step(&mut text, "place", "placed", place, "once");
    }
    let _ = writeln!(text, "[order]\nanswer = '''\n{}\n'''\n", hole("status placed with the order, or absent"));
    if let Some(order) = order {
        step(&mut text, "order", "order", order, "once");
    }
    let _ = writeln!(
        text,
        "[cancel]\nanswer = '''\n{}\n'''\n",
        hole("makes sure that a place that arrives late places nothing, and answers with status absent")
    );
    unused(&mut text, &operations);
    text
}

/// Writes the source: its address, and what lets the gateway in.
fn source(text: &mut String, document: &Value) {
    let stated = document["servers"][0]["url"].as_str().filter(|url| url.starts_with("http") && !url.contains('{'));
    let older = || {
        let host = document["host"].as_str()?;
        Some(format!("https://{host}{}", document["basePath"].as_str().unwrap_or_default()))
    };
    let address = stated.map(str::to_owned).or_else(older);
    text.push_str("[source.shop]\n");
    match address
        .filter(|address| !address.contains(|letter: char| letter.is_control() || matches!(letter, '"' | '\\')))
    {
        Some(address) => {
            let _ = writeln!(text, "# REVIEW: the server that the document names first.\naddress = \"{address}\"");
        }
        None => {
            text.push_str("# REVIEW: the address that all paths are below.\naddress = \"https://shop.example/\"\n");
        }
    }
    let schemes = document["components"]["securitySchemes"].as_object();
    let schemes = schemes.or_else(|| document["securityDefinitions"].as_object());
    match schemes.into_iter().flatten().find_map(|(_, scheme)| authentication(scheme)) {
        Some(auth) => drop(writeln!(text, "# REVIEW: what lets the gateway in.\n{auth}\n")),
        None => text.push_str(
            "# REVIEW: what lets the gateway in, and the cookies that make the session of a cart:\n\
             # auth = { kind = \"token\", secret = \"SHOP_TOKEN\" }\n# session_cookies = [\"session\"]\n\n",
        ),
    }
}

fn authentication(scheme: &Value) -> Option<String> {
    let safe = |text: &&str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./:".contains(letter));
    let name = scheme["name"].as_str().filter(safe);
    match (scheme["type"].as_str()?, scheme["scheme"].as_str(), scheme["in"].as_str(), name) {
        ("http", Some("bearer"), ..) => Some("auth = { kind = \"token\", secret = \"SHOP_TOKEN\" }".to_owned()),
        ("http", Some("basic"), ..) | ("basic", ..) => {
            Some("auth = { kind = \"basic\", user = \"gateway\", secret = \"SHOP_PASSWORD\" }".to_owned())
        }
        ("apiKey", _, Some("header"), Some(name)) => {
            Some(format!("auth = {{ kind = \"token\", secret = \"SHOP_TOKEN\", header = \"{name}\", prefix = \"\" }}"))
        }
        ("apiKey", _, Some("cookie"), Some(name)) => Some(format!("session_cookies = [\"{name}\"]")),
        ("oauth2", ..) => {
            let url = scheme["flows"]["clientCredentials"]["tokenUrl"].as_str().filter(safe)?;
            Some(format!(
                "auth = {{ kind = \"oauth\", token_address = \"{url}\", client = \"gateway\", secret = \"SHOP_SECRET\" }}"
            ))
        }
        _ => None,
    }
}

/// Writes a step. `around` says what it is made for: each identifier (`ids`), each line (`lines`), each code (`codes`), an
/// address (`address`), or once (`once`).
fn step(text: &mut String, of: &str, name: &str, operation: &Operation, around: &str) {
    let _ = writeln!(text, "[[{of}.step]]\nname = \"{name}\"");
    let each = match around {
        "ids" => Some("$question.ids"),
        "lines" => Some("$question.lines"),
        "codes" => Some("$question.codes"),
        _ => None,
    };
    if let Some(each) = each {
        let _ = writeln!(text, "each = \"{each}\"");
    }
    if around == "address" {
        text.push_str("when = \"$question.address != null\"\nreads = true\n");
    }
    let method = operation.method.to_uppercase();
    let sent = operation.sent.as_ref().filter(|_| operation.method != "get");
    if method != if sent.is_some() { "POST" } else { "GET" } {
        let _ = writeln!(text, "method = \"{method}\"");
    }
    let mut path = String::new();
    for part in operation.path.split_inclusive(['{', '}']) {
        match part.strip_suffix('}') {
            Some(_) if around == "ids" => path.push('.'),
            Some(name) if has(name, &["cart", "basket"]) => path.push_str("$question.cart"),
            Some(_) if operation.has(&["cart", "basket"]) && operation.parameters() == 1 => {
                path.push_str("$question.cart");
            }
            Some(name) => path.push_str(&hole(name)),
            None => {
                path.push_str(part);
                continue;
            }
        }
        path.push('}');
    }
    let _ = writeln!(text, "path = '{path}'");
    let known = [
        (WORDS, "$question.words"),
        (PAGE, "$paging.number"),
        (OFFSET, "$paging.offset"),
        (AFTER, "$paging.cursor"),
        (SIZE, "$paging.size"),
    ];
    let plain = |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'));
    for name in operation.query.iter().filter(|name| plain(name)) {
        match known.into_iter().find(|(names, _)| of == "find" && is(name, names)) {
            Some((_, value)) => drop(writeln!(text, "query.{name} = \"{value}\"")),
            None => drop(writeln!(text, "# query.{name} =")),
        }
    }
    if let Some(sent) = sent {
        let _ = writeln!(text, "body = '''\n{}\n'''", programs::sent(sent, around).trim_end());
    }
    text.push('\n');
}

/// Names the operations of a shop's front, so that what was not recognised is at hand.
fn unused(text: &mut String, operations: &[Operation]) {
    text.push_str("# Operations of the document:\n");
    for operation in operations.iter().filter(|operation| !operation.has(&["admin", "dashboard"])).take(80) {
        let _ = writeln!(text, "#   {} {}", operation.method.to_uppercase(), operation.path);
    }
}

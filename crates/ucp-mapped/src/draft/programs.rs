//! Programs that make products, carts and requests from shapes. Each is as good as names and types allow: guesses are
//! marked with `REVIEW`, and what is missing is a hole.

use std::fmt::Write as _;

use super::{
    shape::Shape,
    words::{
        ADDRESS_OF_IMAGE, AMOUNT, AVAILABLE, CODE, COUNT, CURRENCY, DESCRIPTION, EMAIL, HANDLE, ID, IMAGE, IMAGES,
        LINES, NEXT, PRICE, QUANTITY, SKU, STOCK, TITLE, TOTAL, VARIANT, VARIANTS, is, member,
    },
};

/// Returns a hole: what has to stand there.
pub(super) fn hole(what: &str) -> String {
    format!("hole(\"{}\")", harmless(what))
}

/// Returns the access to a member.
pub(super) fn access(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if plain { format!(".{name}") } else { format!(".[\"{}\"]", harmless(name)) }
}

/// Returns a name without what would end a text of jq or TOML.
fn harmless(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control() && !matches!(letter, '"' | '\\' | '\'')).collect()
}

fn text_of(shape: &Shape, names: &[&str], what: &str) -> String {
    match member(shape, names) {
        Some((name, Shape::Text)) => access(name),
        Some((name, _)) => format!("({} | tostring)", access(name)),
        None => hole(what),
    }
}

/// Returns the program for the price of a variant.
fn price(shape: &Shape) -> String {
    let currency = member(shape, CURRENCY).map(|(name, _)| format!("({} | currency)", access(name)));
    let currency = currency.unwrap_or_else(|| "$market.currency".to_owned());
    match member(shape, PRICE) {
        Some((name, amount @ Shape::Object(_))) => {
            let own = member(amount, CURRENCY).map_or(currency, |(name, _)| format!("({} | currency)", access(name)));
            match member(amount, AMOUNT) {
                Some((inner, kind)) => {
                    format!("({} | {own} as $in | {})", access(name), money(&access(inner), kind, "$in"))
                }
                None => format!("({} | {})", access(name), hole("price: {amount, currency} in minor units")),
            }
        }
        Some((name, kind)) => {
            format!("({currency} as $in | {})", money(&access(name), kind, "$in"))
        }
        None => hole("price: {amount, currency} in minor units"),
    }
}

fn money(value: &str, kind: &Shape, currency: &str) -> String {
    match kind {
        // An integer can be either.
        Shape::Integer => format!("{{amount: {value}, currency: {currency}}} # REVIEW: taken for minor units\n      "),
        _ => format!("{{amount: ({value} | minor({currency})), currency: {currency}}}"),
    }
}

/// Returns the amount of a member, as minor units of the market.
fn amount(shape: &Shape, names: &[&str], what: &str) -> String {
    match member(shape, names) {
        Some((name, Shape::Integer)) => format!("{} # REVIEW: taken for minor units\n    ", access(name)),
        Some((name, amount @ Shape::Object(_))) => match member(amount, AMOUNT) {
            Some((inner, _)) => format!("({}{} | minor($market.currency))", access(name), access(inner)),
            None => hole(what),
        },
        Some((name, _)) => format!("({} | minor($market.currency))", access(name)),
        None => hole(what),
    }
}

/// Returns the program for one product.
pub(super) fn product(shape: &Shape) -> String {
    let mut program = String::from("{\n");
    let title = text_of(shape, TITLE, "title");
    let _ = writeln!(program, "  id: {},", text_of(shape, ID, "identifier of the product, as text"));
    if let Some((name, Shape::Text)) = member(shape, HANDLE) {
        let _ = writeln!(program, "  handle: {},", access(name));
    }
    let _ = writeln!(program, "  title: {title},");
    let description =
        member(shape, DESCRIPTION).map_or_else(|| title.clone(), |(name, _)| format!("({} // {title})", access(name)));
    let _ = writeln!(program, "  description: {{plain: ({description} | plain)}},");
    match (member(shape, IMAGES), member(shape, IMAGE)) {
        (Some((name, Shape::List(image))), _) => {
            let url = match &**image {
                Shape::Text => Some(".".to_owned()),
                image => member(image, ADDRESS_OF_IMAGE).map(|(name, _)| access(name)),
            };
            let url = url.unwrap_or_else(|| hole("address of an image"));
            let _ = writeln!(program, "  media: [{}[]? | {{type: \"image\", url: {url}}}],", access(name));
        }
        (_, Some((name, Shape::Text))) => {
            let _ = writeln!(program, "  media: [{} | values | {{type: \"image\", url: .}}],", access(name));
        }
        _ => {}
    }
    match member(shape, VARIANTS) {
        Some((name, Shape::List(variant))) if matches!(**variant, Shape::Object(_)) => {
            let id = text_of(variant, ID, "identifier of the variant, as text");
            let _ = writeln!(
                program,
                "  # REVIEW: each variant needs its options, [{{name: \"Size\", label: \"M\"}}], if there are several.\n  \
                 variants: [{}[] | {}]",
                access(name),
                variant_of(variant, &id)
            );
        }
        _ => {
            let id = text_of(shape, ID, "identifier of the variant, as text");
            let _ = writeln!(
                program,
                "  # REVIEW: taken for a product with one variant, whose identifier must not be that of the product.\n  \
                 variants: [{}]",
                variant_of(shape, &format!("\"\\({id})-1\""))
            );
        }
    }
    program.push_str("}\n");
    program
}

fn variant_of(shape: &Shape, id: &str) -> String {
    let mut program = format!("{{\n    id: {id},\n");
    if let Some((name, _)) = member(shape, SKU) {
        let _ = writeln!(program, "    sku: {},", access(name));
    }
    let _ = writeln!(program, "    price: {},", price(shape));
    let available = match (member(shape, AVAILABLE), member(shape, STOCK)) {
        (Some((name, Shape::Text)), _) => {
            format!("({} | {})", access(name), hole("true if this says that it can be bought"))
        }
        (Some((name, _)), _) => format!("({} | boolean)", access(name)),
        (None, Some((name, Shape::Integer | Shape::Number))) => format!("({} > 0)", access(name)),
        _ => hole("true if it can be bought now"),
    };
    let _ = write!(program, "    availability: {{available: {available}}}\n  }}");
    program
}

/// Returns the program for an answer with products, of which `list` leads to the list.
pub(super) fn page(shape: &Shape, list: &str, pages: bool) -> String {
    let list = if list.is_empty() { "." } else { list };
    let total = member(shape, COUNT).map(|(name, _)| format!(", total: {}", access(name))).unwrap_or_default();
    let next = match member(shape, NEXT) {
        _ if !pages => String::new(),
        Some((name, Shape::Boolean)) => format!(", next: {}", access(name)),
        Some((name, _)) => format!(", next: ({} != null)", access(name)),
        None => format!(", next: (({list} | length) == $paging.size)"),
    };
    format!("{{products: {list}{next}{total}}}")
}

/// Returns the program for a cart.
pub(super) fn cart(shape: &Shape) -> String {
    let lines = match member(shape, LINES) {
        Some((name, Shape::List(line))) if matches!(**line, Shape::Object(_)) => format!(
            "[{}[] | {{\n    variant: {},\n    quantity: {},\n    price: {}\n  }}]",
            access(name),
            text_of(line, VARIANT, "identifier of the variant"),
            member(line, QUANTITY).map_or_else(|| hole("quantity"), |(name, _)| access(name)),
            amount(line, PRICE, "price of one piece in minor units"),
        ),
        _ => hole("lines: [{variant, quantity, price}]"),
    };
    format!(
        "{{\n  cart: {},\n  currency: $market.currency,\n  lines: {lines},\n  \
         # REVIEW: discounts, delivery_options, fees and taxes that the total contains.\n  total: {}\n}}\n",
        member(shape, ID)
            .map_or_else(|| hole("identifier of the cart"), |(name, _)| format!("({} | tostring)", access(name))),
        amount(shape, TOTAL, "total in minor units"),
    )
}

/// Returns the program for a document that is sent: what is required has to be there.
pub(super) fn sent(shape: &Shape, around: &str) -> String {
    let members = shape.members();
    if members.is_empty() {
        return hole("document to send");
    }
    let mut entries = Vec::new();
    for (name, member, required) in members {
        let quoted = if access(name).starts_with(".[") { format!("\"{}\"", harmless(name)) } else { name.clone() };
        let value = match guess(name, member, around) {
            None if *required => Some(match member {
                Shape::Object(_) => sent(member, around).trim_end().replace('\n', "\n  "),
                other => hole(&format!("{name}, {}", other.word())),
            }),
            guessed => guessed,
        };
        entries.push((quoted, member, value));
    }
    let last = entries.iter().rposition(|(.., value)| value.is_some());
    let mut program = String::from("{\n");
    for (index, (name, member, value)) in entries.into_iter().enumerate() {
        let comma = if Some(index) == last { "" } else { "," };
        match value {
            Some(value) => drop(writeln!(program, "  {name}: {value}{comma}")),
            None => drop(writeln!(program, "  # {name}: {}", member.word())),
        }
    }
    program.push_str("}\n");
    program
}

/// Returns what a member of a request is, if its name says it. `around` says what the request is made for.
fn guess(name: &str, member: &Shape, around: &str) -> Option<String> {
    if matches!(member, Shape::Object(_) | Shape::List(_)) {
        return None;
    }
    let address = [
        (&["line1", "street", "streetaddress", "address1", "streetline1"][..], "street_address"),
        (&["city", "line4", "locality", "town"], "address_locality"),
        (&["postcode", "postalcode", "zip"], "postal_code"),
        (&["state", "region", "province"], "address_region"),
        (&["country", "countrycode"], "address_country"),
    ];
    let place = address.into_iter().find(|(names, _)| is(name, names));
    match around {
        "lines" if is(name, QUANTITY) => Some(".quantity".to_owned()),
        "lines" if is(name, VARIANT) && *member == Shape::Integer => Some("(.variant | tonumber)".to_owned()),
        "lines" if is(name, VARIANT) => Some(".variant".to_owned()),
        "codes" if is(name, CODE) => Some(".".to_owned()),
        "lines" | "codes" => None,
        _ if is(name, EMAIL) => Some("$question.buyer.email".to_owned()),
        _ if is(name, &["firstname"]) => Some("$question.buyer.first_name".to_owned()),
        _ if is(name, &["lastname"]) => Some("$question.buyer.last_name".to_owned()),
        "address" => place.map(|(_, member)| format!("$question.address.{member}")),
        "once" if is(name, TOTAL) => Some("($question.total | decimal($question.currency))".to_owned()),
        _ => None,
    }
}

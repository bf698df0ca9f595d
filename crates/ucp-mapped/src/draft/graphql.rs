//! A draft from a GraphQL schema.

use std::fmt::Write as _;

use super::{
    MAX_DOCUMENT, Undrafted,
    programs::{self, access, hole},
    schema::{Field, Schema, TypeRef},
    sdl,
    shape::{MAX_DEPTH, Shape},
    words::{
        self, ADDRESS_OF_IMAGE, AFTER, AMOUNT, AVAILABLE, CODE, COUNT, CURRENCY, DESCRIPTION, EMAIL, HANDLE, ID, IMAGE,
        IMAGES, LINES, NEXT, OFFSET, PAGE, PRICE, QUANTITY, SIZE, SKU, STOCK, TITLE, TOTAL, VARIANT, VARIANTS, WORDS,
        has, is,
    },
};

/// Members of lists that hold what is listed.
const WRAPPERS: &[&str] = &["items", "nodes", "results", "edges", "node", "products", "data"];

/// Makes a draft from the answer to an introspection, or from a schema in SDL.
///
/// # Errors
/// [`Undrafted`].
pub fn from_graphql(document: &str) -> Result<String, Undrafted> {
    if document.len() > MAX_DOCUMENT {
        return Err(Undrafted::TooLarge);
    }
    let schema = if document.trim_start().starts_with('{') {
        let document = serde_json::from_str(document)
            .map_err(|error| Undrafted::Unreadable(format!("must be JSON or SDL: {error}")))?;
        Schema::introspected(&document)?
    } else {
        sdl::read(document)?
    };
    Ok(Drafter { schema: &schema }.draft())
}

struct Drafter<'s> {
    schema: &'s Schema,
}

fn of_product(name: &str) -> bool {
    let all = [ID, TITLE, DESCRIPTION, HANDLE, SKU, VARIANTS, PRICE, AMOUNT, CURRENCY, AVAILABLE, STOCK, IMAGES, IMAGE];
    all.iter().any(|names| is(name, names)) || is(name, ADDRESS_OF_IMAGE)
}

fn of_page(name: &str) -> bool {
    of_product(name) || is(name, WRAPPERS) || is(name, COUNT) || is(name, NEXT) || has(name, &["pageinfo", "endcursor"])
}

fn of_cart(name: &str) -> bool {
    [ID, LINES, QUANTITY, VARIANT, PRICE, TOTAL, CURRENCY].iter().any(|names| is(name, names))
}

/// Returns the selection of a shape, on one line.
fn selection(shape: &Shape) -> String {
    match shape {
        Shape::Object(members) => {
            let inner: Vec<_> = members
                .iter()
                .map(|(name, member, _)| match selection(member) {
                    inner if inner.is_empty() => name.clone(),
                    inner => format!("{name} {inner}"),
                })
                .collect();
            format!("{{ {} }}", inner.join(" "))
        }
        Shape::List(element) => selection(element),
        _ => String::new(),
    }
}

/// What a field is worth as an answer to a question.
fn best(fields: &[Field], worth: impl Fn(&Field) -> i32) -> Option<&Field> {
    let scored = fields.iter().map(|field| (worth(field), field)).filter(|(worth, _)| *worth > 0);
    // The first of several that are worth the same.
    scored.rev().max_by_key(|(worth, _)| *worth).map(|(_, field)| field)
}

impl Drafter<'_> {
    fn draft(&self) -> String {
        let queries = self.schema.fields(&self.schema.query);
        let find = best(queries, |field| self.worth_of_list(field));
        let mut text = String::from(
            "# A first mapping, drafted from a GraphQL schema. `ucp-gateway check-config` names the holes that are to be filled;\n\
             # whatever is under REVIEW was guessed from names. Try each question with `ucp-gateway backend try FILE QUESTION`.\n\n",
        );
        let listed = find.map(|field| self.schema.shape(&field.of, &of_page, MAX_DEPTH));
        let product = listed.as_ref().and_then(|shape| nodes(shape));
        if let Some((_, product)) = &product {
            let _ = writeln!(text, "# One product.\nproduct = '''\n{}'''\n", programs::product(product));
        }
        text.push_str(
            "# REVIEW: the market of the shop.\n[market]\nname = \"Shop\"\ncurrency = \"EUR\"\nlanguage = \"en\"\n\n\
             [source.shop]\n# REVIEW: the address of the API.\naddress = \"https://shop.example/graphql\"\n\
             # REVIEW: what lets the gateway in, and the cookies that make the session of a cart:\n\
             # auth = { kind = \"token\", secret = \"SHOP_TOKEN\" }\n# session_cookies = [\"session\"]\n\n",
        );
        self.find(&mut text, find, listed.as_ref());
        self.resolve(&mut text, queries, product.map(|(_, product)| product));
        self.carts(&mut text, queries);
        text
    }

    /// What a field of queries is worth as `find`: it lists what has a name, best products.
    fn worth_of_list(&self, field: &Field) -> i32 {
        let shape = self.schema.shape(&field.of, &of_page, MAX_DEPTH);
        let Some((_, element)) = nodes(&shape) else { return 0 };
        if words::member(element, TITLE).is_none() {
            return 0;
        }
        let named = |words: &[&str]| i32::from(has(&field.name, words));
        let other = ["category", "collection", "country", "customer", "order", "facet", "channel", "menu", "page"];
        let priced = words::member(element, PRICE).is_some() || words::member(element, VARIANTS).is_some();
        4 * named(&["product"]) + 2 * named(&["search", "catalog"]) + 3 * i32::from(priced)
            - 9 * named(&other)
            - 2 * named(&["variant", "byids", "recommend", "related"])
    }

    fn find(&self, text: &mut String, find: Option<&Field>, listed: Option<&Shape>) {
        let (Some(field), Some(shape)) = (find, listed) else {
            let _ = writeln!(text, "[find]\nanswer = '''\n{}\n'''\n", hole("query that lists products"));
            return;
        };
        let style = self.paging(&field.arguments);
        let path = nodes(shape).map(|(path, _)| path).unwrap_or_default();
        text.push_str("[find]\n");
        if let Some(style) = style {
            let _ = writeln!(text, "paging = \"{style}\"");
        }
        let answer = programs::page(shape, &format!(".{}{path}", field.name), false);
        let next = match (style, words::member(shape, COUNT)) {
            (Some("offset"), Some((count, _))) => {
                format!(", next: ($paging.offset + $paging.size < .{}{})", field.name, access(count))
            }
            (Some("page"), Some((count, _))) => {
                format!(", next: ($paging.number * $paging.size < .{}{})", field.name, access(count))
            }
            (Some(_), _) => format!(", next: {}", hole("true if there are more, or the position of the next page")),
            (None, _) => String::new(),
        };
        let answer = answer.replace(", total: .", &format!(", total: .{}.", field.name));
        let _ = writeln!(text, "answer = '''\n{}{next}}}\n'''\n", answer.trim_end_matches('}'));
        self.step(text, ["find", "page"], "query", field, &selection(shape), ".");
    }

    fn resolve(&self, text: &mut String, queries: &[Field], product: Option<&Shape>) {
        let one = best(queries, |field| {
            let shape = self.schema.shape(&field.of, &of_product, MAX_DEPTH);
            let by_id = field.arguments.iter().any(|(name, of)| is(name, &["id"]) && !of.is_list);
            let named =
                words::member(&shape, TITLE).is_some() && !has(&field.name, &["category", "collection", "order"]);
            i32::from(by_id && named)
                * (1 + 3 * i32::from(plain_is(&field.name, "product")) + i32::from(has(&field.name, &["product"])))
        });
        match (one, product) {
            (Some(field), Some(product)) => {
                let _ = writeln!(
                    text,
                    "# REVIEW: identifiers of variants have to find their product, too.\n[resolve]\nanswer = \"{{products: \
                     [$product[] | values]}}\"\n"
                );
                self.step(text, ["resolve", "product"], "query", field, &selection(product), "each");
            }
            _ => drop(writeln!(
                text,
                "[resolve]\nanswer = '''\n{}\n'''\n",
                hole("query that finds products by identifiers of products and variants")
            )),
        }
    }

    fn carts(&self, text: &mut String, queries: &[Field]) {
        let mutations = self.schema.mutation.as_deref().map_or(&[][..], |name| self.schema.fields(name));
        let named = |all: &[&str], none: &[&str]| {
            let all: Vec<String> = all.iter().map(|&word| word.to_owned()).collect();
            let none: Vec<String> = none.iter().map(|&word| word.to_owned()).collect();
            move |field: &Field| {
                let has = |word: &String| word.split('|').any(|word| has(&field.name, &[word]));
                if all.iter().all(has) && !none.iter().any(has) {
                    100 - i32::try_from(field.name.len()).unwrap_or(99).min(99)
                } else {
                    0
                }
            }
        };
        let cart = best(queries, named(&["cart|basket|activeorder"], &["line"]));
        let add = best(mutations, named(&["add", "item|line|product", "cart|order|basket"], &["coupon", "payment"]));
        let add = add.or_else(|| best(mutations, named(&["add", "cart|basket"], &["coupon", "payment", "discount"])));
        let (Some(cart), Some(add)) = (cart, add) else {
            text.push_str(
                "# REVIEW: no query and no mutation looks like a cart: the gateway offers the catalog alone.\n",
            );
            return;
        };
        let shape = self.schema.shape(&cart.of, &of_cart, MAX_DEPTH);
        text.push_str(
            "# REVIEW: lines that are in the cart and not wanted are to be removed first.\n[cart]\ncompletion = \"place\"\n\n",
        );
        let program = programs::cart(&shape);
        let answer = format!("answer = '''\n.{}\n| {program}'''\n", cart.name);
        let _ = writeln!(text, "[cart.sync]\n{answer}");
        self.step(text, ["cart.sync", "added"], "mutation", add, &self.result(&add.of), "lines");
        for (name, all, none, each) in [
            ("coupons", &["apply|add", "coupon|discount|promo|voucher"][..], &["order"][..], "codes"),
            ("customer", &["set|update", "customer|buyer|email", "order|cart|checkout|basket"], &["address"], "."),
            ("address", &["set|update", "shipping", "address"], &["unset", "customer"], "."),
            ("delivery", &["set|update|select", "shipping|delivery", "method|option"], &["custom", "address"], "."),
        ] {
            if let Some(field) = best(mutations, named(all, none)) {
                self.step(text, ["cart.sync", name], "mutation", field, &self.result(&field.of), each);
            }
        }
        self.step(text, ["cart.sync", "cart"], "query", cart, &selection(&shape), ".");
        let _ = writeln!(text, "[cart.fetch]\n{answer}");
        self.step(text, ["cart.fetch", "cart"], "query", cart, &selection(&shape), ".");
        let _ = writeln!(text, "[cart.abandon]\nanswer = '''\n{}\n'''\n", hole("how a cart is given up"));
        let place = best(
            mutations,
            named(&["pay|place|complete|checkout"], &["method", "address", "set", "refund", "add item"]),
        );
        match place {
            Some(field) => {
                let _ = writeln!(
                    text,
                    "[place]\nanswer = '''\n{}\n'''\n",
                    hole("status placed with the order, or declined with a reason")
                );
                self.step(text, ["place", "placed"], "mutation", field, &self.result(&field.of), ".");
            }
            None => drop(writeln!(text, "[place]\nanswer = '''\n{}\n'''\n", hole("mutation that places the order"))),
        }
        let order = best(queries, named(&["order", "by|number|code"], &["active", "orders"]));
        let _ = writeln!(text, "[order]\nanswer = '''\n{}\n'''\n", hole("status placed with the order, or absent"));
        if let Some(field) = order {
            self.step(text, ["order", "order"], "query", field, &self.result(&field.of), ".");
        }
        let _ = writeln!(
            text,
            "[cancel]\nanswer = '''\n{}\n'''",
            hole("makes sure that a place that arrives late places nothing, and answers with status absent")
        );
    }

    /// Returns the selection of what a mutation answers: the names of what it can be, and what identifies it.
    fn result(&self, of: &TypeRef) -> String {
        let own = self.schema.types.get(&of.name);
        if let Some(own) = own.filter(|own| own.is_union) {
            let inner: Vec<_> = own
                .possible
                .iter()
                .map(|name| {
                    let kept = self.schema.fields(name).iter().filter(|field| {
                        field.arguments.is_empty()
                            && has(&field.name, &["id", "code", "state", "status", "message"])
                            && self.schema.fields(&field.of.name).is_empty()
                    });
                    let kept: Vec<_> = kept.map(|field| field.name.as_str()).take(4).collect();
                    format!(
                        "... on {name} {{ {} }}",
                        if kept.is_empty() { "__typename".to_owned() } else { kept.join(" ") }
                    )
                })
                .collect();
            return format!("{{ __typename {} }}", inner.join(" "));
        }
        if self.schema.fields(&of.name).is_empty() {
            return String::new();
        }
        match selection(&self.schema.shape(of, &of_cart, 2)) {
            empty if empty.is_empty() || empty == "{  }" => "{ __typename }".to_owned(),
            some => some,
        }
    }

    fn paging(&self, arguments: &[(String, TypeRef)]) -> Option<&'static str> {
        let inner = arguments.iter().flat_map(|(_, of)| self.schema.fields(&of.name)).map(|field| field.name.as_str());
        let names: Vec<_> = arguments.iter().map(|(name, _)| name.as_str()).chain(inner).collect();
        let any = |of: &[&str]| names.iter().any(|name| is(name, of));
        [("offset", OFFSET), ("page", PAGE), ("cursor", AFTER)]
            .into_iter()
            .find(|(_, of)| any(of))
            .map(|(style, _)| style)
    }

    /// Writes a step with its document and its variables. `around` says what it is made for: nothing (`.`), each
    /// identifier (`each`), each line (`lines`) or each code (`codes`).
    fn step(&self, text: &mut String, [of, name]: [&str; 2], kind: &str, field: &Field, selected: &str, around: &str) {
        let wanted = |name: &str, of: &TypeRef| of.is_required || self.value(name, of, around, MAX_DEPTH).is_some();
        let arguments: Vec<_> = field.arguments.iter().filter(|(name, of)| wanted(name, of)).collect();
        let declared: Vec<_> = arguments.iter().map(|(name, of)| format!("${name}: {}", of.text)).collect();
        let passed: Vec<_> = arguments.iter().map(|(name, _)| format!("{name}: ${name}")).collect();
        let enclosed =
            |parts: &[String]| if parts.is_empty() { String::new() } else { format!("({})", parts.join(", ")) };
        let _ = writeln!(text, "[[{of}.step]]\nname = \"{name}\"");
        let each = match around {
            "each" => Some("$question.ids"),
            "lines" => Some("$question.lines"),
            "codes" => Some("$question.codes"),
            _ => None,
        };
        if let Some(each) = each {
            let _ = writeln!(text, "each = \"{each}\"");
        }
        let _ = writeln!(
            text,
            "graphql = '''\n{kind}{} {{ {}{} {selected} }}\n'''",
            enclosed(&declared),
            field.name,
            enclosed(&passed)
        );
        if !arguments.is_empty() {
            let values: Vec<_> = arguments
                .iter()
                .map(|(name, of)| {
                    let value = self.value(name, of, around, MAX_DEPTH);
                    format!("  {name}: {}", value.unwrap_or_else(|| hole(&format!("{name}, {}", of.text))))
                })
                .collect();
            let _ = writeln!(text, "variables = '''\n{{\n{}\n}}\n'''", values.join(",\n"));
        }
        if around == "each" {
            let _ = writeln!(text, "answer = \".{}\"", field.name);
        }
        text.push('\n');
    }

    /// Returns the program for an argument, if its name says what it is; of inputs within inputs, up to `depth`.
    fn value(&self, name: &str, of: &TypeRef, around: &str, depth: usize) -> Option<String> {
        let fields = self.schema.fields(&of.name);
        if !fields.is_empty() {
            // Filters contain themselves.
            if depth == 0 {
                return None;
            }
            let known: Vec<_> = fields
                .iter()
                .filter_map(|field| {
                    let value = match self.value(&field.name, &field.of, around, depth - 1) {
                        None if field.of.is_required => Some(hole(&format!("{}, {}", field.name, field.of.text))),
                        // What need not be there and is not known is left out.
                        value => value.filter(|value| field.of.is_required || !value.contains("hole(")),
                    };
                    Some(format!("{}: {}", field.name, value?))
                })
                .collect();
            let inner = format!("{{{}}}", known.join(", "));
            let inner = if of.is_list { format!("[{inner}]") } else { inner };
            return (!known.is_empty()).then_some(inner);
        }
        let quoted = |text: &str| Some(text.to_owned());
        match around {
            "each" if is(name, &["id"]) => quoted("."),
            "lines" if is(name, QUANTITY) => quoted(".quantity"),
            "lines" if is(name, VARIANT) => quoted(".variant"),
            "codes" if is(name, CODE) => quoted("."),
            "." if is(name, SIZE) => quoted("$paging.size"),
            "." if is(name, OFFSET) => quoted("$paging.offset"),
            "." if is(name, PAGE) => quoted("$paging.number"),
            "." if is(name, AFTER) => quoted("$paging.cursor"),
            "." if is(name, WORDS) => quoted("$question.words"),
            "." if is(name, EMAIL) => quoted("$question.buyer.email"),
            "." if is(name, &["firstname"]) => quoted("$question.buyer.first_name"),
            "." if is(name, &["lastname"]) => quoted("$question.buyer.last_name"),
            "." if is(name, &["countrycode", "country"]) => quoted("$question.address.address_country"),
            "." if is(name, &["postalcode", "postcode", "zip"]) => quoted("$question.address.postal_code"),
            "." if is(name, &["city"]) => quoted("$question.address.address_locality"),
            "." if is(name, &["streetline1", "address1", "street", "line1"]) => {
                quoted("$question.address.street_address")
            }
            "." if has(name, &["shippingmethodid", "deliverymethodid"]) && of.is_list => {
                quoted("[$question.delivery_option]")
            }
            "." if has(name, &["shippingmethodid", "deliverymethodid"]) => quoted("$question.delivery_option"),
            _ => None,
        }
    }
}

fn plain_is(name: &str, word: &str) -> bool {
    words::plain(name) == word
}

/// Returns the list in an answer, with the path that leads to it; edges of a connection are followed to their nodes.
fn nodes(shape: &Shape) -> Option<(String, &Shape)> {
    let (path, element) = shape.list()?;
    match words::member(element, &["node"]) {
        Some((name, node)) if words::member(element, TITLE).is_none() => {
            Some((format!(" | [{path}[]{}]", access(name)), node))
        }
        _ => Some((path, element)),
    }
}

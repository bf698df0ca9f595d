//! Conversion of the shop's errors and warnings about a cart to messages. An unknown code is logged, and the shop's own
//! sentence is passed on to the caller.
//!
//! Sentences of the shop may contain the identifier of its cart, which is a secret: those are not repeated.

use std::collections::BTreeMap;

use ucp_core::{
    Code, Refusal,
    message::{Message, Severity},
    ports::PortError,
};

use super::{
    plan::{Goal, Wish},
    shape::{Cart, Line, Told, UserError, Warning},
};
use crate::text;

/// Errors and warnings collected while a cart was changed.
#[derive(Default)]
pub(super) struct Notes {
    errors: Vec<Noted>,
    warnings: Vec<Warning>,
    /// Additional messages.
    more: Vec<Message>,
    /// `true` if the cart was only read: goods that are missing need not have been requested in this call.
    looked: bool,
    /// `true` if a change was not made as a whole, for an unknown reason.
    broken: bool,
}

/// An error, and the item that it is about.
#[derive(Clone, PartialEq, Eq)]
struct Noted {
    error: UserError,
    item: Option<String>,
}

/// Subject of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Goods,
    Email,
    Phone,
    Country,
    Address,
    Codes,
    Delivery,
    /// The cart as a whole, or an unknown field.
    Whole,
}

impl Notes {
    /// Creates the notes for a cart that is only read.
    pub(super) fn looked() -> Self {
        Self { looked: true, ..Self::default() }
    }

    /// Adds the result of a change. `goods` are the items of its lines, in their order.
    pub(super) fn hear(&mut self, told: &Told, goods: &[String]) {
        for error in &told.user_errors {
            let item = place(error).and_then(|place| goods.get(place)).cloned();
            let noted = Noted { error: error.clone(), item };
            if !self.errors.contains(&noted) {
                self.errors.push(noted);
            }
        }
        // Every mutation of a request repeats the warnings about the cart.
        for warning in &told.warnings {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
    }

    /// Adds the content of other notes.
    pub(super) fn add(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.warnings.extend(other.warnings);
        self.more.extend(other.more);
        self.broken |= other.broken;
    }

    pub(super) fn say(&mut self, message: Message) {
        self.more.push(message);
    }

    /// Notes that a change was not made as a whole, for an unknown reason.
    pub(super) fn broken(&mut self) {
        self.broken = true;
        let content = "The shop did not say whether it made this change, and not all of it is there. Repeat the call.";
        self.say(Message::error("change_uncertain", content, Severity::Recoverable));
    }

    /// Returns `true` if there are no errors, warnings or messages.
    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty() && self.warnings.is_empty() && self.more.is_empty()
    }

    /// Returns `true` if the shop no longer has the cart.
    pub(super) fn gone(&self) -> bool {
        self.errors.iter().any(|Noted { error, .. }| {
            let about = |step: &String| step == "cartId";
            error.code.as_deref() == Some("INVALID")
                && error.message.contains("does not exist")
                && error.field.as_ref().is_none_or(|field| field.iter().any(about))
        })
    }

    /// Returns the items that the shop refused as they are wanted.
    pub(super) fn refused_goods(&self) -> impl Iterator<Item = &String> {
        self.errors.iter().filter_map(|noted| noted.item.as_ref())
    }

    /// Removes from the wish what the shop refused to create a cart with; returns `true` if anything was removed.
    pub(super) fn spare(&self, wish: &mut Wish) -> bool {
        let mut spared = false;
        for Noted { error, item } in &self.errors {
            spared |= match (subject(error), item) {
                (Subject::Goods, Some(item)) => wish.refused.insert(item.clone()),
                (Subject::Email, _) => wish.buyer.email.take().is_some(),
                (Subject::Phone, _) => wish.buyer.phone.take().is_some(),
                (Subject::Country, _) => wish.buyer.country_code.take().is_some(),
                (Subject::Codes, _) => wish.codes.take().is_some_and(|codes| !codes.is_empty()),
                (Subject::Address, _) => {
                    matches!(std::mem::replace(&mut wish.goal, Goal::Unsaid), Goal::To(_))
                }
                (Subject::Goods | Subject::Delivery | Subject::Whole, _) => false,
            };
        }
        spared
    }

    /// Returns the first error as the error of a call that could not create a cart.
    pub(super) fn refusal(&self) -> PortError {
        match self.errors.first() {
            Some(Noted { error, .. }) if passing(error) => {
                PortError::unavailable("The shop cannot work on carts at the moment.", 1)
            }
            Some(Noted { error, .. }) => {
                let content = said(&error.message, "The shop refused the cart.");
                let path = match subject(error) {
                    Subject::Email => "$.buyer.email",
                    Subject::Phone => "$.buyer.phone_number",
                    Subject::Country => "$.context.address_country",
                    Subject::Address | Subject::Delivery => "$.fulfillment",
                    Subject::Codes => "$.discounts.codes",
                    Subject::Goods | Subject::Whole => "$.line_items",
                };
                Refusal::new(Code::InvalidRequest, content).at(path).into()
            }
            None => PortError::unavailable("The shop couldn't create a cart.", 1),
        }
    }

    /// Returns `true` if the shop is still computing the delivery options.
    pub(super) fn pending_delivery(&self) -> bool {
        self.errors.iter().any(|noted| noted.error.code.as_deref() == Some("PENDING_DELIVERY_GROUPS"))
    }

    /// Returns messages for everything that was noted, with paths into the answer, and for wanted goods whose quantity
    /// differs without an explanation by the shop. `lines` are those of the answer.
    pub(super) fn about(self, lines: &[(String, &Line)], cart: Option<&Cart>, wish: &Wish) -> Vec<Message> {
        let whole = cart.map(|cart| cart.lines.nodes.as_slice()).unwrap_or_default();
        let mut messages = Vec::new();
        for item in &wish.foreign {
            messages.push(not_sold(item));
        }
        // Items that a note explains, and `true` if a note is about no particular item.
        let mut explained: Vec<&str> = Vec::new();
        let mut unexplained = self.broken;
        for warning in &self.warnings {
            let item = whole.iter().find(|line| line.id == warning.target).map(|line| line.merchandise.id.as_str());
            explained.extend(item);
            let place = lines.iter().position(|(_, line)| line.id == warning.target);
            messages.push(warned(warning, place));
        }
        for Noted { error, item } in &self.errors {
            let place = item.as_ref().and_then(|item| lines.iter().position(|(_, own)| own.merchandise.id == *item));
            unexplained |= item.is_none() && matches!(subject(error), Subject::Goods | Subject::Whole);
            explained.extend(item.as_deref());
            messages.push(refused(error, item.as_deref(), place));
        }
        if self.codes_unsaid()
            && let Some(cart) = cart.filter(|_| wish.codes.is_some())
        {
            messages.extend(cart.discount_codes.iter().filter(|code| code.applicable == Some(false)).map(|code| {
                let code = text::line(&code.code).unwrap_or_default();
                let content = format!("The code `{code}` takes nothing off what is in the cart.");
                Message::warning("discount_code_not_applied", content).at("$.discounts.codes")
            }));
        }
        let mut there: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
        for (place, (_, line)) in lines.iter().enumerate() {
            let entry = there.entry(line.merchandise.id.as_str()).or_insert((place, 0));
            entry.1 = entry.1.saturating_add(line.quantity);
        }
        for (item, wanted) in wish.wanted() {
            if explained.contains(&item) {
                continue;
            }
            let sold_out = whole.iter().any(|line| line.merchandise.id == item && line.quantity == 0);
            messages.extend(match there.get(item) {
                None if sold_out => Some(missing("out_of_stock", format!("`{item}` is sold out."))),
                None if self.looked => {
                    let content = format!("`{item}` is no longer in the shop's cart.");
                    Some(Message::warning("item_removed", content).at("$.line_items"))
                }
                None if unexplained => {
                    let content = format!("The shop did not take `{item}`. Repeat the call.");
                    Some(missing("change_uncertain", content))
                }
                None => Some(missing("out_of_stock", format!("`{item}` is sold out."))),
                Some((place, quantity)) if *quantity < wanted => {
                    Some(adjusted(*place, "There are fewer than were asked for."))
                }
                Some((place, quantity)) if *quantity > wanted => {
                    Some(adjusted(*place, "There are more than were asked for."))
                }
                Some(_) => None,
            });
        }
        messages.extend(self.more);
        messages
    }

    /// Returns `true` if there are no warnings about codes: the shop gives them only when codes change.
    fn codes_unsaid(&self) -> bool {
        !self.warnings.iter().any(|warning| warning.code.starts_with("DISCOUNT_"))
    }
}

/// Returns the position of the line that an error is about, in the change.
fn place(error: &UserError) -> Option<usize> {
    let field = error.field.as_ref()?;
    let after = field.iter().position(|step| step == "lines")? + 1;
    field.get(after)?.parse().ok()
}

fn subject(error: &UserError) -> Subject {
    match error.code.as_deref().unwrap_or_default() {
        "INVALID_DELIVERY_OPTION" | "INVALID_DELIVERY_GROUP" | "PENDING_DELIVERY_GROUPS" => return Subject::Delivery,
        "MINIMUM_NOT_MET" | "MAXIMUM_EXCEEDED" | "INVALID_INCREMENT" | "INVALID_MERCHANDISE_LINE" => {
            return Subject::Goods;
        }
        code if of_address(code) => return Subject::Address,
        _ => {}
    }
    let has = |step: &str| error.field.iter().flatten().any(|own| own == step);
    if ["lines", "lineIds", "merchandiseId", "quantity"].into_iter().any(has) {
        Subject::Goods
    } else if ["delivery", "addresses", "deliveryAddress"].into_iter().any(has) {
        Subject::Address
    } else if has("email") {
        Subject::Email
    } else if has("phone") {
        Subject::Phone
    } else if has("countryCode") {
        Subject::Country
    } else if has("discountCodes") {
        Subject::Codes
    } else {
        Subject::Whole
    }
}

fn of_address(code: &str) -> bool {
    code.starts_with("ADDRESS_FIELD_")
        || code.starts_with("INVALID_ZIP_")
        || matches!(code, "PROVINCE_NOT_FOUND" | "ZIP_CODE_NOT_SUPPORTED" | "UNSPECIFIED_ADDRESS_ERROR")
}

fn passing(error: &UserError) -> bool {
    matches!(error.code.as_deref(), Some("SERVICE_UNAVAILABLE" | "MERCHANDISE_LINE_TRANSFORMERS_RUN_ERROR"))
}

/// Returns a sentence of the shop; `otherwise` if it is empty or contains an identifier or key of a cart.
fn said(message: &str, otherwise: &str) -> String {
    let secret = message.contains("gid://shopify/Cart") || message.contains("key=");
    text::line(message).filter(|_| !secret).unwrap_or_else(|| otherwise.to_owned())
}

fn not_sold(item: &str) -> Message {
    missing("item_unavailable", format!("`{item}` is not sold here."))
}

fn missing(code: &str, content: String) -> Message {
    Message::error(code, content, Severity::Recoverable).at("$.line_items")
}

fn adjusted(place: usize, content: &str) -> Message {
    Message::warning("quantity_adjusted", content).at(format!("$.line_items[{place}].quantity"))
}

/// Returns an API code in a form that is safe to log: printable ASCII, at most 64 characters.
fn word(code: &str) -> String {
    code.chars().filter(char::is_ascii_graphic).take(64).collect()
}

/// Converts a warning about the line at `place`, or about the cart as a whole.
fn warned(warning: &Warning, place: Option<usize>) -> Message {
    let said = said(&warning.message, "The shop has a remark on this cart.");
    let line = || place.map_or_else(|| "$.line_items".to_owned(), |place| format!("$.line_items[{place}]"));
    let code = match warning.code.as_str() {
        "MERCHANDISE_OUT_OF_STOCK" => {
            return Message::error("out_of_stock", said, Severity::Recoverable).at(line());
        }
        "MERCHANDISE_NOT_ENOUGH_STOCK" => {
            return place.map_or_else(
                || Message::warning("quantity_adjusted", &*said).at("$.line_items"),
                |place| adjusted(place, &said),
            );
        }
        "DISCOUNT_NOT_FOUND" => "discount_code_invalid",
        "DISCOUNT_CURRENTLY_INACTIVE" => "discount_code_expired",
        "DISCOUNT_CUSTOMER_NOT_ELIGIBLE" => "discount_code_user_ineligible",
        "DISCOUNT_ELIGIBLE_CUSTOMER_MISSING" => "discount_code_user_not_logged_in",
        code if code.starts_with("DISCOUNT_") => "discount_code_not_applied",
        code => {
            tracing::warn!(code = word(code), "unknown upstream warning");
            return Message::warning("shop_warning", said);
        }
    };
    Message::warning(code, said).at("$.discounts.codes")
}

/// Converts an error, about the item at `place` of the answer if there is one.
fn refused(error: &UserError, item: Option<&str>, place: Option<usize>) -> Message {
    let said = said(&error.message, "The shop refused a change.");
    let recoverable = |code: &str, path: &str| Message::error(code, &*said, Severity::Recoverable).at(path);
    let line = place.map_or_else(|| "$.line_items".to_owned(), |place| format!("$.line_items[{place}]"));
    let of_code = error.code.as_deref().unwrap_or_default();
    match of_code {
        "MINIMUM_NOT_MET" | "MAXIMUM_EXCEEDED" | "INVALID_INCREMENT" => return recoverable("quantity_invalid", &line),
        "INVALID_DELIVERY_OPTION" | "INVALID_DELIVERY_GROUP" => {
            return recoverable("fulfillment_invalid", "$.fulfillment.methods[0].groups");
        }
        "PENDING_DELIVERY_GROUPS" => return recoverable("fulfillment_pending", "$.fulfillment.methods[0].groups"),
        _ => {}
    }
    let unknown = error.field.iter().flatten().any(|step| step == "merchandiseId");
    match subject(error) {
        Subject::Goods => match (of_code, item) {
            ("INVALID", Some(item)) if unknown => not_sold(item),
            ("INVALID" | "LESS_THAN", _) if error.field.iter().flatten().any(|step| step == "quantity") => {
                recoverable("quantity_invalid", &line)
            }
            ("LESS_THAN", _) => recoverable("quantity_invalid", &line),
            _ => recoverable("item_unavailable", &line),
        },
        Subject::Address => recoverable("address_undeliverable", "$.fulfillment.methods[0].destinations"),
        Subject::Email => recoverable("field_invalid", "$.buyer.email"),
        Subject::Phone => recoverable("field_invalid", "$.buyer.phone_number"),
        Subject::Country => recoverable("field_invalid", "$.context.address_country"),
        Subject::Codes => Message::warning("discount_code_invalid", said).at("$.discounts.codes"),
        Subject::Delivery => recoverable("fulfillment_invalid", "$.fulfillment.methods[0].groups"),
        Subject::Whole => match of_code {
            "LESS_THAN" => recoverable("quantity_invalid", &line),
            "MERCHANDISE_NOT_APPLICABLE" | "VARIANT_REQUIRES_SELLING_PLAN" => recoverable("item_unavailable", &line),
            code => {
                tracing::warn!(code = word(code), "unknown upstream error");
                Message::error("shop_error", said, Severity::Recoverable)
            }
        },
    }
}

#[cfg(test)]
mod tests;

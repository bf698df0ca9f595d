//! What the shop says about a cart, in the domain's words. A word that is not known here goes to the log, and to the caller
//! as the shop's own sentence.

use ucp_core::{
    Code, Refusal,
    message::{Message, Severity},
};

use super::{
    plan::WishedLine,
    shape::{Line, Told, UserError, Warning},
};
use crate::storefront::text;

/// What was said while a cart was changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    errors: Vec<UserError>,
    warnings: Vec<Warning>,
    /// Lines that were left out because the shop does not know their goods.
    unknown: Vec<String>,
    /// Something that has to be said beside.
    more: Vec<Message>,
}

impl Notes {
    pub(super) fn hear(&mut self, told: &Told) {
        self.errors.extend(told.user_errors.iter().cloned());
        // Every mutation of a request repeats what is the matter with the cart.
        for warning in &told.warnings {
            let again = |own: &Warning| {
                own.code == warning.code && own.target == warning.target && own.message == warning.message
            };
            if !self.warnings.iter().any(again) {
                self.warnings.push(warning.clone());
            }
        }
    }

    pub(super) fn leave_out(&mut self, items: Vec<String>) {
        self.unknown.extend(items);
    }

    pub(super) fn say(&mut self, message: Message) {
        self.more.push(message);
    }

    /// Whether nothing was said.
    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty() && self.warnings.is_empty()
    }

    /// Whether lines were left out because the shop does not know their goods.
    pub(super) fn leaves_out(&self) -> bool {
        !self.unknown.is_empty()
    }

    /// Whether the shop no longer has the cart.
    pub(super) fn gone(&self) -> bool {
        self.errors.iter().any(|error| {
            error.code.as_deref() == Some("INVALID")
                && error.message.contains("does not exist")
                && !error.message.contains("merchandise")
        })
    }

    /// The places of the lines whose goods the shop does not know, as `cartCreate` and `cartLinesAdd` say it.
    pub(super) fn refused_lines(&self) -> Vec<usize> {
        let place = |error: &UserError| {
            let field = error.field.as_ref()?;
            let after = field.iter().position(|step| step == "lines")? + 1;
            field.get(after)?.parse().ok()
        };
        self.errors.iter().filter_map(place).collect()
    }

    /// The first thing that was wrong, for a cart that could not be made at all.
    pub(super) fn refusal(&self) -> Refusal {
        match self.errors.first() {
            Some(error) if passing(error) => Refusal::unavailable("The shop cannot work on carts at the moment.", 1),
            Some(error) => {
                let content = text::line(&error.message).unwrap_or_else(|| "The shop refused the cart.".to_owned());
                Refusal::new(Code::InvalidRequest, content).at("$.line_items")
            }
            None => Refusal::unavailable("The shop made no cart.", 1),
        }
    }

    /// Everything that was said, with paths into the answer.
    pub(super) fn about(self, lines: &[(String, &Line)], wanted: &[WishedLine]) -> Vec<Message> {
        let mut messages = Vec::new();
        for item in &self.unknown {
            let content = format!("`{item}` is not sold here.");
            messages.push(Message::error("item_unavailable", content, Severity::Recoverable).at("$.line_items"));
        }
        for warning in &self.warnings {
            let place = lines.iter().position(|(_, line)| line.id == warning.target);
            messages.push(warned(warning, place));
        }
        for error in &self.errors {
            messages.push(refused(error));
        }
        // The shop may have less of something without a word about it.
        for line in wanted {
            let there = lines.iter().position(|(_, own)| own.merchandise.id == line.item);
            let said =
                messages.iter().any(|message| message.path().is_some_and(|path| path.starts_with("$.line_items")));
            match there {
                None if !said && !self.unknown.contains(&line.item) => {
                    let content = format!("`{}` is sold out.", line.item);
                    messages.push(Message::error("out_of_stock", content, Severity::Recoverable).at("$.line_items"));
                }
                Some(place) if !said && lines[place].1.quantity < line.quantity => {
                    messages.push(adjusted(place, "There are fewer than were asked for."));
                }
                _ => {}
            }
        }
        messages.extend(self.more);
        messages
    }
}

fn passing(error: &UserError) -> bool {
    matches!(error.code.as_deref(), Some("SERVICE_UNAVAILABLE" | "MERCHANDISE_LINE_TRANSFORMERS_RUN_ERROR"))
}

fn adjusted(place: usize, content: &str) -> Message {
    Message::warning("quantity_adjusted", content).at(format!("$.line_items[{place}].quantity"))
}

/// A warning: about a line, or about the cart as a whole.
fn warned(warning: &Warning, place: Option<usize>) -> Message {
    let said = text::line(&warning.message).unwrap_or_else(|| "The shop has a remark on this cart.".to_owned());
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
            tracing::warn!(code = &code[..code.len().min(64)], "the shop warns of something that is not known here");
            return Message::warning("shop_warning", said);
        }
    };
    Message::warning(code, said).at("$.discounts.codes")
}

/// Something that the shop did not do.
fn refused(error: &UserError) -> Message {
    let said = text::line(&error.message).unwrap_or_else(|| "The shop refused a change.".to_owned());
    let of_code = error.code.as_deref().unwrap_or_default();
    let (code, path) = match of_code {
        "MINIMUM_NOT_MET" | "MAXIMUM_EXCEEDED" | "INVALID_INCREMENT" | "LESS_THAN" => {
            ("quantity_invalid", "$.line_items")
        }
        "INVALID" | "INVALID_MERCHANDISE_LINE" | "MERCHANDISE_NOT_APPLICABLE" | "VARIANT_REQUIRES_SELLING_PLAN" => {
            ("item_unavailable", "$.line_items")
        }
        "INVALID_DELIVERY_OPTION" | "INVALID_DELIVERY_GROUP" => {
            ("fulfillment_invalid", "$.fulfillment.methods[0].groups")
        }
        "PENDING_DELIVERY_GROUPS" => ("fulfillment_pending", "$.fulfillment.methods[0].groups"),
        code if code.starts_with("ADDRESS_FIELD_")
            || code.starts_with("INVALID_ZIP_")
            || matches!(code, "PROVINCE_NOT_FOUND" | "ZIP_CODE_NOT_SUPPORTED" | "UNSPECIFIED_ADDRESS_ERROR") =>
        {
            ("address_undeliverable", "$.fulfillment.methods[0].destinations")
        }
        code => {
            let code = &code[..code.len().min(64)];
            tracing::warn!(code, "the shop refuses something for a reason that is not known here");
            return Message::error("shop_error", said, Severity::Recoverable);
        }
    };
    Message::error(code, said, Severity::Recoverable).at(path)
}

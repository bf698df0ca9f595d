//! Cause, fix and example of every message code.

/// Type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The resource cannot be completed without a change, or does not exist.
    Error,
    /// The result differs from the request.
    Warning,
    /// Information.
    Info,
}

impl Kind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// Explanation of a code.
pub(super) struct Explained {
    pub(super) code: &'static str,
    pub(super) kind: Kind,
    pub(super) cause: &'static str,
    pub(super) fix: &'static str,
    /// Retry advice.
    pub(super) retry: &'static str,
    /// JSONPath of an example; empty for none.
    pub(super) path: &'static str,
    pub(super) content: &'static str,
}

const NO: &str = "no";
const CHANGED: &str = "after fixing the request";
const LATER: &str = "yes, later";

macro_rules! messages {
    ($($code:literal $kind:ident $retry:ident $path:literal: $cause:literal => $fix:literal, $content:literal;)+) => {
        /// All codes, by name.
        pub(super) const ALL: &[Explained] = &[$(Explained {
            code: $code, kind: Kind::$kind, cause: $cause, fix: $fix, retry: $retry, path: $path, content: $content,
        }),+];
    };
}

messages! {
    "action_outstanding" Error LATER "$.actions['dev.ucp.common.payment.three_ds_challenge'][0]":
        "The payment waits for the buyer's authentication; the request had no effect." => "Show the page of the action, then get the checkout.",
        "The payment goes on once the action was processed. Read the checkout to learn its result.";
    "address_undeliverable" Error CHANGED "$.fulfillment.methods[0].destinations[0]":
        "The shop does not ship to this address." => "Ask the buyer for another address, or offer pickup.",
        "Nothing can be sent to this address.";
    "agent_missing_key" Error CHANGED "$.ap2":
        "The platform's profile does not publish the key that the mandate is bound to." => "Publish the key, or bind the mandate to a published one.",
        "The platform's profile has no key for mandates.";
    "batch_limit_applied" Warning CHANGED "":
        "The request exceeds the size of one batch." => "Request the rest separately.",
        "Only some of what was asked for is answered.";
    "capabilities_incompatible" Error CHANGED "":
        "The platform does not declare a capability that the operation requires." => "Declare the capability in the platform's profile; `ucp-gateway explain negotiation` shows the details.",
        "The platform does not declare `dev.ucp.shopping.cart`.";
    "cart_lost" Warning CHANGED "":
        "The shop no longer has the cart; it gave the cart up." => "Update the resource, or complete the checkout: the shop makes another cart with the same contents.",
        "The shop no longer has the cart of this checkout, and prices are the last known ones.";
    "cart_renewed" Info NO "":
        "The shop no longer had the cart of the checkout and has made another one." => "Check the totals: they are those of the new cart.",
        "The shop no longer had the cart of this checkout, and has made another one with the same contents.";
    "catalog_incomplete" Info LATER "":
        "The first catalog sync is still running; the search covers only what has been synced." => "Search again later. Products in the results can be bought.",
        "The shop's catalog is being read for the first time; there may be more products than are found.";
    "change_uncertain" Error LATER "$.line_items":
        "The shop did not confirm the change." => "Get the cart before you change it again.",
        "It is not known whether the shop took the change.";
    "checkout_canceled" Error NO "":
        "The checkout was canceled or has expired." => "Create a new checkout.",
        "A checkout that is `canceled` cannot be updated.";
    "checkout_completed" Error NO "":
        "The checkout is completed and its order placed." => "Get the order. Create a new checkout for anything else.",
        "A checkout that is `completed` cannot be updated.";
    "complete_in_progress" Error LATER "$.status":
        "The payment is in progress." => "Get the checkout again after a few seconds. Retry the completion only with the same idempotency key.",
        "A checkout that is `complete_in_progress` cannot be updated.";
    "completion_not_sent" Warning LATER "":
        "The shop or the payment provider did not answer. Nothing was sent to it, or nothing arrived, and nothing was charged." => "Complete the checkout again, under a new idempotency key.",
        "The shop does not answer at the moment. No order was sent, and nothing was charged. Complete the checkout again.";
    "credit_applied" Info NO "$.discounts.codes[0]":
        "The code belongs to a gift card or store credit, which pays part of the total." => "Show the entry `gift_card` or `store_credit` of `totals`.",
        "20.00 USD of the total are paid by \"Gift card\".";
    "currency_changed" Warning NO "$.currency":
        "The country of the address decides about the currency." => "Show the new prices to the buyer.",
        "Prices are in EUR: the goods go to DE.";
    "delivery_options_incomplete" Warning LATER "$.fulfillment.methods[0].groups":
        "The shop did not return all fulfillment options in time." => "Get the checkout again for the others.",
        "The shop may have more delivery options.";
    "destination_unknown" Error CHANGED "$.fulfillment.methods[0].selected_destination_id":
        "The selected destination does not belong to the fulfillment method." => "Select the `id` of an entry of `destinations`.",
        "There is no destination `dest_9`.";
    "discount_code_already_applied" Warning NO "$.discounts.codes[1]":
        "The discount is already applied." => "Remove the code.",
        "The discount of the code `WELCOME10` is already applied.";
    "discount_code_combination_disallowed" Warning CHANGED "$.discounts.codes[1]":
        "The code cannot be combined with another one." => "Keep the code that the buyer prefers.",
        "The code `A` cannot be combined with \"B\".";
    "discount_code_expired" Warning NO "$.discounts.codes[0]":
        "The code is no longer valid." => "Tell the buyer, and remove the code.",
        "The code `SPRING` has expired.";
    "discount_code_invalid" Warning CHANGED "$.discounts.codes[0]":
        "The code does not exist." => "Ask the buyer to check the spelling.",
        "There is no code `nope`.";
    "discount_code_not_applied" Warning CHANGED "$.discounts.codes":
        "The shop accepted the code, but it does not apply to these items." => "Tell the buyer, or change the cart.",
        "The code `A` does not apply to this cart.";
    "discount_code_user_ineligible" Warning CHANGED "$.discounts.codes[0]":
        "The buyer or the cart does not meet the condition in `content`." => "Meet the condition, or remove the code.",
        "The code `A` does not apply: it needs 50 dollars.";
    "discount_code_user_not_logged_in" Warning CHANGED "$.discounts.codes[0]":
        "The code is limited to certain buyers." => "Send the buyer's `email`.",
        "The code `A` is for certain buyers: it needs the buyer's email address.";
    "eligibility_accepted" Info NO "$.context.eligibility[0]":
        "A claim about the buyer was accepted." => "No action needed.",
        "`com.example.member` is accepted.";
    "eligibility_invalid" Error CHANGED "$.context.eligibility[0]":
        "A claim that a discount depends on could not be verified." => "Remove the claim, or prove it as the shop requires.",
        "`com.example.member` could not be verified.";
    "eligibility_not_accepted" Warning CHANGED "$.context.eligibility[0]":
        "The shop does not recognize the claim." => "Remove the claim.",
        "`com.example.member` is not accepted here.";
    "expired" Info NO "":
        "The checkout has expired." => "Create a new checkout.",
        "The checkout has expired.";
    "facts_as_of" Info NO "":
        "The search used a synced copy of the catalog." => "No action needed: `get_product` and carts return current prices and availability.",
        "Prices and availability are those of 2026-09-01T12:00:00Z, when the shop's catalog was read last.";
    "field_invalid" Error CHANGED "$.buyer.email":
        "The value of a field is not accepted." => "Correct the field at `path`; ask the buyer for personal data.",
        "The buyer's `email` must be an email address.";
    "field_required" Error CHANGED "$.buyer.email":
        "A required field is missing." => "Add the field at `path`; ask the buyer for personal data.",
        "The buyer's `email` is needed.";
    "filter_ignored" Info CHANGED "$.filters.brand":
        "The shop does not support the filter." => "Filter the results yourself.",
        "The filter `brand` is not known.";
    "free_shipping" Info NO "$.fulfillment.methods[0].groups[0].options[0]":
        "Shipping is free for this order." => "Tell the buyer.",
        "free for larger orders";
    "fulfillment_combination_disallowed" Error CHANGED "$.fulfillment.methods":
        "The fulfillment methods cannot be combined." => "Use one method for all line items.",
        "Shipping and pick-up cannot be combined.";
    "fulfillment_required" Error CHANGED "$.fulfillment.methods":
        "The checkout has no fulfillment method." => "Add a method of `fulfillment.available_methods`.",
        "Choose a fulfillment method.";
    "fulfillment_unavailable" Error CHANGED "$.fulfillment.methods[0]":
        "The shop does not offer this fulfillment method, or not for these items." => "Choose one of `fulfillment.available_methods`.",
        "The shop has no pickup to offer.";
    "item_removed" Warning NO "$.line_items":
        "The shop removed a line item from the cart." => "Tell the buyer, and search for an alternative.",
        "`v1` is no longer in the cart.";
    "item_resolved" Info NO "$.line_items[0].item.id":
        "A line item named a product or SKU and was resolved to a variant." => "Check that the buyer wants this variant.",
        "`RP-BLU-10` is the variant `var_abc123_blue_10`.";
    "item_unavailable" Error CHANGED "$.line_items[0]":
        "The variant does not exist or is not for sale." => "Search again; line items require variant IDs.",
        "`v9` is not sold here.";
    "mandate_expired" Error CHANGED "$.ap2":
        "The buyer's mandate has expired." => "Ask the buyer for a new mandate.",
        "The mandate has expired.";
    "mandate_invalid_signature" Error CHANGED "$.ap2":
        "The signature of the buyer's mandate is invalid." => "Sign the mandate with the key that it is bound to.",
        "The signature of the mandate is not valid.";
    "mandate_required" Error CHANGED "$.ap2":
        "Mandates were negotiated, but the completion has none." => "Add the buyer's mandate for the signed checkout.",
        "The completion needs a mandate of the buyer.";
    "mandate_scope_mismatch" Error CHANGED "$.ap2":
        "The mandate belongs to another checkout or to other terms." => "Get the checkout, and have the buyer approve its current state.",
        "The mandate is for other terms.";
    "member_ignored" Info NO "$.line_items[0].color":
        "The request has an unknown field." => "Remove the field, or move it to its place in the schema.",
        "`$.line_items[0].color` is not known, and was ignored.";
    "merchant_authorization_invalid" Error CHANGED "$.ap2":
        "The shop's signature in the mandate is invalid." => "Use the checkout exactly as the shop signed it.",
        "The authorization of the checkout is not valid.";
    "merchant_authorization_missing" Error CHANGED "$.ap2":
        "The mandate contains no checkout that the shop signed." => "Add the signed checkout to the mandate.",
        "The mandate holds no authorization of the checkout.";
    "not_checked" Warning LATER "":
        "The shop returned nothing for an identifier." => "Look it up again.",
        "sku-1 could not be looked up";
    "not_found" Error NO "$.id":
        "The resource does not exist or belongs to another platform. In a lookup, the message is informational." => "Search again, and use IDs from responses.",
        "No product or variant of this shop has this id.";
    "option_unknown" Error CHANGED "$.fulfillment.methods[0].groups[0].selected_option_id":
        "The option does not exist. In `get_product`, the message is a warning." => "Select one of the returned options.",
        "There is no option `overnight`.";
    "option_value_unknown" Warning CHANGED "$.product.options[0].values":
        "The option value does not exist." => "Select one of the returned values; `selected` has the values that were kept.",
        "The product has no Size 15.";
    "order_not_named" Warning NO "":
        "The shop completed the checkout but has not returned the order ID yet." => "Get the checkout later. Do not complete it again.",
        "The shop has completed the purchase and has not named the order yet. Do not complete it again.";
    "out_of_stock" Error CHANGED "$.line_items[0]":
        "Not enough stock." => "Reduce the quantity, or choose another variant.",
        "`Runner Pro – Red / Size 8` is sold out.";
    "payment_failed" Error CHANGED "$.payment.instruments[0]":
        "The payment was declined." => "Pay with another instrument, under a new idempotency key.",
        "The bank refused the payment.";
    "payment_on_shop_page" Error NO "":
        "The shop accepts payments only on its own page." => "Send the buyer to `continue_url`.",
        "Go on at the page of the shop to pay.";
    "payment_unavailable" Error CHANGED "$.payment.instruments[0].handler_id":
        "The shop has no such payment handler." => "Use a handler from `ucp.payment_handlers`.",
        "There is no payment handler `visa`.";
    "price_filter_converted" Info CHANGED "$.filters.price":
        "The price filter was converted to the shop's currency." => "Compare the returned prices.",
        "The price filter was converted.";
    "price_filter_ignored" Info CHANGED "$.filters.price":
        "The shop cannot compare prices in the currency of the filter." => "Set `context.currency` to a currency of the shop.",
        "The price filter was ignored.";
    "price_filter_in_minor_units" Info CHANGED "$.filters.price":
        "The filter looks like major units, but was read as minor units of the currency." => "Send minor units: multiply by 100 for most currencies.",
        "The filter is read as 1.50 USD.";
    "price_filter_not_converted" Info CHANGED "$.filters.price":
        "The shop has no exchange rate for the currency of the price filter." => "Set `context.currency` to a currency of the shop.",
        "The price filter was not converted.";
    "price_in_words" Info CHANGED "$.query":
        "The query names a price that limits nothing." => "Use `filters.price`.",
        "For prices there is `filters.price`.";
    "price_understood" Info NO "$.query":
        "A price in the words of the query was taken as a price filter." => "Use `filters.price` if it is wrong.",
        "`under $50` was taken as a price filter: `max` 5000 in minor units of USD.";
    "purchase_unconfirmed" Error LATER "":
        "The result of the payment is not known yet." => "Get the checkout later. Do not pay again under another idempotency key.",
        "It is not known yet whether the payment was made.";
    "quantity_adjusted" Warning NO "$.line_items[0].quantity":
        "The stock is lower than the requested quantity, or the quantity is not sold." => "Tell the buyer.",
        "There are 3 left.";
    "quantity_invalid" Error CHANGED "$.line_items[0].quantity":
        "The quantity is not sold, for example below the minimum." => "Use a quantity from `content`.",
        "The quantity must be at least 1.";
    "quantity_unit_mismatch" Error CHANGED "$.line_items[0].quantity":
        "The item is sold in another unit." => "Send the quantity in the unit of the variant.",
        "`v1` is sold by the meter.";
    "requires_3ds" Error CHANGED "$.payment.instruments[0]":
        "The bank requires an authentication of the buyer." => "Send the buyer to `continue_url`, then complete the checkout.",
        "The bank wants to authenticate the buyer.";
    "shop_error" Error CHANGED "":
        "The shop rejects the request for the reason in `content`." => "Follow `content`.",
        "The shop says: the cart is locked.";
    "shop_warning" Warning NO "":
        "The shop returned a warning." => "Tell the buyer.",
        "The shop says: delivery may take longer.";
    "stale" Warning LATER "":
        "The shop did not respond; the result is an earlier response." => "Request current data before a purchase.",
        "What is shown is about 3 min old; prices and availability may have changed.";
    "tax_included" Info NO "$.totals":
        "Prices include tax." => "No action needed.",
        "Prices include 19 % tax.";
    "taxes_at_checkout" Info NO "$.totals":
        "Taxes depend on the destination." => "Create a checkout with an address for the total.",
        "Taxes are added in the checkout.";
    "total_changed" Warning CHANGED "$.totals":
        "The total differs from the last one that was returned." => "Show the new total to the buyer, and complete again.",
        "The total changed from 120.00 to 125.00 USD.";
    "total_differs" Error LATER "$.totals":
        "The shop's total is not the sum of its parts." => "Retry later; the shop must correct it.",
        "The shop's total is not the sum of its parts.";
    "unspecified" Error NO "":
        "The shop rejects the request without a reason." => "Contact the operator of the shop.",
        "The shop does not say why.";
    "words_corrected" Info NO "$.query":
        "The query was corrected for spelling." => "Rephrase the query if the correction is wrong.",
        "`runing` was read as `running`.";
    "words_matched_in_part" Info NO "$.query":
        "Few products or none match all words; the other results match some of them." => "Check that the results fit.",
        "Few products here have all words of the query.";
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use ucp_core::Code;

    use super::*;

    /// The sources of all crates but for what clients, tests and this reference say.
    fn sources() -> String {
        fn read(folder: &Path, text: &mut String) {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
                if path.is_dir() && !["tests", "errors", "ucp-client", "ucp-testkit", "ucp-fake-psp"].contains(&name) {
                    read(&path, text);
                } else if name.ends_with(".rs") && name != "tests.rs" {
                    let source = fs::read_to_string(&path).expect("a source");
                    text.push_str(source.split("#[cfg(test)]").next().unwrap_or_default());
                }
            }
        }
        let mut text = String::new();
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut text);
        text
    }

    /// The texts that stand first among the arguments of these functions, or as this member.
    fn codes(source: &str) -> BTreeSet<&str> {
        const BEFORE: [&str; 8] = [
            "Message::error(",
            "Message::warning(",
            "Message::info(",
            "refused(",
            "failed(",
            "missing(",
            "\"code\":",
            "code:",
        ];
        let mut found = BTreeSet::new();
        for before in BEFORE {
            for (place, _) in source.match_indices(before) {
                let rest = source[place + before.len()..].trim_start();
                let code = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()).unwrap_or_default();
                if !code.is_empty()
                    && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit())
                {
                    found.insert(code);
                }
            }
        }
        found
    }

    #[test]
    fn every_code_of_messages_is_explained_and_occurs() {
        let source = sources();
        let found = codes(&source);
        assert!(found.len() > 30, "{found:?}");
        let refusals: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let explained: BTreeSet<&str> = ALL.iter().map(|explained| explained.code).collect();
        let missing: Vec<_> =
            found.iter().filter(|code| !explained.contains(*code) && !refusals.contains(*code)).collect();
        assert!(missing.is_empty(), "no explanation of {missing:?}");
        for code in &explained {
            // These are put together from two parts.
            let part = code.strip_prefix("discount_code_").unwrap_or(code);
            let occurs = source.contains(&format!("\"{code}\"")) || source.contains(&format!("\"{part}\""));
            assert!(occurs, "`{code}` is explained, and nothing says it");
        }
        assert_eq!(explained.len(), ALL.len(), "each once");
        assert!(ALL.is_sorted_by_key(|explained| explained.code), "by name");
    }
}

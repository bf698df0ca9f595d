//! Cause, cure and example of every code in the messages of answers.

/// Type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something must change before the resource can be completed, or there is no resource.
    Error,
    /// It goes on, otherwise than was asked.
    Warning,
    /// Something worth telling.
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
    pub(super) cure: &'static str,
    /// Whether the same call may have another result.
    pub(super) retry: &'static str,
    /// Place that such a message names, if it names one.
    pub(super) path: &'static str,
    pub(super) content: &'static str,
}

const NO: &str = "no";
const CHANGED: &str = "after the change";
const LATER: &str = "later";

macro_rules! messages {
    ($($code:literal $kind:ident $retry:ident $path:literal: $cause:literal => $cure:literal, $content:literal;)+) => {
        /// All codes, by name.
        pub(super) const ALL: &[Explained] = &[$(Explained {
            code: $code, kind: Kind::$kind, cause: $cause, cure: $cure, retry: $retry, path: $path, content: $content,
        }),+];
    };
}

messages! {
    "action_outstanding" Error LATER "$.actions['dev.ucp.common.payment.three_ds_challenge'][0]":
        "The payment waits for an authentication of the buyer, and the call had no effect." => "Show the action's page, and read the checkout afterwards.",
        "The payment goes on once the action was processed. Read the checkout to learn its result.";
    "address_undeliverable" Error CHANGED "$.fulfillment.methods[0].destinations[0]":
        "The shop does not deliver to this address." => "Ask the buyer for another address, or offer pick-up.",
        "Nothing can be sent to this address.";
    "agent_missing_key" Error CHANGED "$.ap2":
        "The mandate is bound to a key that the platform's profile does not publish." => "Publish the key, or bind the mandate to one that is published.",
        "The platform's profile has no key for mandates.";
    "batch_limit_applied" Warning CHANGED "":
        "More was asked for than is answered at once." => "Ask for the rest in a further call.",
        "Only some of what was asked for is answered.";
    "capabilities_incompatible" Error CHANGED "":
        "The platform and the shop have no capability in common that the operation needs." => "Declare the capability in the platform's profile; `ucp-gateway explain negotiation` shows why.",
        "The platform does not declare `dev.ucp.shopping.cart`.";
    "catalog_incomplete" Info LATER "":
        "Products are found in a copy of the shop's catalog, which is being made for the first time." => "Search again later; what is found can be bought.",
        "The shop's catalog is being read for the first time; there may be more products than are found.";
    "change_uncertain" Error LATER "$.line_items":
        "The shop did not say whether it took the change." => "Read the cart before changing it again.",
        "It is not known whether the shop took the change.";
    "checkout_canceled" Error NO "":
        "The checkout was canceled, or has expired." => "Create a new checkout.",
        "A checkout that is `canceled` cannot be updated.";
    "checkout_completed" Error NO "":
        "The checkout was completed: its order is placed." => "Read the order; create a new checkout for something else.",
        "A checkout that is `completed` cannot be updated.";
    "complete_in_progress" Error LATER "$.status":
        "The payment is under way." => "Read the checkout again after some seconds; repeat the completion with the same key if at all.",
        "A checkout that is `complete_in_progress` cannot be updated.";
    "concluded_elsewhere" Info NO "":
        "The buyer completed the checkout on the shop's page." => "Show the order.",
        "The checkout was completed on the page of the shop.";
    "credit_applied" Info NO "$.discounts.codes[0]":
        "The code is that of a gift card or of store credit, which pays a part of the purchase." => "Show the entry `gift_card` or `store_credit` of `totals`.",
        "20.00 USD of the total are paid by \"Gift card\".";
    "delivery_options_incomplete" Warning LATER "$.fulfillment.methods[0].groups":
        "The shop did not say all ways of delivery in time." => "Read the checkout again for the others.",
        "The shop may have more delivery options.";
    "destination_unknown" Error CHANGED "$.fulfillment.methods[0].selected_destination_id":
        "The selected destination is none of the method." => "Select the `id` of one of `destinations`.",
        "There is no destination `dest_9`.";
    "discount_code_already_applied" Warning NO "$.discounts.codes[1]":
        "The discount of the code applies already." => "Leave the code out.",
        "The discount of the code `WELCOME10` is already applied.";
    "discount_code_combination_disallowed" Warning CHANGED "$.discounts.codes[1]":
        "The code cannot be combined with another one." => "Keep the code that the buyer prefers.",
        "The code `A` cannot be combined with \"B\".";
    "discount_code_expired" Warning NO "$.discounts.codes[0]":
        "The code is no longer valid." => "Tell the buyer, and leave the code out.",
        "The code `SPRING` has expired.";
    "discount_code_invalid" Warning CHANGED "$.discounts.codes[0]":
        "There is no such code." => "Ask the buyer how it is spelt.",
        "There is no code `nope`.";
    "discount_code_not_applied" Warning CHANGED "$.discounts.codes":
        "The shop took the code and does not apply it to these goods." => "Tell the buyer, or change the cart.",
        "The code `A` does not apply to this cart.";
    "discount_code_user_ineligible" Warning CHANGED "$.discounts.codes[0]":
        "The buyer or the cart does not meet a condition of the code, which the text names." => "Meet the condition, or leave the code out.",
        "The code `A` does not apply: it needs 50 dollars.";
    "discount_code_user_not_logged_in" Warning CHANGED "$.discounts.codes[0]":
        "The code is for certain buyers." => "Say the buyer's `email`.",
        "The code `A` is for certain buyers: it needs the buyer's e-mail.";
    "eligibility_accepted" Info NO "$.context.eligibility[0]":
        "A claim about the buyer is accepted." => "Nothing.",
        "`com.example.member` is accepted.";
    "eligibility_invalid" Error CHANGED "$.context.eligibility[0]":
        "A claim on which a discount depends could not be verified." => "Leave the claim out, or prove it as the shop asks.",
        "`com.example.member` could not be verified.";
    "eligibility_not_accepted" Warning CHANGED "$.context.eligibility[0]":
        "The shop does not know the claim." => "Leave the claim out.",
        "`com.example.member` is not accepted here.";
    "expired" Info NO "":
        "The checkout has expired." => "Create a new checkout.",
        "The checkout has expired.";
    "facts_as_of" Info NO "":
        "Products are found in a copy of the shop's catalog." => "Nothing; a product that is opened and a cart tell prices and availability of now.",
        "Prices and availability are those of 2026-09-01T12:00:00Z, when the shop's catalog was read last.";
    "field_required" Error CHANGED "$.buyer.email":
        "Something is missing." => "Add the member at `path`; ask the buyer where it is theirs to say.",
        "The buyer's `email` is needed.";
    "filter_ignored" Info CHANGED "$.filters.brand":
        "The shop has no such filter." => "Choose among the results yourself.",
        "The filter `brand` is not known.";
    "free_shipping" Info NO "$.fulfillment.methods[0].groups[0].options[0]":
        "The delivery costs nothing for this order." => "Tell the buyer.",
        "free for larger orders";
    "fulfillment_combination_disallowed" Error CHANGED "$.fulfillment.methods":
        "The methods of delivery cannot be combined." => "Choose one method for all lines.",
        "Shipping and pick-up cannot be combined.";
    "fulfillment_required" Error CHANGED "$.fulfillment.methods":
        "It is not said how the goods get to the buyer." => "Add a method of `fulfillment.available_methods`.",
        "Choose how the goods are delivered.";
    "fulfillment_unavailable" Error CHANGED "$.fulfillment.methods[0]":
        "The shop does not offer this kind of delivery, or not for these goods." => "Choose one of `fulfillment.available_methods`.",
        "The shop has no pickup to offer.";
    "item_removed" Warning NO "$.line_items":
        "The shop took a line out of the cart." => "Tell the buyer, and look for something else.",
        "`v1` is no longer in the cart.";
    "item_resolved" Info NO "$.line_items[0].item.id":
        "A line named a product or SKU; the variant that it stands for was taken." => "Check that it is the variant that the buyer wants.",
        "`RP-BLU-10` is the variant `var_abc123_blue_10`.";
    "item_unavailable" Error CHANGED "$.line_items[0]":
        "There is no such variant, or it is not sold." => "Search again; lines name identifiers of variants.",
        "`v9` is not sold here.";
    "mandate_expired" Error CHANGED "$.ap2":
        "The buyer's mandate is no longer valid." => "Ask the buyer again.",
        "The mandate has expired.";
    "mandate_invalid_signature" Error CHANGED "$.ap2":
        "The signature of the buyer's mandate is not valid." => "Sign the mandate with the key that is bound to it.",
        "The signature of the mandate is not valid.";
    "mandate_required" Error CHANGED "$.ap2":
        "Mandates were negotiated, and the completion has none." => "Add the buyer's mandate for the checkout as it was signed.",
        "The completion needs a mandate of the buyer.";
    "mandate_scope_mismatch" Error CHANGED "$.ap2":
        "The mandate is for another checkout, or for other terms." => "Read the checkout, and have the buyer agree to it as it is.",
        "The mandate is for other terms.";
    "member_ignored" Info NO "$.line_items[0].color":
        "A member of the request means nothing here." => "Leave it out; say it where the schema has it.",
        "`$.line_items[0].color` is not known, and was ignored.";
    "merchant_authorization_invalid" Error CHANGED "$.ap2":
        "The mandate holds a signature of the shop that is not valid." => "Take the checkout as the shop signed it, unchanged.",
        "The authorization of the checkout is not valid.";
    "merchant_authorization_missing" Error CHANGED "$.ap2":
        "The mandate holds no checkout that the shop signed." => "Put the signed checkout into the mandate.",
        "The mandate holds no authorization of the checkout.";
    "not_checked" Warning LATER "":
        "The shop did not answer about an identifier." => "Look it up again.",
        "sku-1 could not be looked up";
    "not_found" Error NO "$.id":
        "There is no such thing, or it is of another platform. In a lookup it is an information." => "Search again; identifiers are taken from answers.",
        "No product or variant of this shop has this id.";
    "option_unknown" Error CHANGED "$.fulfillment.methods[0].groups[0].selected_option_id":
        "The option is none of those that are shown. On a product page it is a warning." => "Select one of the options as they are shown.",
        "There is no option `overnight`.";
    "option_value_unknown" Warning CHANGED "$.product.options[0].values":
        "The product has no such value." => "Select one of the values as they are shown; `selected` says what was kept.",
        "The product has no Size 15.";
    "order_not_named" Warning NO "":
        "The shop has completed the purchase and has not named the order yet." => "Get the checkout later. Do not complete it again.",
        "The shop has completed the purchase and has not named the order yet. Do not complete it again.";
    "out_of_stock" Error CHANGED "$.line_items[0]":
        "There is none left, or not as many." => "Lower the quantity, or choose another variant.",
        "`Runner Pro – Red / Size 8` is sold out.";
    "payment_failed" Error CHANGED "$.payment.instruments[0]":
        "The payment was declined." => "Pay with another instrument, under a new idempotency key.",
        "The bank refused the payment.";
    "payment_on_shop_page" Error NO "":
        "The shop takes payments on its own page." => "Send the buyer to `continue_url`.",
        "Go on at the page of the shop to pay.";
    "payment_unavailable" Error CHANGED "$.payment.instruments[0].handler_id":
        "The instrument is of no payment handler of the shop." => "Choose a handler of `ucp.payment_handlers`.",
        "There is no payment handler `visa`.";
    "price_filter_converted" Info CHANGED "$.filters.price":
        "The price filter was converted to the shop's currency by a rate of the shop." => "Compare the prices that are shown.",
        "The price filter was converted.";
    "price_filter_ignored" Info CHANGED "$.filters.price":
        "The price filter is in a currency that the shop does not compare." => "Say `context.currency` in a currency of the shop.",
        "The price filter was ignored.";
    "price_filter_in_minor_units" Info CHANGED "$.filters.price":
        "The filter looks like whole units, and was read as the smallest units of the currency." => "Multiply by 100 for most currencies.",
        "The filter is read as 1.50 USD.";
    "price_filter_not_converted" Info CHANGED "$.filters.price":
        "There is no rate for the currency of the price filter." => "Say `context.currency` in a currency of the shop.",
        "The price filter was not converted.";
    "price_in_words" Info CHANGED "$.query":
        "The words name a price, which a search for words does not compare." => "Say it as `filters.price`.",
        "For prices there is `filters.price`.";
    "purchase_unconfirmed" Error LATER "":
        "The end of the payment is not known." => "Read the checkout later; do not pay again under another key.",
        "It is not known yet whether the payment was made.";
    "quantity_adjusted" Warning NO "$.line_items[0].quantity":
        "There are fewer than were asked for, or the quantity is none that is sold." => "Tell the buyer.",
        "There are 3 left.";
    "quantity_invalid" Error CHANGED "$.line_items[0].quantity":
        "The quantity is none that is sold, for instance below the smallest." => "State a quantity that the content names.",
        "The quantity must be at least 1.";
    "quantity_unit_mismatch" Error CHANGED "$.line_items[0].quantity":
        "The goods are sold in another unit." => "Say the quantity in the unit of the variant.",
        "`v1` is sold by the metre.";
    "requires_3ds" Error CHANGED "$.payment.instruments[0]":
        "The buyer has to be authenticated." => "Send the buyer to `continue_url`, and complete the checkout afterwards.",
        "The bank wants to authenticate the buyer.";
    "shop_error" Error CHANGED "":
        "The shop refuses for a reason of its own, which the text names." => "Do what the text says.",
        "The shop says: the cart is locked.";
    "shop_warning" Warning NO "":
        "The shop warns in its own words." => "Tell the buyer.",
        "The shop says: delivery may take longer.";
    "stale" Warning LATER "":
        "The shop does not answer, and an older answer is shown." => "Ask again before something is bought.",
        "What is shown is about 3 min old; prices and availability may have changed.";
    "tax_included" Info NO "$.totals":
        "Prices include tax." => "Nothing.",
        "Prices include 19 % tax.";
    "taxes_at_checkout" Info NO "$.totals":
        "Taxes depend on where the goods go." => "Make a checkout with an address for the total.",
        "Taxes are added in the checkout.";
    "total_changed" Warning CHANGED "$.totals":
        "The total is another than the one that was shown." => "Show the buyer the new total, and complete again.",
        "The total changed from 120.00 to 125.00 USD.";
    "total_differs" Error LATER "$.totals":
        "The shop states a total that is not the sum of its parts." => "Try later; the operator of the shop has to correct it.",
        "The shop's total is not the sum of its parts.";
    "unspecified" Error NO "":
        "The shop refuses without saying why." => "Ask the operator of the shop.",
        "The shop does not say why.";
    "words_corrected" Info NO "$.query":
        "Words were taken for misspelt ones." => "Say the words otherwise if that is not what was meant.",
        "`runing` was read as `running`.";
    "words_matched_in_part" Info NO "$.query":
        "Nothing has all words; what is shown has some." => "Check that the results fit.",
        "No product has all words.";
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
                if path.is_dir() && !["tests", "reference", "ucp-client", "ucp-testkit", "ucp-fake-psp"].contains(&name)
                {
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

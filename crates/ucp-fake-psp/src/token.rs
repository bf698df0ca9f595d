//! Tokens, which say what becomes of a payment.

/// Returns the text of a token without what makes it one of Stripe.
pub(crate) fn plain(token: &str) -> String {
    let kinds = ["pm_", "tok_", "spt_", "ctoken_"];
    match kinds.iter().find_map(|kind| token.strip_prefix(kind)) {
        Some(rest) => rest.replace("ZP", "+").replace("ZC", ":"),
        None => token.to_owned(),
    }
}

//! Discounts: selection, order of application and allocation (UCP *Discount Extension*; rules DSC-01 to DSC-06).
//!
//! Discounts are applied one after the other, each to what the previous ones have left of the lines: no line, and
//! therefore no total, ever becomes negative. Amounts are allocated by the largest remainder, so that the parts add up
//! to the whole.

use std::cmp::Reverse;

use super::{
    eligibility,
    lines::Line,
    terms::{Discount, PercentOrAmount, Target, Terms},
};
use crate::{
    message::Message,
    money::{Amount, Currency, MAX_AMOUNT},
    purchase::{
        discount::{Allocation, Applied, Method},
        draft::Draft,
        quote::{CodeProblem, Facts, UnmetCode},
    },
    text::fold,
};

/// Effect of the discounts on the lines. Amounts are in minor units.
#[derive(Clone, Debug)]
pub(crate) struct Reduced {
    /// Discounts in effect.
    pub(crate) applied: Vec<Applied>,
    /// Amount taken off each line by discounts on lines.
    pub(crate) lines: Vec<i128>,
    /// Amount taken off by discounts on the whole order.
    pub(crate) order: i128,
    /// Rest of each line after all discounts, including those on the whole order.
    pub(crate) left: Vec<i128>,
    /// Claims on which discounts in effect depend, verified or not.
    pub(crate) granted: Vec<String>,
}

/// Reason for which a code is not applied (rule DSC-04).
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rejection {
    Expired,
    Invalid,
    AlreadyApplied,
    CombinationDisallowed(String),
    NotLoggedIn,
    Ineligible(String),
}

impl Rejection {
    fn message(&self, code: &str) -> Message {
        let (name, content) = match self {
            Self::Expired => ("expired", format!("The code `{code}` has expired.")),
            Self::Invalid => ("invalid", format!("There is no code `{code}`.")),
            Self::AlreadyApplied => {
                ("already_applied", format!("The discount of the code `{code}` is already applied."))
            }
            Self::CombinationDisallowed(title) => {
                ("combination_disallowed", format!("The code `{code}` cannot be combined with \"{title}\"."))
            }
            Self::NotLoggedIn => (
                "user_not_logged_in",
                format!("The code `{code}` is for certain buyers: it needs the buyer's email address."),
            ),
            Self::Ineligible(reason) => ("user_ineligible", format!("The code `{code}` does not apply: {reason}.")),
        };
        Message::warning(format!("discount_code_{name}"), content)
    }
}

/// Applies the shop's discounts to the lines.
///
/// Without the discount extension (`negotiated` is `false`) codes and claims are ignored, because their effect could
/// not be shown. Automatic discounts apply all the same, because they are part of the shop's price.
pub(crate) fn reduce(
    lines: &[Line<'_>],
    draft: &Draft,
    facts: &Facts,
    terms: &Terms,
    negotiated: bool,
    messages: &mut Vec<Message>,
) -> Reduced {
    let case = Case { lines, draft, facts, terms };
    let mut chosen: Vec<(&Discount, Option<&str>)> = Vec::new();
    let mut automatic: Vec<&Discount> = terms
        .discounts
        .iter()
        .filter(|discount| discount.codes.is_empty() && (negotiated || discount.claim.is_none()))
        .filter(|discount| case.standing(discount).is_ok())
        .collect();
    automatic.sort_by_key(|discount| discount.priority);
    for discount in automatic {
        if conflict(discount, &chosen).is_none() {
            chosen.push((discount, None));
        }
    }
    let codes = draft.codes.iter().filter(|_| negotiated).flatten();
    for (position, code) in codes.enumerate() {
        match case.by_code(code, &chosen) {
            Ok(discount) => chosen.push((discount, Some(code))),
            Err(Rejection::Invalid) if facts.credits.iter().any(|credit| credit.is_for(code)) => {}
            Err(rejection) => {
                let unmet = facts.unmet_codes.iter().find(|unmet| fold(unmet.code.trim()) == fold(code.trim()));
                let message = match (rejection, unmet) {
                    (Rejection::Invalid, Some(unmet)) => unmet_code(code, unmet, facts.currency),
                    (rejection, _) => rejection.message(code),
                };
                messages.push(message.at(format!("$.discounts.codes[{position}]")));
            }
        }
    }
    chosen.sort_by_key(|(discount, _)| discount.priority);
    case.apply(&chosen)
}

/// Returns the message about a code that the shop knows and does not apply.
fn unmet_code(code: &str, UnmetCode { kind, text, .. }: &UnmetCode, currency: Currency) -> Message {
    let (name, content) = match kind {
        CodeProblem::Expired => ("expired", format!("The code `{code}` has expired.")),
        CodeProblem::Combination => {
            ("combination_disallowed", format!("The code `{code}` cannot be combined with another discount."))
        }
        CodeProblem::Minimum => {
            ("user_ineligible", format!("The code `{code}` does not apply: the purchase is below its minimum."))
        }
        CodeProblem::Buyer => ("user_ineligible", format!("The code `{code}` is for other buyers.")),
        CodeProblem::Currency => ("user_ineligible", format!("The code `{code}` is not available in {currency}.")),
        CodeProblem::Items => ("user_ineligible", format!("The code `{code}` is for other items.")),
        CodeProblem::Other => ("not_applied", format!("The code `{code}` does not apply to this purchase.")),
    };
    Message::warning(format!("discount_code_{name}"), text.clone().unwrap_or(content))
}

/// Returns a chosen discount that `discount` cannot be combined with.
fn conflict<'a>(discount: &Discount, chosen: &[(&'a Discount, Option<&str>)]) -> Option<&'a Discount> {
    chosen
        .iter()
        .map(|(other, _)| *other)
        .find(|other| !other.combines.allow(&discount.id) || !discount.combines.allow(&other.id))
}

/// Input on which the selection of discounts depends.
struct Case<'a> {
    lines: &'a [Line<'a>],
    draft: &'a Draft,
    facts: &'a Facts,
    terms: &'a Terms,
}

impl<'a> Case<'a> {
    fn by_code(&self, code: &str, chosen: &[(&Discount, Option<&str>)]) -> Result<&'a Discount, Rejection> {
        let wanted = fold(code.trim());
        let has_code = |discount: &&Discount| discount.codes.iter().any(|known| fold(known) == wanted);
        let discount = self.terms.discounts.iter().find(has_code).ok_or(Rejection::Invalid)?;
        if chosen.iter().any(|(other, _)| other.id == discount.id) {
            return Err(Rejection::AlreadyApplied);
        }
        self.standing(discount)?;
        match conflict(discount, chosen) {
            Some(other) => Err(Rejection::CombinationDisallowed(other.title.clone())),
            None => Ok(discount),
        }
    }

    /// Checks that a discount applies to this purchase, regardless of other discounts.
    fn standing(&self, discount: &Discount) -> Result<(), Rejection> {
        let Facts { currency, own_currency, now, .. } = self.facts;
        if discount.from.is_some_and(|from| *now < from) {
            // A code that is not valid yet is treated as unknown, so that it is not disclosed.
            return Err(Rejection::Invalid);
        }
        if discount.until.is_some_and(|until| *now >= until) {
            return Err(Rejection::Expired);
        }
        if !discount.buyers.is_empty() {
            let email = eligibility::email(self.draft).ok_or(Rejection::NotLoggedIn)?;
            if !discount.buyers.iter().any(|buyer| fold(buyer) == email) {
                return Err(Rejection::Ineligible("it is for other buyers".to_owned()));
            }
        }
        if let Some(claim) = &discount.claim
            && !self.draft.context.eligibility.contains(claim)
        {
            return Err(Rejection::Ineligible("it is for buyers with a certain entitlement".to_owned()));
        }
        let foreign = || Rejection::Ineligible(format!("it is not available in {currency}"));
        if let PercentOrAmount::Fixed(amounts) = &discount.off {
            amounts.in_currency(*currency, *own_currency).ok_or_else(foreign)?;
        }
        if let Some(amounts) = &discount.min_subtotal {
            let least = amounts.in_currency(*currency, *own_currency).ok_or_else(foreign)?;
            let subtotal: i128 = self.lines.iter().map(|line| line.subtotal).sum();
            if subtotal < least.minor().into() {
                let least = currency.amount(least.minor());
                return Err(Rejection::Ineligible(format!("the goods have to cost at least {least}")));
            }
        }
        if self.lines.iter().all(|line| !covers(discount, line)) {
            return Err(Rejection::Ineligible("it is for other goods".to_owned()));
        }
        Ok(())
    }

    fn apply(&self, chosen: &[(&Discount, Option<&str>)]) -> Reduced {
        let mut reduced = Reduced {
            applied: Vec::new(),
            lines: vec![0; self.lines.len()],
            order: 0,
            left: self.lines.iter().map(|line| line.subtotal).collect(),
            granted: Vec::new(),
        };
        for (discount, code) in chosen {
            let parts = self.parts(discount, &reduced.left);
            let sum: i128 = parts.iter().sum();
            if sum == 0 && code.is_none() {
                continue;
            }
            for (left, part) in reduced.left.iter_mut().zip(&parts) {
                *left -= part;
            }
            let mut allocations = Vec::new();
            match discount.target {
                Target::Order => reduced.order += sum,
                Target::Lines => {
                    for (position, part) in parts.into_iter().enumerate().filter(|(_, part)| *part > 0) {
                        reduced.lines[position] += part;
                        allocations
                            .push(Allocation { path: format!("$.line_items[{position}]"), amount: amount(part) });
                    }
                }
            }
            let verified = |claim: &String| {
                self.terms.claims.iter().any(|known| known.id == *claim && eligibility::verified(known, self.draft))
            };
            reduced.granted.extend(discount.claim.clone());
            reduced.applied.push(Applied {
                code: code.map(str::to_owned),
                title: discount.title.clone(),
                amount: amount(sum),
                automatic: code.is_none(),
                method: if discount.target == Target::Order { Method::Across } else { discount.method },
                priority: u32::try_from(reduced.applied.len() + 1).unwrap_or(u32::MAX),
                eligibility: discount.claim.clone().filter(|claim| !verified(claim)),
                allocations,
            });
        }
        reduced
    }

    /// Returns the amount that a discount takes off each line; `left` is the rest of each line so far.
    fn parts(&self, discount: &Discount, left: &[i128]) -> Vec<i128> {
        let base: Vec<i128> =
            self.lines.iter().zip(left).map(|(line, left)| if covers(discount, line) { *left } else { 0 }).collect();
        let fixed = |value: &PercentOrAmount| match value {
            PercentOrAmount::Percent(_) => None,
            PercentOrAmount::Fixed(amounts) => amounts.in_currency(self.facts.currency, self.facts.own_currency),
        };
        let each = discount.target == Target::Lines && discount.method == Method::Each;
        match (&discount.off, fixed(&discount.off)) {
            (PercentOrAmount::Percent(percent), _) if each => base.iter().map(|left| percent.of(*left)).collect(),
            (PercentOrAmount::Percent(percent), _) => spread(percent.of(base.iter().sum()), &base),
            (_, Some(off)) if each => {
                let per_piece = i128::from(off.minor());
                let capped = |(line, left): (&Line<'_>, &i128)| (per_piece * i128::from(line.quantity)).min(*left);
                self.lines.iter().zip(&base).map(capped).collect()
            }
            (_, Some(off)) => spread(i128::from(off.minor()).min(base.iter().sum()), &base),
            (_, None) => vec![0; base.len()],
        }
    }
}

/// Returns `true` if a discount applies to a line.
fn covers(discount: &Discount, line: &Line<'_>) -> bool {
    discount.target == Target::Order || discount.items.is_empty() || line.is_one_of(&discount.items)
}

/// Converts an amount that is at most [`MAX_AMOUNT`], because it was taken off representable amounts.
fn amount(minor: i128) -> Amount {
    i64::try_from(minor).ok().and_then(Amount::new).or_else(|| Amount::new(MAX_AMOUNT)).unwrap_or_default()
}

/// Allocates `total` in proportion to `weights`, whose sum it must not exceed: whole units first, then one each for the
/// largest remainders, earlier ones first. No share exceeds its weight.
pub(crate) fn spread(total: i128, weights: &[i128]) -> Vec<i128> {
    let sum: i128 = weights.iter().sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let mut shares: Vec<i128> = weights.iter().map(|weight| total * weight / sum).collect();
    let missing = total - shares.iter().sum::<i128>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|position| Reverse(total * weights[*position] % sum));
    for position in order.into_iter().take(usize::try_from(missing).unwrap_or(0)) {
        shares[position] += 1;
    }
    shares
}

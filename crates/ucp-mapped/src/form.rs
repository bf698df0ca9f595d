//! Rules for mappings that need no shop: what the file promises, and whether its programs can keep it.
//!
//! The rules look for the members of the question that a program must read, and for those of the answer that it must
//! state. They find what cannot work; whether the rest works, only the shop can say.

use ucp_contract::{Question, documents::Completion};

use super::{file::Mapping, plan::Plan};

/// A rule, and whether a mapping keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Name.
    pub rule: &'static str,
    /// Question that it is about.
    pub question: Question,
    /// Description of the violation; `None` if the mapping keeps the rule.
    pub problem: Option<&'static str>,
    /// Suggested fix.
    pub cure: &'static str,
}

/// Programs of a mapping.
struct Programs<'a>(&'a Plan);

impl Programs<'_> {
    /// Returns the programs of a question, and those that choose its sources.
    fn of(&self, question: Question) -> impl Iterator<Item = &str> {
        let prefix = format!("{}.", question.path().replace('/', "."));
        let is_of = move |label: &str| label.starts_with(&prefix) || label.starts_with("source.");
        self.0.listed.iter().filter(move |listed| is_of(&listed.label)).map(|listed| &*listed.code)
    }

    fn reads(&self, question: Question, member: &str) -> bool {
        self.of(question).any(|code| reads(code, member))
    }

    fn states(&self, question: Question, member: &str) -> bool {
        self.of(question).any(|code| code.contains(member))
    }
}

/// Returns `true` if a program may read this member of the question, such as `context.currency`.
fn reads(code: &str, member: &str) -> bool {
    code.match_indices("$question").any(|(at, found)| {
        let mut rest = &code[at + found.len()..];
        for wanted in member.split('.') {
            // What is read in another way may be the member.
            let Some(path) = rest.strip_prefix('.') else { return true };
            let end = path.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(path.len());
            if end > 0 && &path[..end] != wanted {
                return false;
            }
            rest = &path[end..];
        }
        true
    })
}

/// Tries the rules that apply to a mapping.
pub fn examine(mapping: &Mapping, plan: &Plan) -> Vec<Form> {
    let programs = Programs(plan);
    let mut forms = Vec::new();
    let mut rule = |rule, question, holds: bool, problem, cure| {
        forms.push(Form { rule, question, problem: (!holds).then_some(problem), cure });
    };
    let market = &mapping.market;
    let is_cart = mapping.cart.is_some();
    let priced = [Question::Find, Question::Resolve, Question::Open, Question::CartSync];
    let priced = priced.into_iter().filter(|question| is_cart || *question != Question::CartSync);
    if !market.currencies.is_empty() || !market.countries.is_empty() {
        for question in priced.clone() {
            rule(
                "prices_are_asked_for_in_the_currency_of_the_question",
                question,
                ["context.currency", "context.country"].iter().any(|member| programs.reads(question, member)),
                "the market has several currencies or countries, and no program reads `$question.context.currency`",
                "send the currency or the country with the request, or choose the source by it, or state one currency in \
                 `[market]`",
            );
        }
    }
    if !market.languages.is_empty() {
        rule(
            "texts_are_asked_for_in_the_language_of_the_question",
            Question::Find,
            programs.reads(Question::Find, "context.language"),
            "the market has several languages, and no program reads `$question.context.language`",
            "send the language with the request, or choose the text of it in `product`, or state one language in `[market]`",
        );
    }
    rule(
        "links_are_stated",
        Question::Backend,
        !is_cart || !market.links.is_empty(),
        "the market has no `links`, which platforms have to show before a purchase",
        "state the pages of the shop as `[[market.links]]` with `type` (such as `privacy_policy`, `terms_of_service`) and `url`",
    );
    let Some(cart) = &mapping.cart else { return forms };
    let sync = Question::CartSync;
    if cart.codes {
        rule(
            "codes_are_sent",
            sync,
            programs.reads(sync, "codes"),
            "`cart.codes` is `true`, and no program reads `$question.codes`",
            "send the codes to the shop, or leave out `cart.codes`",
        );
    }
    if cart.delivery {
        rule(
            "addresses_are_sent",
            sync,
            programs.reads(sync, "address"),
            "`cart.delivery` is `true`, and no program reads `$question.address`",
            "send the address to the shop before its delivery options are asked for, or leave out `cart.delivery`",
        );
        rule(
            "delivery_options_are_stated",
            sync,
            programs.states(sync, "delivery_options"),
            "`cart.delivery` is `true`, and no program states `delivery_options`",
            "state the options with the price of each, and the chosen one as `delivery_option`",
        );
    }
    if cart.pickup {
        rule(
            "pickup_places_are_stated",
            sync,
            programs.states(sync, "pickup_places"),
            "`cart.pickup` is `true`, and no program states `pickup_places`",
            "state the places that have everything in the cart, or leave out `cart.pickup`",
        );
    }
    match cart.completion {
        Completion::HandOff => rule(
            "a_page_is_stated",
            sync,
            programs.states(sync, "continue_url"),
            "buyers pay on the shop's page, and no program states `continue_url`",
            "state the https URL of the shop's checkout for this cart, or place orders by `completion = \"place\"`",
        ),
        Completion::Place => {
            rule(
                "totals_are_compared",
                Question::Place,
                programs.reads(Question::Place, "total"),
                "no program of `place` reads `$question.total`, so that an order may cost more than the buyer agreed to",
                "compare the total where the contents cannot change any more, and answer `declined` if it differs",
            );
            rule(
                "attempts_are_found",
                Question::Order,
                ["reference", "cart"].iter().any(|member| programs.reads(Question::Order, member)),
                "no program of `order` reads `$question.reference` or `$question.cart`, so that no attempt is told apart",
                "send the reference with the order and look it up by it, or find the order by its cart",
            );
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_for_what_they_read() {
        for (code, member, expected) in [
            ("$question.context.currency", "context.currency", true),
            ("$question.context | .currency", "context.currency", true),
            ("$question", "context.currency", true),
            ("$question[\"context\"]", "context.currency", true),
            ("$question.context.language", "context.currency", false),
            ("$question.contexts", "context", false),
            ("$question.lines, $question.codes[0]", "codes", true),
            ("$market.currency", "context.currency", false),
            ("", "codes", false),
        ] {
            assert_eq!(reads(code, member), expected, "{code}");
        }
    }
}

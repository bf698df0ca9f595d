//! `search_catalog`: products by words, filters or both (UCP *Catalog Search*).

use std::sync::Arc;

use crate::{
    Refusal,
    catalog::{
        Context,
        cursor::Cursors,
        featured::{Words, featured},
        filter::{Bound, Criteria, Filters, PriceFilter},
        lookup::{ListedVariant, Listing},
        market::{Market, Presentation},
        price_words::PriceWords,
        search::{DEFAULT_LIMIT, Found, MAX_LIMIT, Request},
    },
    message::Message,
    money::{Amount, Currency},
    ports::{Catalog, Filtering, Query, caller::BuyerSignals},
    text::quoted,
};

/// Query that every product matches.
const EVERYTHING: &str = "*";

/// Searches a catalog. Fails with a refusal of a request without words and filters (rule CSR-01), or of a cursor of
/// another query; the error of the backend.
pub async fn search(
    catalog: &dyn Catalog,
    cursors: &dyn Cursors,
    request: &Request,
    buyer_signals: &BuyerSignals,
) -> Result<Found, Refusal> {
    let stated = request.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
    if stated.is_none() && request.filters.is_empty() {
        return Err(Refusal::invalid("$", "A search needs words or filters.")
            .accepting("a `query` that is not blank, `*` for all products, or at least one filter in `filters`"));
    }
    let text = stated.filter(|query| *query != EVERYTHING);
    let market = catalog.market();
    let presentation = market.presentation(&request.context);
    let (mut criteria, mut messages) = request.filters.criteria(&market, &request.context, &presentation);
    let priced = match catalog.capabilities().price_filter {
        Filtering::None => None,
        Filtering::Native | Filtering::Local => text.and_then(|text| PriceWords::read(text, presentation.currency)),
    };
    if let Some(priced) = &priced {
        let (bounds, message) = understood(priced, request, &market, &presentation);
        criteria.bounds = criteria.bounds.or(bounds);
        messages.push(message);
    }
    let text = priced.as_ref().map(|priced| priced.rest.as_str()).or(text);
    let criteria = applied(criteria, catalog.capabilities().price_filter, &mut messages);

    // Everything that decides about the results, and nothing else: the page size may change between pages.
    let intent = request.context.intent.as_deref().map(str::trim).filter(|intent| text.is_some() && !intent.is_empty());
    let bound = format!("{:?}", (text, intent, &criteria, &presentation));
    let after = request.cursor.as_deref().map(|cursor| cursors.open(&bound, cursor)).transpose()?;
    let limit = request.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let query = Query {
        text: text.map(str::to_owned),
        intent: intent.map(str::to_owned),
        criteria,
        presentation,
        limit,
        after,
    };
    let page = catalog.find(&query, buyer_signals).await?;
    messages.extend(page.messages);
    if page.products.is_empty() && query.after.is_none() {
        messages.extend(in_major_units(catalog, request, &query, buyer_signals).await);
    }

    let words = text.map(Words::of).unwrap_or_default();
    let listing = |product: Arc<_>| {
        let position = featured(&product, &query.criteria, &words)?;
        Some(Listing { variants: vec![ListedVariant { position, inputs: Vec::new() }], product })
    };
    Ok(Found {
        products: page.products.into_iter().filter_map(listing).collect(),
        cursor: page.next.map(|position| cursors.seal(&bound, &position)),
        total: page.total,
        messages,
    })
}

/// Returns what the price in the words of a query limits, unless a filter does, and the message that says so.
fn understood(
    priced: &PriceWords,
    request: &Request,
    market: &Market,
    presentation: &Presentation,
) -> (Option<Vec<Bound>>, Message) {
    let words: Vec<_> = priced.stated.iter().map(|words| format!("`{}`", quoted(words))).collect();
    let words = words.join(" and ");
    if let Some((price, currency)) = priced.limit
        && request.filters.price.is_none()
    {
        let code = currency.map(|currency| currency.to_string());
        let context =
            Context { currency: code.or_else(|| request.context.currency.clone()), ..request.context.clone() };
        let filters = Filters { price: Some(price), ..Filters::default() };
        let (criteria, _) = filters.criteria(market, &context, presentation);
        if criteria.bounds.is_some() {
            let currency = currency.unwrap_or(presentation.currency);
            let amount = |name, amount: Option<Amount>| amount.map(|amount| format!("`{name}` {}", amount.minor()));
            let bounds: Vec<_> = amount("min", price.min).into_iter().chain(amount("max", price.max)).collect();
            let content =
                format!("{words} was taken as a price filter: {} in minor units of {currency}.", bounds.join(" and "));
            return (criteria.bounds, Message::info("price_understood", content));
        }
    }
    let content =
        format!("{words} in the query limits nothing; `filters.price` with `min` and `max` in minor units does.");
    (None, Message::info("price_in_words", content))
}

/// Returns a note if nothing passes a price filter that would match if it were in major units, as those who write it
/// often mean it (rule CSR-04). Costs a second search, and is left out where that fails or the shop cannot filter.
async fn in_major_units(
    catalog: &dyn Catalog,
    request: &Request,
    query: &Query,
    buyer_signals: &BuyerSignals,
) -> Option<Message> {
    let PriceFilter { min, max: Some(max) } = request.filters.price? else { return None };
    query.criteria.bounds.as_ref()?;
    let currency: Currency = match &request.context.currency {
        Some(code) => code.parse().ok()?,
        None => query.presentation.currency,
    };
    let unit = 10_i64.checked_pow(currency.exponent()).filter(|unit| *unit > 1)?;
    if catalog.capabilities().price_filter != Filtering::Native {
        return None;
    }
    let major = |amount: Amount| amount.minor().checked_mul(unit).and_then(Amount::new);
    let meant = PriceFilter { min: min.map(|min| major(min).unwrap_or(min)), max: Some(major(max)?) };
    let filters = Filters { price: Some(meant), ..request.filters.clone() };
    let (criteria, _) = filters.criteria(&catalog.market(), &request.context, &query.presentation);
    let other = catalog.find(&Query { criteria, limit: 1, ..query.clone() }, buyer_signals).await.ok()?;
    let (max, meant) = (max.minor(), meant.max?.minor());
    let content = format!(
        "Price filters are in minor units: `max` {max} is {max}/{unit} {currency}, for which there is nothing. For \
         {max} {currency} send `max` {meant}; there are products for that."
    );
    (!other.products.is_empty()).then(|| Message::info("price_filter_in_minor_units", content))
}

/// Returns the criteria that the shop can apply, and adds a message for those that it cannot.
fn applied(criteria: Criteria, price_filter: Filtering, messages: &mut Vec<Message>) -> Criteria {
    if price_filter != Filtering::None || criteria.bounds.is_none() {
        return criteria;
    }
    // What was noted about how it is applied is not true of this shop.
    messages.retain(|message| {
        !matches!(message, Message::Info { code: Some(code), .. } if code == "price_filter_converted" || code == "price_filter_not_converted")
    });
    let content = "This shop cannot search by price: the price filter was not applied.";
    messages.push(Message::info("price_filter_ignored", content));
    Criteria { bounds: None, ..criteria }
}

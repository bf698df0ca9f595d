//! Languages of the pages: texts, and the forms of amounts, dates and names of countries.
//!
//! A language is a TOML file named after its BCP 47 tag. English and Spanish are built in; an operator adds others, or
//! replaces these, in a directory (`pages.texts_dir`). A file states what differs from its `base`, which is English if
//! it names none.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use http::{HeaderMap, header::ACCEPT_LANGUAGE};
use jiff::{Timestamp, tz::TimeZone};
use maud::{Markup, Render, html};
use serde::Deserialize;
use toml::{Table, Value};
use ucp_core::{country::Country, money::Currency, text::fold};

/// Tag of the language that all others are based on.
const DEFAULT: &str = "en";

/// Maximum number of languages of an `Accept-Language` header that are looked at.
const MAX_ACCEPTED: usize = 16;

/// Built-in languages by tag.
const BUILT_IN: [(&str, &str); 2] =
    [(DEFAULT, include_str!("language/en.toml")), ("es", include_str!("language/es.toml"))];

/// A text, which may have placeholders in braces.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text(String);

impl Text {
    /// Returns the text with its placeholders replaced by values.
    pub(crate) fn with(&self, values: &[(&str, &dyn fmt::Display)]) -> String {
        values
            .iter()
            .fold(self.0.clone(), |text, (name, value)| text.replace(&format!("{{{name}}}"), &value.to_string()))
    }

    /// Renders the text with one placeholder replaced by markup.
    pub(crate) fn around(&self, name: &str, markup: &Markup) -> Markup {
        match self.0.split_once(&format!("{{{name}}}")) {
            Some((before, after)) => html! { (before) (markup) (after) },
            None => html! { (self.0) },
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Render for Text {
    fn render_to(&self, buffer: &mut String) {
        self.0.render_to(buffer);
    }
}

macro_rules! texts {
    ($($key:ident)*) => {
        /// All texts of a language, by the keys of its file.
        #[derive(Debug, Deserialize)]
        #[serde(try_from = "BTreeMap<String, Text>")]
        pub(crate) struct Texts { $(pub(crate) $key: Text,)* }

        // A derived visitor of so many fields takes the compiler minutes to optimize.
        impl TryFrom<BTreeMap<String, Text>> for Texts {
            type Error = String;

            fn try_from(mut texts: BTreeMap<String, Text>) -> Result<Self, String> {
                if let Some(missing) = [$(stringify!($key)),*].into_iter().find(|key| !texts.contains_key(*key)) {
                    return Err(format!("`texts.{missing}` is missing"));
                }
                let mut take = |key: &str| texts.remove(key).unwrap_or_default();
                let taken = Self { $($key: take(stringify!($key)),)* };
                match texts.into_keys().next() {
                    Some(unknown) => Err(format!("`texts.{unknown}` is not a text of the pages")),
                    None => Ok(taken),
                }
            }
        }
    };
}

texts! {
    skip_to_content why_this_page about_this_shop link_privacy_policy link_terms_of_service
    link_refund_policy link_shipping_policy link_faq go_to_shop back_to page_missing please_wait did_not_work
    back_to_purchase new_link nothing_here only_https misled form_foreign form_too_large form_late
    form_incomplete form_unproven shop_unavailable data_damaged shop_failed wrong_method too_much_from_you
    too_much_to_do purchase_expired purchase_expired_why cart_expired cart_expired_why cart_canceled
    cart_canceled_why start_again close_page goods discount_on_goods discount delivery tax fee gift_card store_credit total
    your_cart your_cart_what in_the_cart cart_back you_buy you_bought you_did_not_buy error_in_title
    good_to_know one_more_thing what_is_missing look_at_order look_again leave_page done_title done_what
    canceled_title canceled_what paying_title paying_what bank_title bank_what go_to_bank review_title review_what ready_title ready_here
    ready_elsewhere missing_title missing_what correct_this stale stale_what closed closed_what saved
    details_saved delivery_saved look_once_more price_changed approved approved_what paid paid_what
    nothing_paid nothing_paid_what bank_asks delivery_needed field_needed field_invalid field_too_long field_unusable
    your_details first_name last_name email phone_number street_address extended_address postal_code
    address_locality address_region address_country please_choose where_to to_this_address pick_up_at save
    how_to_travel choose_delivery free with_you_by payment your_approval comes_to go_to_approval
    paid_elsewhere pay_later nothing_to_pay go_to_order you_pay go_to_pay do_not_want given_up
    cancel_purchase sent_to picked_up_at confirm_payment confirm_order shop_wants_review check_once_more
    for_whom name approval_what approve back_unapproved not_payable_here or_here your_word sandbox_asks
    shop_wants sandbox_plays confirm_the_order confirm_and_pay back_unpaid order_title placed_on
    being_prepared partly_on_its_way on_its_way with_you taken_out progress step_ordered step_prepared step_on_its_way
    step_delivered step_pickup_ready step_picked_up step_now will_be_sent_to on_its_way_to
    delivered_to to_be_picked_up_in picked_up_in available happened event_processing event_shipped
    event_in_transit event_delivered event_failed_attempt event_canceled event_returned with_carrier
    follow_parcel parcel adjustments adjustment_refund adjustment_cancellation adjustment_return
    adjustment_credit status_pending status_completed status_failed
}

/// Forms of amounts and dates.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Format {
    /// Decimal separator.
    decimal: String,
    /// Separator of thousands.
    group: String,
    /// Number of digits of a whole number from which thousands are separated.
    group_from: usize,
    /// Pattern of `{amount}` and `{currency}`.
    amount: String,
    /// Pattern of `{day}`, `{month}` and `{year}`.
    date: String,
    /// Names of the twelve months.
    months: [String; 12],
}

/// A language of the pages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Language {
    /// BCP 47 tag.
    #[serde(skip)]
    pub(crate) tag: String,
    format: Format,
    /// Symbols of currencies by their codes; the code stands for any other currency.
    #[serde(default)]
    currencies: BTreeMap<String, String>,
    /// Names of countries by their alpha-2 codes; any other country has its English name.
    #[serde(default)]
    countries: BTreeMap<String, String>,
    pub(crate) texts: Texts,
}

impl Language {
    /// Returns an amount in minor units as people write it.
    pub(crate) fn amount(&self, minor: i64, currency: Currency) -> String {
        let Format { decimal, group, group_from, amount, .. } = &self.format;
        let digits = currency.exponent() as usize;
        let text = format!("{:0>width$}", minor.unsigned_abs(), width = digits + 1);
        let (whole, fraction) = text.split_at(text.len() - digits);
        let mut number = String::new();
        for (position, digit) in whole.chars().enumerate() {
            let left = whole.len() - position;
            if position > 0 && left % 3 == 0 && whole.len() >= *group_from {
                number.push_str(group);
            }
            number.push(digit);
        }
        if !fraction.is_empty() {
            number.push_str(decimal);
            number.push_str(fraction);
        }
        let code = currency.to_string();
        let symbol = self.currencies.get(&code).unwrap_or(&code);
        // A code stays apart from its number, and both on one line.
        let glued = amount.contains("{currency}{amount}") && symbol.ends_with(char::is_alphabetic);
        let symbol = if glued { format!("{symbol}\u{a0}") } else { symbol.clone() };
        // A minus sign, not a hyphen.
        let sign = if minor < 0 { "\u{2212}" } else { "" };
        let text = amount.replace(' ', "\u{a0}").replace("{currency}", &symbol).replace("{amount}", &number);
        format!("{sign}{text}")
    }

    /// Returns the day of a time in UTC.
    pub(crate) fn day(&self, time: Timestamp) -> String {
        let date = time.to_zoned(TimeZone::UTC).date();
        let Format { date: pattern, months, .. } = &self.format;
        let month = usize::try_from(date.month() - 1).ok().and_then(|month| months.get(month));
        let text = pattern.replace("{day}", &date.day().to_string()).replace("{year}", &date.year().to_string());
        text.replace("{month}", month.map_or("", String::as_str))
    }

    /// Returns the name of a country.
    pub(crate) fn country(&self, code: &str) -> String {
        let code = code.trim().to_ascii_uppercase();
        let name = self.countries.get(&code).cloned();
        name.or_else(|| Country::with_alpha2(&code).map(|country| country.name.to_owned())).unwrap_or(code)
    }

    /// Returns names and codes of all countries in alphabetical order.
    pub(crate) fn countries(&self) -> Vec<(String, &'static str)> {
        let mut all: Vec<_> =
            Country::all().iter().map(|country| (self.country(country.alpha2), country.alpha2)).collect();
        all.sort_by_cached_key(|(name, _)| fold(name));
        all
    }

    /// Returns the language of texts that are written in English wherever they are shown, unless it is that of the page.
    pub(crate) fn other_than_english(&self) -> Option<&'static str> {
        (primary(&self.tag) != DEFAULT).then_some(DEFAULT)
    }
}

/// The languages of the pages. Clones share them.
#[derive(Clone, Debug)]
pub struct Languages(Arc<[Language]>);

impl Default for Languages {
    /// Returns the built-in languages, which are read once.
    fn default() -> Self {
        static BUILT_IN: LazyLock<Languages> = LazyLock::new(|| {
            Languages::read(None).unwrap_or_else(|error| unreachable!("the built-in languages are tested: {error}"))
        });
        BUILT_IN.clone()
    }
}

impl Languages {
    /// Returns the built-in languages, and those whose files are in a directory. Fails if a file cannot be read or
    /// used.
    pub fn read(directory: Option<&Path>) -> Result<Self, LanguageError> {
        let mut tables = BTreeMap::new();
        for (tag, text) in BUILT_IN {
            let table = text.parse::<Table>().map_err(|error| LanguageError::of(Path::new(tag), &error))?;
            tables.insert(tag.to_owned(), merged(&tables, table, Path::new(tag))?);
        }
        if let Some(directory) = directory {
            let unreadable = |error: io::Error| LanguageError::of(directory, &error);
            let mut files = Vec::new();
            for entry in fs::read_dir(directory).map_err(unreadable)? {
                let path = entry.map_err(unreadable)?.path();
                if path.extension().is_some_and(|extension| extension == "toml") {
                    files.push(path);
                }
            }
            // A language comes before those with its tag as a prefix, which it may be the base of.
            files.sort();
            for path in files {
                let tag = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
                let text = fs::read_to_string(&path).map_err(|error| LanguageError::of(&path, &error))?;
                let table = text.parse::<Table>().map_err(|error| LanguageError::of(&path, &error))?;
                tables.insert(tag, merged(&tables, table, &path)?);
            }
        }
        let mut languages = Vec::new();
        for (tag, table) in tables {
            let language: Language = table.try_into().map_err(|error| LanguageError::of(Path::new(&tag), &error))?;
            languages.push(Language { tag, ..language });
        }
        Ok(Self(languages.into()))
    }

    /// Returns the first language that there is of those wanted: of `wanted`, of the browser, and then of the shop. It is
    /// English if there is none.
    pub(crate) fn of(&self, wanted: &[String], headers: &HeaderMap, shop: &str) -> &Language {
        let accepted = accepted(headers);
        let tags = wanted.iter().map(String::as_str).chain(accepted).chain([shop, DEFAULT]);
        // English is built in.
        tags.into_iter().find_map(|tag| self.get(tag)).unwrap_or(&self.0[0])
    }

    /// Returns the language of a tag, or else of its primary language (RFC 4647, section 3.4).
    fn get(&self, tag: &str) -> Option<&Language> {
        let exact = self.0.iter().find(|language| language.tag.eq_ignore_ascii_case(tag));
        exact.or_else(|| self.0.iter().find(|language| language.tag.eq_ignore_ascii_case(primary(tag))))
    }
}

/// Returns the tags of an `Accept-Language` header in the order of their weights.
fn accepted(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let header = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut tags: Vec<(u16, &str)> = header
        .split(',')
        .take(MAX_ACCEPTED)
        .filter_map(|part| {
            let (tag, weight) = part.split_once(";q=").unwrap_or((part, "1"));
            Some((thousandths(weight.trim())?, tag.trim()))
        })
        .filter(|(weight, _)| *weight > 0)
        .collect();
    tags.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    tags.into_iter().map(|(_, tag)| tag)
}

/// Returns a weight of 0 to 1 with up to three digits (RFC 9110, section 12.4.2), in thousandths.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let fraction = format!("{fraction:0<3}");
    let number = format!("{whole}{fraction}").parse().ok()?;
    (fraction.len() == 3 && number <= 1000).then_some(number)
}

fn primary(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

/// Returns the table of a file over that of its base.
fn merged(known: &BTreeMap<String, Table>, mut table: Table, path: &Path) -> Result<Table, LanguageError> {
    let refuse = |problem: String| Err(LanguageError { path: path.to_owned(), problem });
    let base = match table.remove("base") {
        None => DEFAULT.to_owned(),
        Some(Value::String(base)) => base,
        Some(_) => return refuse("`base` must be the tag of a language".into()),
    };
    let Some(base) = known.get(&base) else {
        // The first is English itself.
        return if known.is_empty() {
            Ok(table)
        } else {
            refuse(format!("`base` must be a known language, not `{base}`"))
        };
    };
    let mut whole = base.clone();
    if let (Some(Value::Table(own)), Some(Value::Table(texts))) = (table.get("texts"), base.get("texts")) {
        for (key, text) in own {
            let Some(expected) = texts.get(key).and_then(Value::as_str).map(placeholders) else {
                return refuse(format!("`texts.{key}` is not a text of the pages"));
            };
            let stated = text.as_str().map(placeholders);
            if stated.as_ref() != Some(&expected) {
                let names: Vec<_> = expected.iter().map(|name| format!("{{{name}}}")).collect();
                let names = if names.is_empty() { "no placeholder".to_owned() } else { names.join(" and ") };
                return refuse(format!("`texts.{key}` must be a text with {names}"));
            }
        }
    }
    for (section, value) in table {
        match (whole.get_mut(&section), value) {
            (Some(Value::Table(whole)), Value::Table(own)) => whole.extend(own),
            (_, value) => {
                whole.insert(section, value);
            }
        }
    }
    Ok(whole)
}

fn placeholders(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

/// A file of a language that cannot be used.
#[derive(Debug)]
pub struct LanguageError {
    path: PathBuf,
    problem: String,
}

impl LanguageError {
    fn of(path: &Path, error: &dyn fmt::Display) -> Self {
        Self { path: path.to_owned(), problem: error.to_string().trim_end().to_owned() }
    }
}

impl fmt::Display for LanguageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the language in {} cannot be used: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for LanguageError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn languages() -> Languages {
        Languages::default()
    }

    /// Returns the forms of English and Spanish.
    fn both(languages: &Languages) -> [&Language; 2] {
        ["en", "es"].map(|tag| languages.get(tag).expect("a language"))
    }

    #[test]
    fn amounts_have_the_form_of_the_language() {
        let text = |language: &Language, minor, code: &str| language.amount(minor, code.parse().expect("a currency"));
        let languages = languages();
        let [en, es] = both(&languages);
        assert_eq!(text(en, 0, "USD"), "$0.00");
        assert_eq!(text(en, -5, "USD"), "\u{2212}$0.05");
        assert_eq!(text(en, 123_456_789, "USD"), "$1,234,567.89");
        assert_eq!(text(en, 123_456, "JPY"), "¥123,456");
        assert_eq!(text(en, 1_234, "KWD"), "KWD\u{a0}1.234");
        assert_eq!(text(es, 123_456, "EUR"), "1234,56\u{a0}€");
        assert_eq!(text(es, 1_234_567, "EUR"), "12.345,67\u{a0}€");
        assert_eq!(text(es, 12_000, "USD"), "120,00\u{a0}US$");
        assert_eq!(text(es, i64::MIN, "JPY"), "\u{2212}9.223.372.036.854.775.808\u{a0}JPY");
    }

    #[test]
    fn dates_and_countries_have_the_names_of_the_language() {
        let languages = languages();
        let [en, es] = both(&languages);
        let time = "2026-11-05T23:30:00Z".parse().expect("a time");
        assert_eq!((en.day(time), es.day(time)), ("November 5, 2026".into(), "5 de noviembre de 2026".into()));
        assert_eq!((en.country("de"), es.country("DE")), ("Germany".into(), "Alemania".into()));
        assert_eq!(es.country("nowhere"), "NOWHERE");
        let names: Vec<_> = es.countries().into_iter().map(|(name, _)| name).take(4).collect();
        assert_eq!(names, ["Afganistán", "Albania", "Alemania", "Andorra"]);
    }

    #[test]
    fn the_purchase_goes_before_the_browser_and_the_browser_before_the_shop() {
        let all = languages();
        let tag = |wanted: &[&str], accepted: &str, shop: &str| {
            let wanted: Vec<_> = wanted.iter().map(|tag| (*tag).to_owned()).collect();
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_LANGUAGE, accepted.parse().expect("a header"));
            all.of(&wanted, &headers, shop).tag.clone()
        };
        assert_eq!(tag(&["es-MX"], "en", "en"), "es");
        assert_eq!(tag(&["xx"], "fr, en;q=0.2, ES-ar;q=0.8", "en"), "es");
        assert_eq!(tag(&[], "es;q=0, fr;q=1.5, ;q=, \u{1}".replace('\u{1}', "x").as_str(), "es"), "es");
        assert_eq!(tag(&[], "", "tlh"), "en");
    }

    #[test]
    fn an_operator_adds_languages_by_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).expect("written");
        let read = || Languages::read(Some(directory.path()));
        write("es-MX.toml", "base = \"es\"\n[currencies]\nMXN = \"$\"\n[format]\namount = \"{currency}{amount}\"\n");
        write("de.toml", "[texts]\npaid = \"Bezahlt\"\nback_to = \"Zurück zu {place}\"\n");
        write("README", "not a language");
        let all = read().expect("languages");
        let mexican = all.get("es-mx").expect("a language");
        assert_eq!(mexican.amount(123_450, "MXN".parse().expect("a currency")), "$1234,50");
        assert_eq!(mexican.texts.paid.as_str(), "Pagado");
        let german = all.get("de-AT").expect("a language");
        assert_eq!((german.texts.paid.as_str(), german.texts.fee.as_str()), ("Bezahlt", "Fee"));
        for (text, problem) in [
            ("[texts]\nback_to = \"Zurück\"\n", "`texts.back_to` must be a text with {place}"),
            ("[texts]\npaid = 5\n", "`texts.paid` must be a text with no placeholder"),
            ("[texts]\nnothing = \"x\"\n", "`texts.nothing` is not a text of the pages"),
            ("[format]\nmonths = [\"Januar\"]\n", "array of length 12"),
            ("base = \"tlh\"\n", "`base` must be a known language, not `tlh`"),
            ("text = \"x", "invalid basic string"),
        ] {
            write("de.toml", text);
            let error = read().expect_err("refused").to_string();
            assert!(error.contains("de") && error.contains(problem), "{error}");
        }
        assert!(Languages::read(Some(&directory.path().join("missing"))).is_err());
    }
}

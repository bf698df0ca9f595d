//! Postal addresses in lines, in the form of their country.

use maud::{Markup, html};
use ucp_core::purchase::buyer::PostalAddress;

use crate::language::Language;

/// Countries in which the region is written between the town and the postal code.
const WITH_REGION: &[&str] = &["AU", "BR", "CA", "IN", "MX", "US"];

/// Countries in which the postal code has a line of its own below the town.
const POSTAL_CODE_LAST: &[&str] = &["GB", "GG", "GI", "IE", "IM", "JE"];

/// Renders an address in lines.
pub(crate) fn lines(address: &PostalAddress, language: &Language) -> Markup {
    let part = |part: &Option<String>| part.as_deref().map(str::trim).unwrap_or_default().to_owned();
    let joined = |parts: &[String], separator: &str| {
        let filled: Vec<_> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        filled.join(separator)
    };
    let code = address.address_country.as_deref().map(|code| code.trim().to_ascii_uppercase()).unwrap_or_default();
    let [town, region, postal_code] =
        [&address.address_locality, &address.address_region, &address.postal_code].map(part);
    let place = if WITH_REGION.contains(&&*code) || code.is_empty() {
        vec![joined(&[joined(&[town, region], ", "), postal_code], " ")]
    } else if POSTAL_CODE_LAST.contains(&&*code) {
        vec![joined(&[town, region], ", "), postal_code]
    } else {
        vec![joined(&[postal_code, town], " "), region]
    };
    let name = joined(&[part(&address.first_name), part(&address.last_name)], " ");
    let mut lines = vec![name, part(&address.street_address), part(&address.extended_address)];
    lines.extend(place);
    lines.extend(address.address_country.as_deref().map(|code| language.country(code)));
    html! {
        @for line in lines.iter().filter(|line| !line.is_empty()) { (line) br; }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::language::Languages;

    #[test]
    fn an_address_has_the_form_of_its_country() {
        let languages = Languages::default();
        let text = |country: Option<&str>, language: &str| {
            let address = PostalAddress {
                first_name: Some("Zoë".into()),
                street_address: Some("1 Main St".into()),
                address_locality: Some("Town".into()),
                address_region: Some("RG".into()),
                postal_code: Some("12345".into()),
                address_country: country.map(str::to_owned),
                ..PostalAddress::default()
            };
            let language = languages.of(&[language.to_owned()], &HeaderMap::new(), "en");
            lines(&address, language).into_string().replace("<br>", "|")
        };
        assert_eq!(text(Some("US"), "en"), "Zoë|1 Main St|Town, RG 12345|United States of America|");
        assert_eq!(text(Some("de"), "es"), "Zoë|1 Main St|12345 Town|RG|Alemania|");
        assert_eq!(text(Some("GB"), "en").split('|').skip(2).take(2).collect::<Vec<_>>(), ["Town, RG", "12345"]);
        assert_eq!(text(None, "en"), "Zoë|1 Main St|Town, RG 12345|");
    }
}

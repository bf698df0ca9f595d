//! From the rows of one product to its record.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use ucp_core::{
    catalog::{
        market::Market,
        product::{Barcode, Category, Description, Media, SelectedOption, Seller},
        record::{Record, VariantRecord},
    },
    money::{Currency, Price},
};
use ucp_import::{
    BadRow,
    text::{line, plain},
};

use super::{
    column::{AXES, Column},
    row::Row,
};

/// Puts a product together.
pub(super) fn build(rows: &[Row], market: &Market) -> Result<Record, BadRow> {
    let first = &rows[0];
    let handle = first.text(Column::Handle);
    if let Some(row) = rows.iter().find(|row| !row.has(Column::Handle)) {
        return Err(row.fault(Column::Handle, "is empty; every row of a product names its handle"));
    }
    let title = first.text(Column::Title);
    if title.is_empty() {
        return Err(first.fault(Column::Title, "is empty on the first row of the product"));
    }
    match first.cell(Column::Status).to_ascii_lowercase().as_str() {
        "" | "active" => {}
        _ => return Err(first.fault(Column::Status, "must be `active`, `draft`, `archived` or `unlisted`")),
    }
    let media = pictures(rows)?;
    let axes = axes(rows)?;
    let vendor = first.text(Column::Vendor);
    let seller =
        Seller { name: Some(vendor.clone()).filter(|name| !name.is_empty()), links: Vec::new(), extra: Map::new() };
    let stem = token(&handle, |letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-', false);

    let carriers: Vec<&Row> =
        rows.iter().enumerate().filter(|(place, row)| *place == 0 || row.is_variant()).map(|(_, row)| row).collect();
    let mut skus: HashMap<&str, usize> = HashMap::new();
    for row in &carriers {
        *skus.entry(row.cell(Column::Sku)).or_default() += 1;
    }
    let mut combinations: HashMap<Vec<String>, u64> = HashMap::new();
    let mut variants = Vec::with_capacity(carriers.len());
    for row in carriers {
        let values = values(row, &axes)?;
        if let Some(before) = combinations.insert(values.clone(), row.line) {
            let reason = if axes.is_empty() {
                "a second variant without options".to_owned()
            } else {
                format!("`{}` is already on line {before}", values.join(" / "))
            };
            return Err(row.fault(Column::OptionValue(0), reason));
        }
        let sku = row.cell(Column::Sku);
        let distinct = !sku.is_empty() && skus.get(sku) == Some(&1);
        variants.push(VariantRecord {
            id: variant_id(&stem, distinct.then_some(sku), &values),
            sku: Some(row.text(Column::Sku)).filter(|sku| !sku.is_empty()),
            barcodes: barcode(row.cell(Column::Barcode)).into_iter().collect(),
            seller: Some(seller.clone()).filter(|seller| seller.name.is_some()),
            options: axes
                .iter()
                .zip(values)
                .map(|(axis, label)| SelectedOption { name: axis.clone(), id: None, label })
                .collect(),
            media: row.address(Column::VariantImage)?.map(|url| picture_of_variant(url, &media)).into_iter().collect(),
            ..priced(row, market.currency)?
        });
    }

    Ok(Record {
        id: format!("prod_{stem}"),
        handle: Some(handle),
        description: description(first.cell(Column::Body), &title),
        title,
        url: None,
        categories: categories(first),
        media,
        options: Vec::new(),
        variants,
        rating: None,
        tags: tags(first.cell(Column::Tags)),
        metadata: (!vendor.is_empty()).then(|| Map::from_iter([("vendor".to_owned(), Value::String(vendor))])),
        translations: BTreeMap::new(),
        extra: Map::new(),
    })
}

/// A variant of which only the price, the stock and the weight are known.
fn priced(row: &Row, currency: Currency) -> Result<VariantRecord, BadRow> {
    let amount = row.amount(Column::Price, currency)?.ok_or_else(|| row.fault(Column::Price, "is empty"))?;
    let list_amount = row.amount(Column::ListPrice, currency)?.filter(|list| *list > amount);
    let (availability, inventory) = row.availability()?;
    let (digital, weight_grams) = row.shipping()?;
    Ok(VariantRecord {
        id: String::new(),
        sku: None,
        barcodes: Vec::new(),
        handle: None,
        title: None,
        description: None,
        url: None,
        categories: Vec::new(),
        price: Price { amount, currency },
        list_price: list_amount.map(|amount| Price { amount, currency }),
        prices: Vec::new(),
        unit_price: None,
        availability,
        inventory,
        quantity_rule: None,
        stock_by_location: None,
        lead_days: None,
        available_on: None,
        weight_grams,
        digital,
        options: Vec::new(),
        media: Vec::new(),
        rating: None,
        tags: Vec::new(),
        metadata: None,
        seller: None,
        extra: Map::new(),
    })
}

/// The names of the options, which only the first row has to carry. `Title` with `Default Title` means that there are
/// none.
fn axes(rows: &[Row]) -> Result<Vec<String>, BadRow> {
    let first = &rows[0];
    let placeholder = first.cell(Column::OptionName(0)).eq_ignore_ascii_case("title")
        && first.cell(Column::OptionValue(0)).eq_ignore_ascii_case("default title");
    let mut axes: Vec<String> = Vec::new();
    for axis in 0..AXES {
        let name = first.text(Column::OptionName(axis));
        if name.is_empty() || axis == 0 && placeholder {
            continue;
        }
        if axes.len() < axis {
            return Err(first.fault(Column::OptionName(axis), "names an option after one without a name"));
        }
        axes.push(name);
    }
    for row in &rows[1..] {
        for axis in 0..AXES {
            let name = row.text(Column::OptionName(axis));
            let known = axes.get(axis).map_or(if placeholder && axis == 0 { "Title" } else { "" }, String::as_str);
            if !name.is_empty() && name != known {
                return Err(
                    row.fault(Column::OptionName(axis), format!("differs from the product's first row, `{known}`"))
                );
            }
        }
    }
    Ok(axes)
}

/// The values of a variant on the options of its product.
fn values(row: &Row, axes: &[String]) -> Result<Vec<String>, BadRow> {
    let mut values = Vec::with_capacity(axes.len());
    for axis in 0..AXES {
        let value = row.text(Column::OptionValue(axis));
        match (axes.get(axis), value.is_empty()) {
            (Some(_), false) => values.push(value),
            (Some(name), true) => {
                return Err(row.fault(Column::OptionValue(axis), format!("is empty; the variant needs a `{name}`")));
            }
            (None, true) => {}
            (None, false) if axis == 0 && axes.is_empty() && value.eq_ignore_ascii_case("default title") => {}
            (None, false) => return Err(row.fault(Column::OptionValue(axis), "is a value of an option without a name")),
        }
    }
    Ok(values)
}

/// The pictures of a product in the order of their positions, each once.
fn pictures(rows: &[Row]) -> Result<Vec<Media>, BadRow> {
    let mut placed: Vec<(u64, Media)> = Vec::new();
    for row in rows {
        let Some(url) = row.address(Column::Image)? else { continue };
        if placed.iter().any(|(_, media)| media.url == url) {
            continue;
        }
        let position = match row.cell(Column::ImagePosition) {
            "" => u64::MAX,
            position => position.parse().map_err(|_| row.fault(Column::ImagePosition, "must be a positive integer"))?,
        };
        let alt_text = Some(row.text(Column::ImageText)).filter(|text| !text.is_empty());
        placed.push((position, Media { kind: "image".to_owned(), url, alt_text, width: None, height: None }));
    }
    placed.sort_by_key(|(position, _)| *position);
    Ok(placed.into_iter().map(|(_, media)| media).collect())
}

fn picture_of_variant(url: String, media: &[Media]) -> Media {
    let known = media.iter().find(|picture| picture.url == url).cloned();
    known.unwrap_or(Media { kind: "image".to_owned(), url, alt_text: None, width: None, height: None })
}

fn categories(row: &Row) -> Vec<Category> {
    [(Column::Category, "shopify"), (Column::GoogleCategory, "google_product_category"), (Column::Type, "merchant")]
        .into_iter()
        .map(|(column, taxonomy)| Category { value: row.text(column), taxonomy: Some(taxonomy.to_owned()) })
        .filter(|category| !category.value.is_empty())
        .collect()
}

fn tags(cell: &str) -> Vec<String> {
    let mut known = HashSet::new();
    cell.split(',').filter_map(line).filter(|tag| known.insert(tag.clone())).collect()
}

/// Returns the description as plain text. A product that is not described is described by its title.
fn description(body: &str, title: &str) -> Description {
    Description::plain(plain(body).unwrap_or_else(|| title.to_owned()))
}

/// The identifier of a variant: made of its SKU if no other variant of the product has it, else of its option values.
pub(super) fn variant_id(stem: &str, sku: Option<&str>, values: &[String]) -> String {
    let mut id = format!("var_{stem}");
    if let Some(sku) = sku {
        id.push('_');
        id.push_str(&token(sku, |letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_'), false));
        return id;
    }
    for value in values {
        id.push('_');
        id.push_str(&token(value, |letter| letter.is_ascii_alphanumeric() || letter == '.', true));
    }
    id
}

/// `text` as a part of an identifier: as it is if it holds only what is allowed (and, if `spaced`, spaces, which become
/// hyphens), or else what is allowed of it with a digest of the whole, so that different texts stay different.
pub(super) fn token(text: &str, allowed: impl Fn(char) -> bool, spaced: bool) -> String {
    const LONGEST: usize = 80;
    let replaced = |letter: char| {
        if spaced && letter == ' ' { Some('-') } else { allowed(letter).then_some(letter) }
    };
    let kept: String = text.chars().filter_map(replaced).take(LONGEST).collect();
    if !text.is_empty() && kept.chars().count() == text.chars().count() {
        return kept;
    }
    let digest: String = Sha256::digest(text.as_bytes()).iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    if kept.is_empty() { digest } else { format!("{kept}~{digest}") }
}
/// A barcode with the standard that its length and check digit tell; nothing if they tell none.
pub(in super::super) fn barcode(cell: &str) -> Option<Barcode> {
    // Spreadsheets keep leading zeros behind an apostrophe.
    let code: String = cell.trim_start_matches('\'').chars().filter(|letter| !matches!(letter, ' ' | '-')).collect();
    let digits = code.bytes().all(|byte| byte.is_ascii_digit());
    let kind = match code.len() {
        10 if is_isbn_10(&code) => "ISBN",
        8 | 12 | 13 | 14 if !digits || !has_check_digit(&code) => return None,
        12 => "UPC",
        13 if code.starts_with("978") || code.starts_with("979") => "ISBN",
        13 if code.starts_with("45") || code.starts_with("49") => "JAN",
        8 | 13 => "EAN",
        14 => "GTIN",
        _ => return None,
    };
    Some(Barcode { kind: kind.to_owned(), value: code })
}

/// Returns `true` if the last digit is the GS1 check digit of the others.
pub(super) fn has_check_digit(code: &str) -> bool {
    let weighted: u32 = code
        .bytes()
        .rev()
        .zip([1, 3].into_iter().cycle())
        .map(|(digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    weighted.is_multiple_of(10)
}

fn is_isbn_10(code: &str) -> bool {
    let digits: Option<Vec<u32>> = code
        .chars()
        .enumerate()
        .map(|(place, letter)| if place == 9 && matches!(letter, 'X' | 'x') { Some(10) } else { letter.to_digit(10) })
        .collect();
    digits.is_some_and(|digits| {
        digits.iter().zip((1..=10).rev()).map(|(digit, weight)| digit * weight).sum::<u32>().is_multiple_of(11)
    })
}

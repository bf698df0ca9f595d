//! Shopify's product CSV export.
//!
//! One product takes one or more rows with the same handle, directly below each other: the first one carries the
//! product, every row with a price, an SKU or an option value carries a variant, and any row may carry a picture. The
//! column names of older exports (`Body (HTML)`, `Variant Price`) and of newer ones (`Description`, `Price`) are read,
//! in any letter case and order.
//!
//! | in the export | in the shop |
//! | :-- | :-- |
//! | handle | `handle`; the product is `prod_<handle>` |
//! | SKU, else the option values | the variant is `var_<handle>_<SKU>` or `var_<handle>_<value>_<value>`, see below |
//! | description | `description.html` as it is, and `description.plain` made from it |
//! | vendor | `variants[].seller.name` and `metadata.vendor` |
//! | product category, Google category, type | `categories` of the taxonomies `shopify`, `google_product_category`, `merchant` |
//! | price, compare-at price | `price`, and `list_price` where it is higher; exact decimals in the shop's own currency |
//! | barcode | `barcodes`, when its length and check digit are those of a known standard |
//! | inventory tracker, quantity, policy | `availability` with the status `in_stock`, `out_of_stock` or `backorder` |
//! | status, published | products that are not active or not published are skipped |
//!
//! An identifier depends only on the handle, the SKU and the option values, so that a later import of the same goods
//! updates them. A part that holds other characters than an identifier may keep a digest of the whole part (after `~`),
//! so that different goods never share an identifier. An SKU that several variants of a product have tells none of them
//! apart and is not used.
//!
//! `Price / <market>` columns are not read: the file names a market but not its currency. Prices in other currencies
//! come with JSON Lines.

mod build;
mod column;
mod row;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, io::Read};

use ucp_core::catalog::market::Market;
use ucp_import::BadRow;

pub(super) use self::{build::barcode, row::amount};
use self::{
    build::build,
    column::Column,
    row::{Row, Rows},
};
use super::{ImportedProduct, Unimportable, finish};

/// Maximum number of rows of a product: Shopify's 2,048 variants, and as many images.
const MOST_ROWS: usize = 4096;

/// Returns `true` if a line is the header of a product export.
pub(crate) fn recognises(header: &[u8]) -> bool {
    let header = String::from_utf8_lossy(header);
    let columns: Vec<_> = header.split(',').filter_map(|name| Column::of(name.trim_matches('"'))).collect();
    columns.contains(&Column::Handle) && columns.contains(&Column::Title)
}

/// The products of an export.
#[derive(Debug)]
pub struct Products<R> {
    rows: Rows<R>,
    market: Market,
    /// The first row of the next product.
    next: Option<Result<Row, BadRow>>,
    /// Handles that were read, with their line: separate groups of rows with one handle are not merged.
    seen: HashMap<String, u64>,
}

impl<R: Read> Products<R> {
    /// Reads the header of an export. Fails if the header cannot be read or lacks a required column.
    pub fn new(reader: R, market: Market) -> Result<Self, Unimportable> {
        Ok(Self { rows: Rows::new(reader)?, market, next: None, seen: HashMap::new() })
    }

    fn product(&mut self, first: Row) -> ImportedProduct {
        let line = first.line;
        let mut group = Group { rows: Vec::new(), fault: None };
        let handle = first.cell(Column::Handle).to_owned();
        group.add(first);
        loop {
            match self.rows.next() {
                Some(Ok(row)) if row.belongs_to(&handle) => group.add(row),
                other => {
                    self.next = other;
                    break;
                }
            }
        }
        if let Some(reason) = group.rows[0].not_offered() {
            return Err(reason);
        }
        if let Some(fault) = group.fault {
            return Err(fault);
        }
        if !handle.is_empty() {
            if let Some(before) = self.seen.get(&handle) {
                let reason =
                    format!("the rows of `{handle}` do not follow each other: it was already on line {before}");
                return Err(BadRow::faulty(line, Some(self.rows.name(Column::Handle)), reason));
            }
            self.seen.insert(handle, line);
        }
        let record = build(&group.rows, &self.market)?;
        finish(record, line, &self.market)
    }
}

impl<R: Read> Iterator for Products<R> {
    type Item = ImportedProduct;

    fn next(&mut self) -> Option<ImportedProduct> {
        let first = self.next.take().or_else(|| self.rows.next())?;
        Some(first.and_then(|first| self.product(first)))
    }
}

/// The rows of one product.
struct Group {
    rows: Vec<Row>,
    fault: Option<BadRow>,
}

impl Group {
    fn add(&mut self, mut row: Row) {
        if let Some(fault) = row.fault.take() {
            self.fail(fault);
        }
        if self.rows.len() < MOST_ROWS {
            self.rows.push(row);
        } else {
            self.fail(BadRow::faulty(row.line, None, format!("a product may have at most {MOST_ROWS} rows")));
        }
    }

    fn fail(&mut self, fault: BadRow) {
        self.fault.get_or_insert(fault);
    }
}

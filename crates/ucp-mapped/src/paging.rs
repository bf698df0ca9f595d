//! Pages of a search, as a shop counts them.

use serde_json::{Map, Value};

use super::file::Paging;

/// The page that is asked for.
pub(super) struct Page {
    pub(super) style: Option<Paging>,
    pub(super) size: u64,
    /// Number of the page or of its first product, as the style counts.
    position: u64,
    /// Number of products on the pages before, if it is known.
    before: Option<u64>,
    cursor: Value,
}

impl Page {
    /// Returns the page of a question; `None` if its position is none that was given out.
    pub(super) fn of(style: Option<Paging>, question: &Value) -> Option<Self> {
        let after = question["after"].as_str();
        let first = u64::from(style == Some(Paging::Page));
        let (mut position, mut before) = (first, Some(0));
        if let (Some(Paging::Page | Paging::Offset), Some(after)) = (style, after) {
            let (own, seen) = after.split_once('.').map_or((after, None), |(own, seen)| (own, Some(seen)));
            position = own.parse().ok().filter(|own| *own > first)?;
            before = match seen {
                Some(seen) => Some(seen.parse().ok()?),
                None => Some(position).filter(|_| style == Some(Paging::Offset)),
            };
        }
        Some(Self { style, size: question["limit"].as_u64().unwrap_or(1), position, before, cursor: after.into() })
    }

    /// Returns the value of `$paging`.
    pub(super) fn document(&self) -> Value {
        let mut document = Map::from_iter([("size".to_owned(), self.size.into())]);
        match self.style {
            None => {}
            Some(Paging::Page) => drop(document.insert("number".to_owned(), self.position.into())),
            Some(Paging::Offset) => drop(document.insert("offset".to_owned(), self.position.into())),
            Some(Paging::Cursor) => drop(document.insert("cursor".to_owned(), self.cursor.clone())),
        }
        document.into()
    }

    /// Returns `true` if a page with `taken` products is not the last of `total`: the shop may answer fewer at once than
    /// were asked for, which a program that counts by the size of pages takes for the end.
    pub(super) fn has_more(&self, taken: u64, total: Option<u64>) -> bool {
        let seen = self.before.map(|before| before.saturating_add(taken));
        taken > 0 && total.zip(seen).is_some_and(|(total, seen)| seen < total)
    }

    /// Returns the position of the page after this one, with `taken` products: it goes on by what came, not by what was
    /// asked for.
    pub(super) fn after(&self, taken: u64) -> Option<String> {
        match self.style? {
            Paging::Page => {
                let seen = self.before.map(|before| format!(".{}", before.saturating_add(taken)));
                Some(format!("{}{}", self.position.saturating_add(1), seen.unwrap_or_default()))
            }
            // A page of which nothing could be taken is passed over.
            Paging::Offset => {
                Some(self.position.saturating_add(if taken == 0 { self.size } else { taken }).to_string())
            }
            Paging::Cursor => None,
        }
    }
}

//! Items of a tab-separated feed: a header with the names of the attributes, and a row for each item.

use std::io::{self, Read};

use ucp_import::{BadRow, printable};

use super::{
    super::Unimportable,
    LONGEST_ITEM,
    item::{FeedItem, name},
};

/// Attributes without which there is no product.
const REQUIRED: [&str; 3] = ["id", "title", "price"];

pub(super) struct Items<R> {
    reader: csv::Reader<Rationed<R>>,
    names: Vec<String>,
    ended: bool,
}

impl<R: Read> Items<R> {
    pub(super) fn new(reader: R) -> Result<Self, Unimportable> {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(b'\t')
            .flexible(true)
            .from_reader(Rationed { reader, left: 2 * LONGEST_ITEM });
        let header = reader.byte_headers().map_err(|error| Unimportable::Header(error.to_string()))?;
        let names: Vec<_> = header.iter().map(|cell| name(&String::from_utf8_lossy(cell))).collect();
        let missing: Vec<_> = REQUIRED
            .iter()
            .filter(|needed| names.iter().all(|name| name != *needed))
            .map(|name| format!("`{name}`"))
            .collect();
        if !missing.is_empty() {
            let found: Vec<_> = names.iter().take(60).map(|name| format!("`{name}`")).collect();
            return Err(Unimportable::MissingAttributes {
                missing: missing.join(", no "),
                found: printable(&found.join(", ")),
            });
        }
        Ok(Self { reader, names, ended: false })
    }
}

impl<R: Read> Iterator for Items<R> {
    type Item = Result<FeedItem, BadRow>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            self.reader.get_mut().left = 2 * LONGEST_ITEM;
            let mut cells = csv::ByteRecord::new();
            match self.reader.read_byte_record(&mut cells) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.ended = true;
                    let line = self.reader.position().line();
                    return Some(Err(BadRow::unreadable(line, format!("the file cannot be read further: {error}"))));
                }
            }
            let line = cells.position().map_or(1, csv::Position::line);
            if cells.iter().all(|cell| cell.trim_ascii().is_empty()) {
                continue;
            }
            if cells.len() > self.names.len() {
                let (found, expected) = (cells.len(), self.names.len());
                let reason = format!("the row has {found} cells and the header has {expected}");
                return Some(Err(BadRow::faulty(line, None, reason)));
            }
            let mut item = FeedItem::new(line);
            for (name, cell) in self.names.iter().zip(&cells) {
                let Ok(text) = std::str::from_utf8(cell) else {
                    return Some(Err(BadRow::faulty(line, Some(name.clone()), "not UTF-8")));
                };
                if !item.add(name.clone(), text) {
                    return Some(Err(BadRow::faulty(line, None, "the item is too large")));
                }
            }
            return Some(Ok(item));
        }
        None
    }
}

/// A reader that limits the bytes of one row. A quote that is never closed would make the rest of the file one row.
struct Rationed<R> {
    reader: R,
    left: usize,
}

impl<R: Read> Read for Rationed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let reason = format!("a row is longer than {} MiB; is a closing quote missing?", (2 * LONGEST_ITEM) >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let read = self.reader.read(buffer)?;
        self.left = self.left.saturating_sub(read);
        Ok(read)
    }
}

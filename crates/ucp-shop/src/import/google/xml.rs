//! Items of an XML feed: the `item` elements of RSS 2.0, or the `entry` elements of Atom.
//!
//! Elements of an item are its attributes, and those within them (`g:shipping` with its parts) are passed over. Entities
//! are those of XML alone: a document type is passed over unread.

use std::io::{self, BufRead, Read};

use quick_xml::{
    Reader,
    errors::Error,
    events::{BytesRef, BytesStart, Event},
};
use ucp_import::{BadRow, printable};

use super::{
    LONGEST_ITEM,
    item::{FeedItem, name},
};

/// Maximum depth of elements.
const DEEPEST: usize = 64;

pub(super) struct Items<R> {
    reader: Reader<Lined<R>>,
    depth: usize,
    /// Depth of the item that is being read, and its faults.
    open: Option<Open>,
    buffer: Vec<u8>,
    ended: bool,
}

/// An item that is being read.
struct Open {
    depth: usize,
    item: FeedItem,
    /// Name and text of the attribute that is being read.
    attribute: Option<(String, String)>,
    too_large: bool,
}

impl Open {
    /// Adds to the text of the attribute that is being read.
    fn push(&mut self, text: &str) {
        if let Some((_, own)) = &mut self.attribute {
            if own.len() + text.len() > LONGEST_ITEM {
                self.too_large = true;
            } else {
                own.push_str(text);
            }
        }
    }

    /// Ends the attribute that is being read.
    fn close(&mut self) {
        if let Some((name, text)) = self.attribute.take() {
            self.too_large |= !self.item.add(name, &text);
        }
    }
}

impl<R: BufRead> Items<R> {
    pub(super) fn new(reader: R) -> Self {
        let mut reader = Reader::from_reader(Lined { reader, left: LONGEST_ITEM, line: 1 });
        reader.config_mut().allow_dangling_amp = true;
        Self { reader, depth: 0, open: None, buffer: Vec::new(), ended: false }
    }

    fn line(&self) -> u64 {
        self.reader.get_ref().line
    }

    fn start(&mut self, local: &str, href: Option<String>) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("elements are nested deeper than {DEEPEST}"));
        }
        let (line, depth) = (self.line(), self.depth);
        match &mut self.open {
            None if matches!(local, "item" | "entry") => {
                self.open = Some(Open { depth, item: FeedItem::new(line), attribute: None, too_large: false });
            }
            Some(open) if depth == open.depth + 1 => {
                // A link of Atom has its address in an attribute.
                open.attribute = Some((name(local), href.unwrap_or_default()));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) -> Option<Result<FeedItem, BadRow>> {
        let depth = self.depth;
        self.depth = depth.saturating_sub(1);
        let open = self.open.as_mut()?;
        if depth == open.depth + 1 {
            open.close();
        }
        if depth != open.depth {
            return None;
        }
        let Open { item, too_large, .. } = self.open.take()?;
        Some(if too_large { Err(BadRow::faulty(item.line, None, "the item is too large")) } else { Ok(item) })
    }

    fn text(&mut self, text: &str) {
        let depth = self.depth;
        if let Some(open) = self.open.as_mut().filter(|open| depth == open.depth + 1) {
            open.push(text);
        }
    }

    fn reference(&mut self, reference: &BytesRef<'_>) {
        let character = match reference.resolve_char_ref() {
            Ok(Some(character)) => Some(character),
            _ => match &**reference {
                "amp" => Some('&'),
                "lt" => Some('<'),
                "gt" => Some('>'),
                "quot" => Some('"'),
                "apos" => Some('\''),
                _ => None,
            },
        };
        match character {
            Some(character) => self.text(character.encode_utf8(&mut [0; 4])),
            // What is not an entity of XML is left as it stands.
            None => self.text(&format!("&{};", &**reference)),
        }
    }
}

/// Returns the value of the attribute `href`.
fn href(start: &BytesStart<'_>) -> Option<String> {
    let attribute = start.try_get_attribute("href").ok()??;
    Some(attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).ok()?.into_owned())
}

impl<R: BufRead> Iterator for Items<R> {
    type Item = Result<FeedItem, BadRow>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            self.reader.get_mut().left = LONGEST_ITEM;
            let event = self.reader.read_event_into(&mut buffer);
            let done = match event {
                Ok(Event::Start(start)) => self.start(start.local_name().into_inner(), href(&start)).map(|()| None),
                Ok(Event::Empty(start)) => {
                    self.start(start.local_name().into_inner(), href(&start)).map(|()| self.end())
                }
                Ok(Event::End(_)) => Ok(self.end()),
                Ok(Event::Text(text)) => {
                    self.text(&text.xml10_content());
                    Ok(None)
                }
                Ok(Event::CData(text)) => {
                    self.text(&text.xml10_content());
                    Ok(None)
                }
                Ok(Event::GeneralRef(reference)) => {
                    self.reference(&reference);
                    Ok(None)
                }
                Ok(Event::Eof) if self.depth > 0 => Err("the file ends within an element".to_owned()),
                Ok(Event::Eof) => {
                    self.ended = true;
                    Ok(None)
                }
                Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => Ok(None),
                Err(Error::Io(error)) => Err(error.to_string()),
                Err(error) => Err(format!("not well-formed XML: {error}")),
            };
            self.buffer = buffer;
            match done {
                Ok(None) => {}
                Ok(Some(item)) => return Some(item),
                Err(reason) => {
                    self.ended = true;
                    let reason = format!("the file cannot be read further: {}", printable(&reason));
                    return Some(Err(BadRow::unreadable(self.line(), reason)));
                }
            }
        }
        None
    }
}

/// A reader that counts lines, and limits the bytes of one event.
struct Lined<R> {
    reader: R,
    left: usize,
    line: u64,
}

impl<R: BufRead> Read for Lined<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let read = available.len().min(buffer.len());
        buffer[..read].copy_from_slice(&available[..read]);
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Lined<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            let reason = format!("an element or text is longer than {} MiB", LONGEST_ITEM >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let left = self.left;
        self.reader.fill_buf().map(|available| &available[..available.len().min(left)])
    }

    fn consume(&mut self, read: usize) {
        if let Ok(available) = self.reader.fill_buf() {
            let lines = available.iter().take(read).filter(|byte| **byte == b'\n').count();
            self.line += lines as u64;
        }
        self.left = self.left.saturating_sub(read);
        self.reader.consume(read);
    }
}

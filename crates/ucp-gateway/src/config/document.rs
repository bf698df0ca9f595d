//! The configuration file as it was written: where each key stands, and what to say about it.

use std::{
    fmt, fs,
    ops::Range,
    path::{Path, PathBuf},
};

use serde::Deserialize as _;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    ConfigError,
    file::{self, File},
};

/// A file that was read.
#[derive(Debug, Default)]
pub(super) struct Document {
    path: PathBuf,
    keys: Vec<Key>,
    file: File,
}

/// A key of the file.
#[derive(Debug)]
struct Key {
    /// Its name with the tables that it is in, such as `server.listen` or `platform[0].name`.
    path: String,
    line: usize,
    /// Where its value stands.
    value: Range<usize>,
}

impl Document {
    /// Reads a file. Keys that there are not are all refused at once; of the values, the first that does not fit.
    pub(super) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path)
            .map_err(|error| ConfigError(vec![format!("cannot read {}: {error}", path.display())]))?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut document = Self { path: path.to_owned(), ..Self::default() };
        let table = DeTable::parse(text).map_err(|error| document.refused(text, &error))?;
        let mut unknown = Vec::new();
        Walk { text, tables: &file::tables(), keys: &mut document.keys, unknown: &mut unknown }
            .table(&Place::default(), table.get_ref());
        if !unknown.is_empty() {
            unknown.sort_unstable_by_key(|unknown: &Unknown| unknown.line);
            let say = |unknown: Unknown| {
                format!("unknown key `{}` in {}, line {}; {}", unknown.path, path.display(), unknown.line, unknown.hint)
            };
            return Err(ConfigError(unknown.into_iter().map(say).collect()));
        }
        document.file =
            File::deserialize(toml::de::Deserializer::from(table)).map_err(|error| document.refused(text, &error))?;
        Ok(document)
    }

    /// What the file says.
    pub(super) fn take(&mut self) -> File {
        std::mem::take(&mut self.file)
    }

    /// A path of the file as the process sees it.
    pub(super) fn relative(&self, path: &Path) -> PathBuf {
        self.path.parent().map_or_else(|| path.to_owned(), |directory| directory.join(path))
    }

    /// What is wrong with what a key says, in the file or, where there is none, by a flag.
    pub(super) fn about(&self, key: &str, problem: impl fmt::Display) -> String {
        if self.path.as_os_str().is_empty() {
            return format!("`{key}`: {problem}");
        }
        let line = self.keys.iter().find(|candidate| candidate.path == key).map(|key| format!(", line {}", key.line));
        format!("`{key}` in {}{}: {problem}", self.path.display(), line.unwrap_or_default())
    }

    /// What the parser did not take. Its own words show the line itself, which may hold a secret.
    fn refused(&self, text: &str, error: &toml::de::Error) -> ConfigError {
        let problem = error.message();
        let Some(span) = error.span() else {
            return ConfigError(vec![format!("{}: {problem}", self.path.display())]);
        };
        let around = |key: &&Key| key.value.start <= span.start && span.end <= key.value.end;
        // Of the values around the place, the innermost: the shortest, and of those the one that was reached last.
        match self.keys.iter().rev().filter(around).min_by_key(|key| key.value.len()) {
            Some(key) => ConfigError(vec![self.about(&key.path, problem)]),
            None => {
                ConfigError(vec![format!("{}, line {}: {problem}", self.path.display(), line_of(text, span.start))])
            }
        }
    }
}

/// The line that a place in a text is on, as people count.
fn line_of(text: &str, place: usize) -> usize {
    1 + text.bytes().take(place).filter(|byte| *byte == b'\n').count()
}

/// A table of the file.
#[derive(Default)]
struct Place {
    /// As the file has it: `platform[0]`.
    path: String,
    /// As [`file::tables`] names it: `platform`.
    table: String,
}

impl Place {
    fn inner(&self, key: &str) -> Self {
        Self { path: joined(&self.path, key), table: joined(&self.table, key) }
    }
}

/// A key with the table that it is in.
fn joined(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// The way through all keys of a file.
struct Walk<'a> {
    text: &'a str,
    tables: &'a [(&'static str, &'static [&'static str])],
    keys: &'a mut Vec<Key>,
    unknown: &'a mut Vec<Unknown>,
}

/// A key that there is not.
struct Unknown {
    path: String,
    line: usize,
    /// What may have been meant.
    hint: String,
}

impl Walk<'_> {
    fn table(&mut self, place: &Place, table: &DeTable<'_>) {
        let Some((_, known)) = self.tables.iter().find(|(name, _)| *name == place.table) else { return };
        for (key, value) in table {
            let line = line_of(self.text, key.span().start);
            let inner = place.inner(key.get_ref());
            if known.contains(&&**key.get_ref()) {
                self.keys.push(Key { path: inner.path.clone(), line, value: value.span() });
                self.value(&inner, value);
            } else {
                let hint = self.hint(place, key.get_ref(), known);
                self.unknown.push(Unknown { path: inner.path, line, hint });
            }
        }
    }

    fn value(&mut self, place: &Place, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.table(place, table),
            DeValue::Array(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    let path = format!("{}[{index}]", place.path);
                    let line = line_of(self.text, entry.span().start);
                    self.keys.push(Key { path: path.clone(), line, value: entry.span() });
                    self.value(&Place { path, table: place.table.clone() }, entry);
                }
            }
            _ => {}
        }
    }

    /// What may have been meant by an unknown key: one much like it in the same table, or one of its name in another.
    fn hint(&self, place: &Place, key: &str, known: &[&str]) -> String {
        let distance = |known: &str| strsim::damerau_levenshtein(known, &key.to_lowercase().replace('-', "_"));
        let near = known.iter().map(|known| (distance(known), known)).min();
        if let Some((distance, near)) = near
            && distance <= (key.len() / 3).max(1)
        {
            return format!("did you mean `{}`?", joined(&place.path, near));
        }
        let elsewhere = self.tables.iter().find(|(_, keys)| keys.contains(&key));
        if let Some((table, _)) = elsewhere {
            return format!("did you mean `{}`?", joined(table, key));
        }
        let known: Vec<_> = known.iter().map(|known| format!("`{known}`")).collect();
        format!("there are {}", known.join(", "))
    }
}

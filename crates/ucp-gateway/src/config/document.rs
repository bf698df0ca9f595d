//! The configuration file as it was written: where each key stands, and what is wrong with it.
//!
//! A mistake in the form of a file (an unknown key, a value that does not fit) does not hide another one. What follows
//! from the values is judged of sections that are well-formed, and of none if a section is not that the others depend
//! on.

use std::{ffi::OsString, fmt, fs, mem, ops::Range, path::Path};

use serde::Deserialize as _;
use serde_json::Value;
use toml::{
    Spanned,
    de::{DeTable, DeValue, Deserializer},
};
use ucp_payment::Secret;

use super::{
    ConfigError, Environment,
    schema::{keys, schema, table as table_of},
    sections::Sections,
};

/// The sections that others depend on. What is in none is a key of the file itself.
const DECISIVE: [&str; 4] = ["", "server", "callers", "profiles"];

/// A file that was read, or none.
pub(super) struct Document<'a> {
    path: Option<&'a Path>,
    environment: Environment<'a>,
    text: String,
    keys: Vec<Key>,
    /// The sections that are not well-formed.
    malformed: Vec<String>,
    mistakes: Vec<Mistake>,
    warnings: Vec<String>,
}

/// A key of the file, or an entry of an array.
struct Key {
    /// Its name with the tables that it is in, such as `server.listen` or `platform[0].name`.
    path: String,
    /// Where its value stands.
    value: Range<usize>,
}

struct Mistake {
    at: usize,
    text: String,
}

impl<'a> Document<'a> {
    /// Reads a file, with all mistakes in its form.
    pub(super) fn read(path: Option<&'a Path>, environment: Environment<'a>) -> Result<(Self, Sections), ConfigError> {
        let text = path.map_or(Ok(String::new()), |path| {
            fs::read_to_string(path)
                .map_err(|error| ConfigError(vec![format!("cannot read {}: {error}", path.display())]))
        })?;
        let (keys, malformed, mistakes) = (Vec::new(), Vec::new(), Vec::new());
        let warnings = Vec::new();
        let mut document = Self { path, environment, text, keys, malformed, mistakes, warnings };
        let sections = document.sections(&document.text.clone());
        Ok((document, sections))
    }

    /// What the file says, but for what is wrong.
    fn sections(&mut self, text: &str) -> Sections {
        let (mut table, mut errors) = DeTable::parse_recoverable(text);
        // What is beside a mistake in the syntax may be meant in any way.
        if !errors.is_empty() {
            let start = |error: &toml::de::Error| error.span().unwrap_or_default().start;
            errors.sort_by_key(start);
            // One on a line leads to others on it.
            errors.dedup_by_key(|error| text.get(..start(error)).unwrap_or_default().matches('\n').count());
            for error in &errors {
                self.refuse(error);
            }
            return Sections::default();
        }
        let schema = schema();
        Walk { document: self, tables: &tables("", &schema) }.table("", &schema, table.get_mut());
        // What does not fit is told and left out, until the rest fits.
        loop {
            let error = match Sections::deserialize(Deserializer::from(table.clone())) {
                Ok(sections) => return sections,
                Err(error) => error,
            };
            let place = self.refuse(&error);
            if !place.is_some_and(|place| remove(table.get_mut(), &place)) {
                return Sections::default();
            }
        }
    }

    /// Takes down what was not read, and returns where the value stands that it is about. The parser's own words show
    /// the line itself, which may hold a secret.
    fn refuse(&mut self, error: &toml::de::Error) -> Option<Range<usize>> {
        let (problem, span) = (error.message(), error.span().unwrap_or_default());
        let around = |key: &&Key| key.value.start <= span.start && span.end <= key.value.end;
        // Of the values around the place, the innermost: the shortest, and of those the one that was reached last.
        let Some(key) = self.keys.iter().rev().filter(around).min_by_key(|key| key.value.len()) else {
            let text = format!("{}: {problem}", self.place(span.start));
            self.take_down("", span.start, text);
            return None;
        };
        let (path, value) = (key.path.clone(), key.value.clone());
        // These were told already, all of a table at once, or follow from what was.
        if !problem.starts_with("missing field") || !self.malformed.iter().any(|malformed| malformed == section(&path))
        {
            self.unreadable(&path, problem);
        }
        Some(value)
    }

    /// A value cannot be read.
    fn unreadable(&mut self, key: &str, problem: impl fmt::Display) {
        self.malformed.push(section(key).to_owned());
        self.unfit(key, problem);
    }

    /// Something is wrong with the form of the file.
    fn take_down(&mut self, key: &str, at: usize, text: String) {
        self.malformed.push(section(key).to_owned());
        self.mistakes.push(Mistake { at, text });
    }

    /// A place in the file, as people count.
    fn place(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let (line, column) =
            (before.matches('\n').count(), before.rsplit('\n').next().map_or(0, |line| line.chars().count()));
        format!("{}, line {}, column {}", self.file(), line + 1, column + 1)
    }

    fn file(&self) -> impl fmt::Display {
        self.path.unwrap_or(Path::new("")).display()
    }

    /// Whether the file has this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value_of(key).is_some()
    }

    /// A value does not fit, whatever others are.
    pub(super) fn unfit(&mut self, key: &str, problem: impl fmt::Display) {
        let at = self.value_of(key).map_or(self.text.len(), |value| value.start);
        let text = self.about(key, problem);
        self.mistakes.push(Mistake { at, text });
    }

    /// A value does not go together with others, or with what is outside the file.
    pub(super) fn add(&mut self, key: &str, problem: impl fmt::Display) {
        let malformed = |section: &str| self.malformed.iter().any(|malformed| malformed == section);
        if malformed(section(key)) || DECISIVE.into_iter().any(malformed) {
            return;
        }
        let text = self.about(key, problem);
        self.mistakes.push(Mistake { at: self.text.len(), text });
    }

    /// A value is valid, and seldom wanted.
    pub(super) fn warn(&mut self, key: &str, risk: impl fmt::Display) {
        self.warnings.push(self.about(key, risk));
    }

    /// Returns the warnings about the values.
    pub(super) fn warnings(&mut self) -> Vec<String> {
        mem::take(&mut self.warnings)
    }

    /// A problem with the place of its key.
    fn about(&self, key: &str, problem: impl fmt::Display) -> String {
        match self.value_of(key) {
            Some(value) => format!("`{key}` in {}: {problem}", self.place(value.start)),
            None if self.path.is_some() => format!("`{key}` in {}: {problem}", self.file()),
            None => format!("`{key}`: {problem}"),
        }
    }

    /// Where the value of a key stands.
    fn value_of(&self, key: &str) -> Option<&Range<usize>> {
        self.keys.iter().find(|candidate| candidate.path == key).map(|key| &key.value)
    }

    /// The text of a file.
    pub(super) fn text(&self, path: &Path) -> Result<String, String> {
        fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    }

    /// The value of a variable of the environment.
    pub(super) fn variable(&self, name: &str) -> Result<String, String> {
        match (self.environment)(name).map(OsString::into_string) {
            Some(Ok(text)) => Ok(text),
            Some(Err(_)) => Err(format!("the value of `{name}` is not UTF-8")),
            None => Err(format!("the environment has no variable `{name}`")),
        }
    }

    /// The secret that one of two keys leads to, which are called like `key` with `_file` or `_env` behind it.
    pub(super) fn secret(&mut self, key: &str, file: Option<&Path>, variable: Option<&str>) -> Option<Secret> {
        let (key, text) = match (file, variable) {
            (Some(path), _) => (format!("{key}_file"), self.text(path)),
            (None, Some(name)) => (format!("{key}_env"), self.variable(name)),
            (None, None) => return None,
        };
        let secret = text.and_then(|text| text.parse::<Secret>().map_err(|error| error.to_string()));
        secret.map_err(|problem| self.add(&key, problem)).ok()
    }

    /// The settings, if nothing is wrong.
    pub(super) fn settle<T>(mut self, settings: T) -> Result<T, ConfigError> {
        if self.mistakes.is_empty() {
            return Ok(settings);
        }
        self.mistakes.sort_by_key(|mistake| mistake.at);
        Err(ConfigError(self.mistakes.into_iter().map(|mistake| mistake.text).collect()))
    }
}

/// The section that a key is in.
fn section(key: &str) -> &str {
    key.split(['.', '[']).next().unwrap_or_default()
}

/// A key with the table that it is in.
fn joined(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// Takes the value out that stands at a place: the innermost, where an array begins with its first entry.
fn remove(table: &mut DeTable<'_>, place: &Range<usize>) -> bool {
    if table.iter_mut().any(|(_, value)| remove_inside(value.get_mut(), place)) {
        return true;
    }
    let key = table.iter().find(|(_, value)| value.span() == *place).map(|(key, _)| key.get_ref().clone());
    key.is_some_and(|key| table.remove(&*key).is_some())
}

fn remove_inside(value: &mut DeValue<'_>, place: &Range<usize>) -> bool {
    match value {
        DeValue::Table(table) => remove(table, place),
        DeValue::Array(entries) => {
            let before = entries.len();
            if entries.iter_mut().any(|entry| remove_inside(entry.get_mut(), place)) {
                return true;
            }
            *entries = entries.clone().into_iter().filter(|entry| entry.span() != *place).collect();
            entries.len() < before
        }
        _ => false,
    }
}

/// The tables that the file may have, each with its keys.
fn tables(table: &str, schema: &Value) -> Vec<(String, Vec<String>)> {
    let Some(keys) = keys(schema) else { return Vec::new() };
    let inner = keys.iter().flat_map(|(key, schema)| tables(&joined(table, key), schema));
    [(table.to_owned(), keys.keys().cloned().collect())].into_iter().chain(inner).collect()
}

/// The way through all keys of a file.
struct Walk<'a, 'b> {
    document: &'a mut Document<'b>,
    tables: &'a [(String, Vec<String>)],
}

impl Walk<'_, '_> {
    /// Notes where the keys of a table stand, and takes those out that there are not.
    fn table(&mut self, place: &str, schema: &Value, table: &mut DeTable<'_>) {
        let Some(known) = keys(schema) else { return };
        let mut unknown = Vec::new();
        for (key, value) in table.iter_mut() {
            let path = joined(place, key.get_ref());
            match known.get(&**key.get_ref()) {
                Some(schema) => self.value(&path, schema, value),
                None => unknown.push((key.get_ref().to_string(), path, key.span().start)),
            }
        }
        for (key, ..) in &unknown {
            table.remove(&**key);
        }
        if unknown.is_empty() {
            self.missing(place, schema, table);
        }
        for (key, path, at) in unknown {
            let hint = self.hint(place, &key, known.keys());
            let text = format!("unknown key `{path}` in {}; {hint}", self.document.place(at));
            // A section that there is not may have been meant as any.
            self.document.take_down(if place.is_empty() { "" } else { &path }, at, text);
        }
    }

    /// Tells what a table lacks, unless it has an unknown key, which may be that in other letters.
    fn missing(&mut self, place: &str, schema: &Value, table: &DeTable<'_>) {
        let needed = table_of(schema).and_then(|schema| schema["required"].as_array());
        let needed = needed.into_iter().flatten().filter_map(Value::as_str);
        let missing: Vec<_> =
            needed.filter(|key| !table.contains_key(*key)).map(|key| format!("missing field `{key}`")).collect();
        if !missing.is_empty() {
            self.document.unreadable(place, missing.join(", "));
        }
    }

    fn value(&mut self, path: &str, schema: &Value, value: &mut Spanned<DeValue<'_>>) {
        self.document.keys.push(Key { path: path.to_owned(), value: value.span() });
        match value.get_mut() {
            DeValue::Table(table) if schema["type"] != "array" => self.table(path, schema, table),
            DeValue::Array(entries) => {
                for (index, entry) in entries.iter_mut().enumerate() {
                    self.value(&format!("{path}[{index}]"), &schema["items"], entry);
                }
            }
            DeValue::String(text) if schema.get("x-path").is_some() => {
                let folder = self.document.path.and_then(Path::parent).unwrap_or(Path::new(""));
                match folder.join(&**text).into_os_string().into_string() {
                    Ok(beside) => *text = beside.into(),
                    Err(_) => {
                        self.document.unreadable(path, "this is relative to a directory whose name is not UTF-8");
                    }
                }
            }
            _ => {}
        }
    }

    /// What may have been meant by an unknown key: one much like it in the same table, or else in another one.
    fn hint<'a>(&self, place: &str, key: &str, known: impl Iterator<Item = &'a String> + Clone) -> String {
        let distance = |known: &str| strsim::damerau_levenshtein(known, &key.to_lowercase().replace('-', "_"));
        let near = |(_, known): &(&str, &String)| distance(known) <= (key.len() / 3).max(1);
        let here = known.clone().map(|known| (place, known)).filter(near);
        let elsewhere = self.tables.iter().flat_map(|(table, keys)| keys.iter().map(|known| (&**table, known)));
        let nearest = here.min_by_key(|(_, known)| distance(known));
        match nearest.or_else(|| elsewhere.filter(near).min_by_key(|(_, known)| distance(known))) {
            Some((table, near)) => format!("did you mean `{}`?", joined(table, near)),
            None => {
                let known: Vec<_> = known.map(|known| format!("`{known}`")).collect();
                format!("there are {}", known.join(", "))
            }
        }
    }
}

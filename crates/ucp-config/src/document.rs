//! The configuration file as it was written: where each key stands, and what is wrong with it.
//!
//! A mistake in the form of a file (an unknown key, a value that does not fit) does not hide another one. What follows
//! from the values is judged of sections that are well-formed, and of none if a section is not that the others depend
//! on.

use std::{
    ffi::OsString,
    fmt, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    mem,
    ops::Range,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::{
    Spanned,
    de::{DeTable, DeValue, Deserializer},
};
use ucp_payment::Secret;

use super::{
    ConfigError, Environment,
    schema::{FORMER, PROCESS, SHOP, keys, schema, table as table_of, values},
    sections::{Sections, ShopEntry},
};

/// The sections that others depend on. What is in none is a key of the file itself.
const DECISIVE: [&str; 4] = ["", "server", "callers", "profiles"];

/// The keys by which a shop of several is selected.
const SELECTING: [&str; 3] = ["name", "hosts", "path"];

/// A file that was read, or none.
#[derive(Default)]
pub(super) struct File<'a> {
    path: Option<&'a Path>,
    text: &'a str,
    keys: Vec<Key>,
}

/// Content of a file, or of a part of it that is about one shop.
pub(super) struct Document<'a> {
    file: File<'a>,
    /// Keys and sections that one of several shops inherits unless it states them itself.
    inherited: Option<Inherited<'a>>,
    environment: Environment<'a>,
    /// The sections that are not well-formed.
    malformed: Vec<String>,
    mistakes: Vec<Mistake>,
    warnings: Vec<String>,
    /// Hash of all values, with the content of the files that they name.
    fingerprint: DefaultHasher,
}

/// The part of a file that shops inherit.
struct Inherited<'a> {
    /// Name of the shop that inherits it.
    shop: String,
    file: &'a File<'a>,
    /// Keys and sections that the shop states in another way, so that these are not inherited.
    replaced: Vec<String>,
}

/// A key of the file, or an entry of an array.
struct Key {
    /// Its name with the tables that it is in, such as `server.listen` or `platform[0].name`.
    path: String,
    /// Byte range of its value.
    value: Range<usize>,
}

struct Mistake {
    at: usize,
    text: String,
}

/// The values of a file, but for those that cannot be read.
pub(super) struct Values<'a> {
    table: DeTable<'a>,
    /// Those of several shops.
    pub(super) shops: Vec<DeTable<'a>>,
}

impl<'a> Document<'a> {
    /// Reads the text of a file, with all mistakes in its form.
    pub(super) fn read(
        path: Option<&'a Path>,
        text: &'a str,
        environment: Environment<'a>,
    ) -> (Self, Values<'a>, Sections) {
        let file = File { path, text, keys: Vec::new() };
        let mut document = Self::of(file, None, environment);
        let (mut table, shops) = document.parsed();
        document.walk(&mut table);
        let sections = document.fit(&mut table);
        (document, Values { table, shops }, sections)
    }

    fn of(file: File<'a>, inherited: Option<Inherited<'a>>, environment: Environment<'a>) -> Self {
        let (malformed, mistakes, warnings) = (Vec::new(), Vec::new(), Vec::new());
        Self { file, inherited, environment, malformed, mistakes, warnings, fingerprint: DefaultHasher::new() }
    }

    /// Begins to read the part of a file that is about one shop of several.
    pub(super) fn of_shop(path: Option<&'a Path>, text: &'a str, environment: Environment<'a>) -> Self {
        Self::of(File { path, text, keys: Vec::new() }, None, environment)
    }

    /// Reads what selects a shop of several. The shop is called `name` where its table does not say it.
    pub(super) fn selected(&mut self, table: &mut DeTable<'_>, name: &str) -> ShopEntry {
        let mut selecting = DeTable::new();
        for key in SELECTING {
            if let Some((name, value)) = table.remove_entry(key) {
                self.file.keys.push(Key { path: key.to_owned(), value: value.span() });
                selecting.insert(name, value);
            }
        }
        let mut entry: ShopEntry = self.fit(&mut selecting);
        let name = entry.name.get_or_insert_with(|| name.to_owned()).clone();
        self.inherited = Some(Inherited { shop: name, file: &NONE, replaced: Vec::new() });
        entry
    }

    /// Reads the sections of a shop: what its table states, and what it inherits from the file `from` otherwise.
    pub(super) fn inherit(&mut self, mut table: DeTable<'a>, from: &'a File<'a>, values: &Values<'a>) -> Sections {
        self.walk(&mut table);
        // Its own values alone: those that are inherited were found to be in order before.
        drop(self.fit::<Sections>(&mut table));
        let mut replaced = Vec::new();
        let mut whole = values.table.clone();
        if states_another_backend(&table, &whole) {
            whole.remove("upstream");
            replaced.push("upstream".to_owned());
        }
        merge("", &mut whole, table, &mut replaced);
        if let Some(inherited) = &mut self.inherited {
            (inherited.file, inherited.replaced) = (from, replaced);
        }
        digest(&whole, Some(schema()), &mut self.fingerprint);
        self.fit(&mut whole)
    }

    /// Returns the tables of the file: that of the root, and those of several shops.
    fn parsed(&mut self) -> (DeTable<'a>, Vec<DeTable<'a>>) {
        let text = self.file.text;
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
            return (DeTable::new(), Vec::new());
        }
        let mut shops = Vec::new();
        if let Some((_, several)) = table.get_mut().remove_entry(SHOP) {
            let at = several.span().start;
            match several.into_inner() {
                DeValue::Array(entries) => {
                    for entry in entries {
                        let at = entry.span().start;
                        match entry.into_inner() {
                            DeValue::Table(table) => shops.push(table),
                            _ => self.no_shop(at),
                        }
                    }
                }
                _ => self.no_shop(at),
            }
        }
        (mem::take(table.get_mut()), shops)
    }

    fn no_shop(&mut self, at: usize) {
        let text = format!("`{SHOP}` in {}: expected tables, each begun with `[[{SHOP}]]`", self.place(at));
        self.take_down("", at, text);
    }

    /// Reads the text of a file of its own that is about one shop. Fails with the mistakes in its syntax.
    pub(super) fn shop_file(
        path: &'a Path,
        text: &'a str,
        environment: Environment<'a>,
    ) -> Result<DeTable<'a>, ConfigError> {
        let mut document = Self::of(File { path: Some(path), text, keys: Vec::new() }, None, environment);
        let (table, shops) = document.parsed();
        if !shops.is_empty() {
            let text = format!("`{SHOP}` in {}: the file is about one shop itself", path.display());
            document.take_down("", 0, text);
        }
        document.settle(table)
    }

    /// Notes where the keys of a table stand, and takes those out that there are not.
    fn walk(&mut self, table: &mut DeTable<'_>) {
        static TABLES: LazyLock<Vec<(String, Vec<String>)>> = LazyLock::new(|| tables("", schema()));
        Walk { document: self, tables: &TABLES }.table("", schema(), table);
    }

    /// Deserializes a table without the values that do not fit, which are reported.
    fn fit<T: Default + for<'de> Deserialize<'de>>(&mut self, table: &mut DeTable<'_>) -> T {
        loop {
            let whole = Spanned::new(0..0, table.clone());
            let error = match T::deserialize(Deserializer::from(whole)) {
                Ok(fitting) => return fitting,
                Err(error) => error,
            };
            let place = self.refuse(&error);
            if !place.is_some_and(|place| remove(table, &place)) {
                return T::default();
            }
        }
    }

    /// Returns the path of the file, made absolute; `None` without a file.
    pub(super) fn path(&self) -> Option<PathBuf> {
        self.file.path.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// Returns the variables of the environment.
    pub(super) const fn environment(&self) -> Environment<'a> {
        self.environment
    }

    /// Returns the number that everything that was read amounts to.
    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint.finish()
    }

    /// Gives up the file, for shops to inherit. Fails with all mistakes.
    pub(super) fn into_file(mut self) -> Result<File<'a>, ConfigError> {
        let file = mem::take(&mut self.file);
        self.settle(file)
    }

    /// Takes down what was not read, and returns where the value stands that it is about. The parser's own words show
    /// the line itself, which may hold a secret.
    fn refuse(&mut self, error: &toml::de::Error) -> Option<Range<usize>> {
        let (problem, span) = (error.message(), error.span().unwrap_or_default());
        let around = |key: &&Key| key.value.start <= span.start && span.end <= key.value.end;
        // Of the values around the place, the innermost: the shortest, and of those the one that was reached last.
        let Some(key) = self.file.keys.iter().rev().filter(around).min_by_key(|key| key.value.len()) else {
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
        self.file.place(at)
    }

    /// Returns `true` if the file has this key, or the one that a shop inherits it from.
    pub(super) fn has(&self, key: &str) -> bool {
        self.file.value_of(key).is_some() || self.inherited_value(key).is_some()
    }

    /// Returns `true` if a shop of several states this key itself.
    pub(super) fn states(&self, key: &str) -> bool {
        self.inherited.is_some() && self.file.value_of(key).is_some()
    }

    /// A value does not fit, whatever others are.
    pub(super) fn unfit(&mut self, key: &str, problem: impl fmt::Display) {
        let at = self.file.value_of(key).map_or(self.file.text.len(), |value| value.start);
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
        self.mistakes.push(Mistake { at: self.file.text.len(), text });
    }

    /// Says that a value does not go together with others, and that there is none of what it is for.
    pub(super) fn none<T>(&mut self, key: &str, problem: impl fmt::Display) -> Option<T> {
        self.add(key, problem);
        None
    }

    /// Returns what a value leads to, if it leads to anything.
    pub(super) fn led<T>(&mut self, key: &str, result: Result<T, impl fmt::Display>) -> Option<T> {
        result.map_err(|problem| self.add(key, problem)).ok()
    }

    /// Refuses the keys of the table at `at` that mean something only with other values of its first key than `own`: those
    /// that the file has, and one that a flag states.
    pub(super) fn refuse_foreign(&mut self, at: &str, own: impl Serialize, flag: Option<&str>) {
        let own = serde_json::to_value(own).unwrap_or_default();
        let Some(table) = keys(&schema()["properties"][section(at)]) else { return };
        let tag = table.keys().next().map_or("", |tag| tag);
        for (key, schema) in table {
            let Some(only) = schema.get("x-only") else { continue };
            let path = format!("{at}.{key}");
            if values(only).all(|only| own != *only) && (flag == Some(key) || self.has(&path)) {
                let only = values(only).collect::<Vec<_>>().join("` or `");
                self.add(&path, format_args!("this means something with the {tag} `{only}` only"));
            }
        }
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
        let of_shop = self.of_which();
        let inherited = || Some((self.inherited_value(key)?, self.inherited.as_ref()?.file));
        let place = self.file.value_of(key).map(|value| self.place(value.start));
        let place = place.or_else(|| inherited().map(|(value, file)| file.place(value.start)));
        match place {
            Some(place) => format!("`{key}`{of_shop} in {place}: {problem}"),
            None if self.file.path.is_some() => format!("`{key}`{of_shop} in {}: {problem}", self.file.name()),
            None => format!("`{key}`{of_shop}: {problem}"),
        }
    }

    /// Names the shop that the document is about, if it is about one of several.
    fn of_which(&self) -> String {
        self.inherited.as_ref().map_or_else(String::new, |inherited| format!(" of shop `{}`", inherited.shop))
    }

    fn inherited_value(&self, key: &str) -> Option<&Range<usize>> {
        let Inherited { file, replaced, .. } = self.inherited.as_ref()?;
        let is_replaced = replaced.iter().any(|replaced| replaced == key || replaced == section(key));
        file.value_of(key).filter(|_| !is_replaced)
    }

    /// The content of a file.
    pub(super) fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, String> {
        let bytes = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        bytes.hash(&mut self.fingerprint);
        Ok(bytes)
    }

    /// Takes notice of a file whose content is too large to be read for it: of its length, and of when it was changed.
    #[cfg(feature = "directory")]
    pub(super) fn note_change(&mut self, path: &Path) {
        if let Ok(metadata) = fs::metadata(path) {
            (metadata.len(), metadata.modified().ok()).hash(&mut self.fingerprint);
        }
    }

    /// The text of a file.
    pub(super) fn text(&mut self, path: &Path) -> Result<String, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        text.hash(&mut self.fingerprint);
        Ok(text)
    }

    /// The value of a variable of the environment.
    pub(super) fn variable(&mut self, name: &str) -> Result<String, String> {
        match (self.environment)(name).map(OsString::into_string) {
            Some(Ok(text)) => {
                text.hash(&mut self.fingerprint);
                Ok(text)
            }
            Some(Err(_)) => Err(format!("the value of `{name}` is not UTF-8")),
            None => Err(format!("environment variable `{name}` is not set")),
        }
    }

    /// The secret that one of two keys leads to, which are called like `key` with `_file` or `_env` behind it.
    pub(super) fn secret(&mut self, key: &str, file: Option<&Path>, variable: Option<&str>) -> Option<Secret> {
        let (key, text) = match (file, variable) {
            (Some(path), _) => (format!("{key}_file"), self.text(path)),
            (None, Some(name)) => (format!("{key}_env"), self.variable(name)),
            (None, None) => return None,
        };
        self.led(&key, text.and_then(|text| text.parse::<Secret>().map_err(|error| error.to_string())))
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

impl File<'_> {
    /// A place in the file, as people count.
    fn place(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let (line, column) =
            (before.matches('\n').count(), before.rsplit('\n').next().map_or(0, |line| line.chars().count()));
        format!("{}, line {}, column {}", self.name(), line + 1, column + 1)
    }

    fn name(&self) -> impl fmt::Display {
        self.path.unwrap_or(Path::new("")).display()
    }

    /// Returns the byte range of the value of a key.
    fn value_of(&self, key: &str) -> Option<&Range<usize>> {
        self.keys.iter().find(|candidate| candidate.path == key).map(|key| &key.value)
    }
}

/// No file, which nothing is inherited from.
static NONE: File<'static> = File { path: None, text: "", keys: Vec::new() };

/// Returns `true` if a shop states another backend than it would inherit.
fn states_another_backend(own: &DeTable<'_>, inherited: &DeTable<'_>) -> bool {
    let backend = |table: &DeTable<'_>| {
        let DeValue::Table(upstream) = table.get("upstream")?.get_ref() else { return None };
        upstream.get("backend")?.get_ref().as_str().map(str::to_owned)
    };
    backend(own).is_some_and(|own| backend(inherited).is_none_or(|inherited| inherited != own))
}

/// Puts what one table says over what another says, and notes what is no longer said.
fn merge<'a>(place: &str, whole: &mut DeTable<'a>, own: DeTable<'a>, replaced: &mut Vec<String>) {
    for (key, value) in own {
        let path = joined(place, key.get_ref());
        // A secret is in one of two places.
        let (file, variable) = (path.strip_suffix("_file"), path.strip_suffix("_env"));
        for (of, other) in [(file, "_env"), (variable, "_file")] {
            if let Some(path) = of {
                let other = format!("{path}{other}");
                whole.remove(other.rsplit('.').next().unwrap_or_default());
                replaced.push(other);
            }
        }
        match (value.get_ref(), whole.get_mut(&**key.get_ref()).map(Spanned::get_mut)) {
            (DeValue::Table(_), Some(DeValue::Table(inherited))) if !is_value(&path) => {
                let DeValue::Table(own) = value.into_inner() else { continue };
                merge(&path, inherited, own, replaced);
            }
            _ => {
                replaced.push(path);
                whole.insert(key, value);
            }
        }
    }
}

/// Returns `true` if a table is one value, such as a rate.
fn is_value(path: &str) -> bool {
    path.contains('.')
}

/// Adds what a table says to a fingerprint, wherever it stands, but for what belongs to the process.
fn digest(table: &DeTable<'_>, known: Option<&Value>, into: &mut DefaultHasher) {
    for (key, value) in table {
        let known = known.and_then(keys).and_then(|keys| keys.get(&**key.get_ref()));
        if known.is_none_or(|known| known.get(PROCESS).is_none()) {
            key.get_ref().hash(into);
            digest_value(value.get_ref(), known, into);
        }
    }
}

fn digest_value(value: &DeValue<'_>, known: Option<&Value>, into: &mut DefaultHasher) {
    match value {
        DeValue::Table(table) => digest(table, known, into),
        DeValue::Array(entries) => {
            entries.len().hash(into);
            entries.iter().for_each(|entry| digest_value(entry.get_ref(), known, into));
        }
        DeValue::String(text) => text.hash(into),
        DeValue::Boolean(value) => value.hash(into),
        DeValue::Integer(number) => number.to_string().hash(into),
        DeValue::Float(number) => number.to_string().hash(into),
        DeValue::Datetime(time) => time.to_string().hash(into),
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
    let inner =
        keys.iter().filter(|(key, _)| *key != SHOP).flat_map(|(key, schema)| tables(&joined(table, key), schema));
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
        for (key, schema) in known {
            if let Some(former) = schema.get(FORMER).and_then(Value::as_str) {
                self.rename(place, former, key, table);
            }
        }
        let (mut unknown, mut foreign) = (Vec::new(), Vec::new());
        for (key, value) in table.iter_mut() {
            let path = joined(place, key.get_ref());
            match known.get(&**key.get_ref()) {
                Some(schema) if self.document.inherited.is_some() && schema.get(PROCESS).is_some() => {
                    foreign.push((key.get_ref().to_string(), path, key.span().start));
                }
                Some(schema) => self.value(&path, schema, value),
                None => unknown.push((key.get_ref().to_string(), path, key.span().start)),
            }
        }
        for (key, ..) in unknown.iter().chain(&foreign) {
            table.remove(&**key);
        }
        for (_, path, at) in foreign {
            let (of_shop, place) = (self.document.of_which(), self.document.place(at));
            let text = format!(
                "`{path}`{of_shop} in {place}: this belongs to the process, and is the same for all shops; it must stand \
                 outside of the shop"
            );
            self.document.mistakes.push(Mistake { at, text });
        }
        if unknown.is_empty() {
            self.missing(place, schema, table);
        }
        for (key, path, at) in unknown {
            let hint = self.hint(place, &key, known.keys());
            let (of_shop, place) = (self.document.of_which(), self.document.place(at));
            let text = format!("unknown key `{path}`{of_shop} in {place}; {hint}");
            // A section that there is not may have been meant as any.
            self.document.take_down(if place.is_empty() { "" } else { &path }, at, text);
        }
    }

    /// Takes a key under its former name, with a warning, unless the table has it under both.
    fn rename(&mut self, place: &str, former: &str, key: &str, table: &mut DeTable<'_>) {
        if table.contains_key(key) {
            return;
        }
        if let Some((name, value)) = table.remove_entry(former) {
            let (path, of_shop) = (joined(place, former), self.document.of_which());
            let file = self.document.place(name.span().start);
            self.document.warnings.push(format!(
                "`{path}`{of_shop} in {file}: this key is now called `{key}`; the next version accepts only that name"
            ));
            table.insert(Spanned::new(name.span(), key.to_owned().into()), value);
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
        self.document.file.keys.push(Key { path: path.to_owned(), value: value.span() });
        match value.get_mut() {
            DeValue::Table(table) if schema["type"] != "array" => self.table(path, schema, table),
            DeValue::Array(entries) => {
                for (index, entry) in entries.iter_mut().enumerate() {
                    self.value(&format!("{path}[{index}]"), &schema["items"], entry);
                }
            }
            DeValue::String(text) if schema.get("x-path").is_some() => {
                let folder = self.document.file.path.and_then(Path::parent).unwrap_or(Path::new(""));
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

    /// Returns a hint for an unknown key: a similar key of the same table, or else of another one, or else all known
    /// keys.
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

//! A file of Rust, read as closely as it takes to see what it names.
//!
//! Names that macros make are not seen, and a module within a file is taken for a part of it.

/// A path as it is written, such as `crate::money::Amount`, in its parts.
pub(super) type Path = Vec<String>;

/// Names in a file, except those in its tests.
#[derive(Default)]
pub(super) struct Source {
    /// Imports of the file, and re-exports.
    pub(super) imports: Vec<Import>,
    /// The paths elsewhere.
    elsewhere: Vec<Path>,
}

/// Something that is imported.
pub(super) struct Import {
    /// Path of the import.
    pub(super) path: Path,
    /// Local name of the import; `*` for all names.
    pub(super) name: String,
}

impl Source {
    /// Names in a text.
    pub(super) fn read(text: &str) -> Self {
        let (mut source, tokens) = (Self::default(), tokens(text));
        let mut rest = &tokens[..];
        while let Some((token, after)) = rest.split_first() {
            rest = match rest.strip_prefix(&["#", "[", "cfg", "(", "test", ")", "]"]) {
                Some(item) => behind_item(item),
                // `use<…>` is part of a type.
                None if *token == "use" && after.first() != Some(&"<") => source.import(&[], after),
                None => source.path(rest),
            };
        }
        source
    }

    /// All paths that are in it.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.imports.iter().map(|import| &import.path).chain(&self.elsewhere)
    }

    /// Reads an import below `start`, and yields what follows it.
    fn import<'a>(&mut self, start: &[String], tokens: &'a [&'a str]) -> &'a [&'a str] {
        let (mut path, mut name, mut rest) = (start.to_vec(), None, tokens);
        while let Some((token, after)) = rest.split_first() {
            match *token {
                "," | ";" | "}" => break,
                "{" => return self.imports(&path, after),
                "as" => name = after.first(),
                "*" => name = Some(token),
                "self" if !path.is_empty() => {}
                word if is_word(word) && name.is_none() => path.push(word.to_owned()),
                _ => {}
            }
            rest = after;
        }
        // Behind the last comma there is nothing.
        if rest.len() < tokens.len() {
            let name = name.map_or_else(|| path.last().cloned(), |name| Some((*name).to_owned()));
            self.imports.push(Import { path, name: name.unwrap_or_default() });
        }
        rest
    }

    /// Reads imports below `start` up to the bracket that ends them, and yields what follows it.
    fn imports<'a>(&mut self, start: &[String], tokens: &'a [&'a str]) -> &'a [&'a str] {
        let mut rest = tokens;
        loop {
            rest = self.import(start, rest);
            match rest.split_first() {
                Some((&"}", after)) => return after,
                Some((_, after)) => rest = after,
                None => return rest,
            }
        }
    }

    /// Reads the path that there may be, and yields what follows it.
    fn path<'a>(&mut self, tokens: &'a [&'a str]) -> &'a [&'a str] {
        let parts = 1 + tokens[1..].chunks_exact(2).take_while(|next| next[0] == "::" && is_word(next[1])).count();
        let (path, rest) = tokens.split_at(2 * parts - 1);
        if parts > 1 && is_word(path[0]) {
            self.elsewhere.push(path.iter().step_by(2).map(|part| (*part).to_owned()).collect());
        }
        rest
    }
}

/// Rest of an item, which ends with a semicolon or with its block.
fn behind_item<'a>(tokens: &'a [&'a str]) -> &'a [&'a str] {
    let mut open = 0;
    for (place, token) in tokens.iter().enumerate() {
        match *token {
            "{" => open += 1,
            "}" => open -= 1,
            _ => {}
        }
        if open == 0 && matches!(*token, ";" | "}") {
            return &tokens[place + 1..];
        }
    }
    &[]
}

fn is_word(token: &str) -> bool {
    token.starts_with(is_letter)
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The words and signs of a text, without white space, comments and literals.
fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let silent = silence(rest);
        let (token, after) = rest.split_at(match silent {
            Some(length) => length,
            None if is_letter(first) => rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len()),
            None if rest.starts_with("::") => 2,
            None => first.len_utf8(),
        });
        if silent.is_none() {
            tokens.push(token);
        }
        rest = after;
    }
    tokens
}

/// The length of the white space, the comment or the literal that a text begins with.
fn silence(text: &str) -> Option<usize> {
    let mut letters = text.chars();
    let (first, second, third) = (letters.next()?, letters.next(), letters.next());
    match (first, second) {
        ('/', Some('/')) => Some(text.find('\n').unwrap_or(text.len())),
        ('/', Some('*')) => Some(text.find("*/").map_or(text.len(), |end| end + 2)),
        ('"', _) | ('\'', Some('\\')) => Some(literal(text)),
        // Not a lifetime.
        ('\'', Some(_)) if third == Some('\'') => Some(literal(text)),
        ('r' | 'b' | 'c', _) => raw_literal(text),
        _ => first.is_whitespace().then(|| first.len_utf8()),
    }
}

/// The length of the literal that a text begins with, up to the next quotation mark like its first.
fn literal(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let ends = !escaped && text.starts_with(*letter);
        escaped = !escaped && *letter == '\\';
        ends
    });
    end.map_or(text.len(), |(end, _)| end + 1)
}

/// The length of the literal without escapes that a text begins with, such as `r#"…"#`.
fn raw_literal(text: &str) -> Option<usize> {
    let behind = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let quoted = behind.trim_start_matches('#');
    let end = format!("\"{}", &behind[..behind.len() - quoted.len()]);
    let content = quoted.strip_prefix('"')?;
    Some(text.len() - content.len() + content.find(&end).map_or(content.len(), |place| place + end.len()))
}

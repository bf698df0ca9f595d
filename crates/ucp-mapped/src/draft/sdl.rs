//! Types of a GraphQL schema, from the schema definition language.

use super::{
    Undrafted,
    schema::{Field, Schema, Type, TypeRef},
};

/// Maximum nesting of lists in a type.
const MAX_LISTS: usize = 8;

struct Reader<'s> {
    tokens: Vec<&'s str>,
    at: usize,
}

/// Reads a schema.
pub(super) fn read(text: &str) -> Result<Schema, Undrafted> {
    let mut reader = Reader { tokens: tokens(text), at: 0 };
    let mut schema = Schema { query: "Query".to_owned(), mutation: Some("Mutation".to_owned()), ..Schema::default() };
    while let Some(word) = reader.next() {
        match word {
            "extend" => {}
            "type" | "interface" | "input" => {
                let Some(name) = reader.next() else { break };
                let implemented = reader.implements();
                reader.directives();
                let fields = reader.fields()?;
                let own = schema.types.entry(name.to_owned()).or_default();
                own.fields.extend(fields);
                own.is_input = word == "input";
                for interface in implemented {
                    schema.types.entry(interface.to_owned()).or_default().possible.push(name.to_owned());
                }
            }
            "union" => {
                let Some(name) = reader.next() else { break };
                reader.directives();
                let mut own = Type { is_union: true, ..Type::default() };
                if reader.take("=") {
                    reader.take("|");
                    own.possible.extend(reader.next().map(str::to_owned));
                    while reader.take("|") {
                        own.possible.extend(reader.next().map(str::to_owned));
                    }
                }
                schema.types.insert(name.to_owned(), own);
            }
            "schema" => {
                reader.directives();
                reader.expect("{")?;
                while !reader.take("}") {
                    let (Some(root), true, Some(name)) = (reader.next(), reader.take(":"), reader.next()) else {
                        return Err(reader.unreadable("`query: Type`"));
                    };
                    match root {
                        "query" => name.clone_into(&mut schema.query),
                        "mutation" => schema.mutation = Some(name.to_owned()),
                        _ => {}
                    }
                }
            }
            "enum" | "scalar" | "directive" => {
                reader.next();
                // Values of enumerations and places of directives say nothing here.
                reader.skip_definition();
            }
            _ => return Err(reader.unreadable("a definition, such as `type Product { … }`")),
        }
    }
    if schema.fields(&schema.query).is_empty() {
        return Err(Undrafted::Unreadable(format!("must define the type `{}` with its fields", schema.query)));
    }
    Ok(schema)
}

/// Returns the tokens of a text, without comments, commas and descriptions.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' if rest.starts_with("\"\"\"") => {
                let mut end = 3;
                loop {
                    match rest[end..].find("\"\"\"") {
                        Some(found) if rest[..end + found].ends_with('\\') => end += found + 3,
                        Some(found) => break end + found + 3,
                        None => break rest.len(),
                    }
                }
            }
            '"' => {
                let mut escaped = false;
                let end = rest.char_indices().skip(1).find(|(_, letter)| {
                    let ends = *letter == '"' && !escaped;
                    escaped = *letter == '\\' && !escaped;
                    ends
                });
                end.map_or(rest.len(), |(at, _)| at + 1)
            }
            letter if letter.is_whitespace() || letter == ',' || letter == '\u{feff}' => first.len_utf8(),
            letter if letter.is_alphanumeric() || letter == '_' || letter == '-' => {
                let length = rest.find(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.')));
                let length = length.unwrap_or(rest.len());
                tokens.push(&rest[..length]);
                length
            }
            _ => {
                tokens.push(&rest[..first.len_utf8()]);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    tokens
}

impl<'s> Reader<'s> {
    fn next(&mut self) -> Option<&'s str> {
        let token = self.tokens.get(self.at).copied();
        self.at += usize::from(token.is_some());
        token
    }

    fn peek(&self) -> Option<&'s str> {
        self.tokens.get(self.at).copied()
    }

    fn take(&mut self, token: &str) -> bool {
        let there = self.peek() == Some(token);
        self.at += usize::from(there);
        there
    }

    fn unreadable(&self, expected: &str) -> Undrafted {
        let from = self.at.saturating_sub(6);
        let near = self.tokens.get(from..self.at.min(self.tokens.len())).unwrap_or_default().join(" ");
        Undrafted::Unreadable(format!("must be a schema in SDL: expected {expected} after `{near}`"))
    }

    fn expect(&mut self, token: &str) -> Result<(), Undrafted> {
        if self.take(token) { Ok(()) } else { Err(self.unreadable(&format!("`{token}`"))) }
    }

    fn implements(&mut self) -> Vec<&'s str> {
        let mut names = Vec::new();
        if self.take("implements") {
            self.take("&");
            names.extend(self.next());
            while self.take("&") {
                names.extend(self.next());
            }
        }
        names
    }

    /// Skips `@name(…)`.
    fn directives(&mut self) {
        while self.take("@") {
            self.next();
            if self.peek() == Some("(") {
                self.skip_balanced("(", ")");
            }
        }
    }

    fn skip_balanced(&mut self, open: &str, close: &str) {
        let mut depth = 0_usize;
        while let Some(token) = self.next() {
            depth += usize::from(token == open);
            if token == close {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
        }
    }

    /// Skips what belongs to an enumeration, a scalar or a directive, up to the next definition.
    fn skip_definition(&mut self) {
        const DEFINITIONS: [&str; 9] =
            ["type", "interface", "input", "union", "enum", "scalar", "directive", "schema", "extend"];
        while let Some(token) = self.peek() {
            match token {
                "{" => self.skip_balanced("{", "}"),
                "(" => self.skip_balanced("(", ")"),
                token if DEFINITIONS.contains(&token) => break,
                _ => self.at += 1,
            }
        }
    }

    fn fields(&mut self) -> Result<Vec<Field>, Undrafted> {
        let mut fields = Vec::new();
        if !self.take("{") {
            return Ok(fields);
        }
        while !self.take("}") {
            let Some(name) = self.next() else { return Err(self.unreadable("`}`")) };
            let mut arguments = Vec::new();
            if self.take("(") {
                while !self.take(")") {
                    let Some(argument) = self.next() else { return Err(self.unreadable("`)`")) };
                    arguments.push((argument.to_owned(), self.typed()?));
                }
            }
            fields.push(Field { name: name.to_owned(), arguments, of: self.typed()? });
        }
        Ok(fields)
    }

    /// Reads `: Type = default @directives`.
    fn typed(&mut self) -> Result<TypeRef, Undrafted> {
        self.expect(":")?;
        let of = self.type_ref(MAX_LISTS)?;
        if self.take("=") {
            match self.peek() {
                Some("[") => self.skip_balanced("[", "]"),
                Some("{") => self.skip_balanced("{", "}"),
                _ => drop(self.next()),
            }
        }
        self.directives();
        Ok(of)
    }

    fn type_ref(&mut self, depth: usize) -> Result<TypeRef, Undrafted> {
        let mut of = if self.take("[") {
            if depth == 0 {
                return Err(self.unreadable("lists that are nested less deep"));
            }
            let inner = self.type_ref(depth - 1)?;
            self.expect("]")?;
            TypeRef { is_list: true, is_required: false, text: format!("[{}]", inner.text), name: inner.name }
        } else {
            let name = self.next().ok_or_else(|| self.unreadable("a type"))?.to_owned();
            TypeRef { text: name.clone(), name, is_list: false, is_required: false }
        };
        if self.take("!") {
            of.is_required = true;
            of.text.push('!');
        }
        Ok(of)
    }
}

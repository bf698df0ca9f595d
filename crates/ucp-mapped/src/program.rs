//! jq programs of the operator: what they may name, where they are wrong, and what they yield.
//!
//! A program is compiled by jaq. It has jq's filters but for those that read what is outside of it (environment, clock,
//! files, further inputs), print, or have no bound of their own; and it may not call itself. What still runs away is
//! ended from outside: programs run in a process of their own.

use std::{fmt, thread};

use jaq_core::{
    Compiler, Ctx, Error, Native, RunPtr, ValR, Vars, data,
    load::{
        Arena, File, Loader,
        lex::{Lexer, StrPart, Token},
        parse::{BinaryOp, Def, Expect, Parser, Pattern, Term},
        span,
    },
    native::{Filter, Fun, bome, unary, v},
    path::Part,
};
use jaq_json::{Num, Val, read};
use jaq_std::ValT as _;
use ucp_core::money::Currency;

use super::decimal::{self, Rounding};

/// Maximum size of a program in bytes.
pub const MAX_PROGRAM: usize = 16 << 10;

/// Stack of the threads on which programs are compiled and run.
pub(super) const STACK: usize = 256 << 20;

/// Filters that programs may not call, and the reason. It completes "`…` is not available: …".
pub(super) const FORBIDDEN: [(&str, &str); 18] = [
    ("debug", "programs print nothing"),
    ("debug_empty", "programs print nothing"),
    ("env", "programs read no environment"),
    ("halt", "a program ends with its value or `error`"),
    ("halt_error", "a program ends with its value or `error`"),
    ("input", "a program has one input"),
    ("input_filename", "a program has one input"),
    ("input_line_number", "a program has one input"),
    ("inputs", "a program has one input"),
    ("localtime", "programs know no time zone; use `gmtime`"),
    ("now", "use `$now`, the time of the question"),
    ("recurse", "it has no bound; use `..`"),
    ("repeat", "it has no bound"),
    ("stderr", "programs print nothing"),
    ("stderr_empty", "programs print nothing"),
    ("strflocaltime", "programs know no time zone; use `strftime`"),
    ("until", "it has no bound; use `reduce` or `foreach`"),
    ("while", "it has no bound; use `reduce` or `foreach`"),
];

/// Native filters of jaq that are not even compiled in.
const REMOVED: [&str; 7] = ["debug_empty", "env", "halt", "localtime", "now", "stderr_empty", "strflocaltime"];

/// Definitions of jaq that are built on those.
const REMOVED_DEFINITIONS: [&str; 4] = ["debug", "halt", "halt_error", "stderr"];

/// Filters of mappings that are written in jq.
const DEFINITIONS: &str = include_str!("definitions.jq");

/// Ends of the errors of filters of mappings, after what they may say about their input.
const RULES: [&str; 15] = [
    "must be a decimal such as 12.50",
    "round it in the shop's own way, by `rounded(currency; \"half_up\")`",
    "must be at most 9007199254740991 minor units",
    "must be made into minor units before computing: it was computed with floating-point arithmetic",
    "must be a text",
    "must be an ISO 4217 currency code",
    "must be the decimal mark, \".\" or \",\"",
    "the way to round must be one of \"half_up\", \"half_even\", \"up\", \"down\"",
    "must be an integer of minor units",
    "must be an amount from 0, and the quantity an integer from 1",
    "must be true or false",
    "must be a time with its offset (RFC 3339), seconds since 1970, or a date",
    "it must be at most half a minor unit for each amount",
    "the largest of the taxes must be as large as the difference that it takes",
    "what takes the difference must be \"taxes\" or \"fees\"",
];

/// Members of answers that hold money, in which no computed float may be.
const MONEY: [&str; 7] = ["amount", "delivery", "discount", "max", "min", "price", "total"];

/// Program that cannot be used, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Fault {
    /// Offset in the text of the program, in bytes.
    pub offset: usize,
    /// Reason, for the operator.
    pub reason: String,
}

/// A compiled program.
pub(super) struct Program {
    code: String,
    filter: jaq_core::Filter<Data>,
}

type Data = data::JustLut<Val>;

/// Reasons why a program yields no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The input is not to be answered for: the program yields nothing.
    Empty,
    /// The program failed.
    Error(Thrown),
    /// The value cannot be used, wherever it came from; with the path of the member.
    Unusable(String),
}

/// Error of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thrown {
    /// Text, which may quote the input.
    pub(super) text: String,
    /// The same without anything of the input.
    pub(super) rule: String,
}

/// Checks that a program can be compiled. Fails with [`Fault`].
pub fn check(code: &str, variables: &[String]) -> Result<(), Fault> {
    on_own_stack(|| Program::compile(code, variables).map(drop))
}

/// Runs a function on a thread with a stack that no program of the permitted size exhausts.
fn on_own_stack<T: Send>(function: impl FnOnce() -> Result<T, Fault> + Send) -> Result<T, Fault> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, function);
        let outcome = thread.ok().and_then(|thread| thread.join().ok());
        outcome.unwrap_or_else(|| Err(Fault { offset: 0, reason: "cannot be compiled".to_owned() }))
    })
}

impl Program {
    /// Compiles a program in which these variables (`$name`) are bound.
    pub(super) fn compile(code: &str, variables: &[String]) -> Result<Self, Fault> {
        if code.len() > MAX_PROGRAM {
            return Err(Fault { offset: 0, reason: format!("must be at most {MAX_PROGRAM} bytes long") });
        }
        let at = |part: &str, reason: String| Fault { offset: span(code, part).start.min(code.len()), reason };
        let tokens = Lexer::new(code).lex().map_err(|errors| {
            first(errors, |(expected, found)| at(found, format!("expected {}", expected.as_str())))
        })?;
        if let Some(Token(word @ ("import" | "include"), _)) = tokens.first() {
            return Err(at(word, format!("`{word}` is not available: a program is one text")));
        }
        let term = Parser::new(&tokens).parse(Parser::term).map_err(|errors| {
            first(errors, |(expected, found)| {
                let expected = match expected {
                    Expect::Nothing => "the end of the program",
                    expected => expected.as_str(),
                };
                at(Token::opt_as_str(found, code), format!("expected {expected}"))
            })
        })?;
        Names::default().term(&term).map_err(|(name, reason)| at(name, reason))?;

        let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let definitions = definitions.filter(|definition| !REMOVED_DEFINITIONS.contains(&definition.name));
        let definitions =
            definitions.chain(jaq_core::load::parse(DEFINITIONS, |parser| parser.defs()).into_iter().flatten());
        let natives = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let natives = natives.filter(|(name, ..)| !REMOVED.contains(name)).chain(natives_of_ours());
        let arena = Arena::default();
        let modules = Loader::new(definitions)
            .load(&arena, File { code, path: () })
            .map_err(|_| Fault { offset: 0, reason: "cannot be read".to_owned() })?;
        let filter = Compiler::default()
            .with_funs(natives)
            .with_global_vars(variables.iter().map(String::as_str))
            .compile(modules)
            .map_err(|files| {
                first(files.into_iter().flat_map(|(_, errors)| errors).collect(), |(name, kind)| {
                    at(name, format!("{} `{name}` is not defined", kind.as_str()))
                })
            })?;
        Ok(Self { code: code.to_owned(), filter })
    }

    /// Runs the program on a JSON text, with the values of its variables in the order in which they were named, and
    /// returns its value as JSON of at most `limit` bytes.
    pub(super) fn run(&self, input: &Val, variables: &[Val], limit: usize) -> Result<Vec<u8>, Stopped> {
        let context = Ctx::<Data>::new(&self.filter.lut, Vars::new(variables.iter().cloned()));
        let mut values = self.filter.id.run((context, input.clone()));
        let value = values.next().ok_or(Stopped::Empty)?.map_err(|exception| {
            let text = exception.get_err().map_or_else(|_| "it broke off".to_owned(), text_of);
            Stopped::Error(Thrown { rule: rule(&text, &self.code), text: ucp_import::printable(&text) })
        })?;
        if values.next().is_some() {
            let reason = "must yield one value: put several into an array".to_owned();
            return Err(Stopped::Unusable(reason));
        }
        let mut json = Vec::new();
        write(&value, &mut json, limit, &ValuePlace::Root)?;
        Ok(json)
    }
}

/// Reads JSON as programs see it: decimals keep their text, and integers any size.
pub(super) fn json(text: &[u8]) -> Option<Val> {
    read::parse_single(text).ok()
}

fn first<E>(errors: Vec<E>, fault: impl Fn(E) -> Fault) -> Fault {
    let none = || Fault { offset: 0, reason: "cannot be read".to_owned() };
    errors.into_iter().next().map_or_else(none, fault)
}

/// Text of an error, which can quote a whole input.
fn text_of(error: Error<Val>) -> String {
    let value = error.into_val();
    text(&value).map_or_else(|_| value.to_string(), str::to_owned)
}

/// Returns what the text of an error says without the input: texts of the program, and the rules of filters.
fn rule(error: &str, code: &str) -> String {
    let is_of_program = |text: &str| code.contains(&serde_json::Value::from(text).to_string());
    if is_of_program(error) {
        return ucp_import::printable(error);
    }
    let kind = |value: &str| match value.as_bytes().first() {
        Some(b'"') => "a text",
        Some(b'[') => "an array",
        Some(b'{') => "an object",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    };
    if let Some((value, key)) = error.strip_prefix("cannot index ").and_then(|rest| rest.rsplit_once(" with ")) {
        let name = key.trim_matches('"');
        let is_known = !name.is_empty() && (code.contains(&format!(".{name}")) || code.contains(key));
        return format!("{} cannot be indexed with {}", kind(value), if is_known { key } else { kind(key) });
    }
    if let Some((value, wanted)) = error.strip_prefix("cannot use ").and_then(|rest| rest.rsplit_once(" as ")) {
        return format!("{} cannot be used as {wanted}", kind(value));
    }
    if let Some(rest) = error.strip_prefix("cannot calculate ") {
        let operation = [" + ", " - ", " * ", " / ", " % "].into_iter().find(|operation| rest.contains(operation));
        return format!("cannot calculate {} {}", kind(rest), operation.unwrap_or_default().trim());
    }
    match RULES.iter().find(|rule| error.ends_with(**rule)) {
        Some(rule) if rule.starts_with("must be") && !error.starts_with("the ") => format!("{} {rule}", kind(error)),
        Some(rule) => (*rule).to_owned(),
        None => "it ended with an `error` whose text is made of its input".to_owned(),
    }
}

/// Names that a program uses, checked from the outside in.
#[derive(Default)]
struct Names<'s> {
    /// Definitions in scope, the innermost last: name, number of arguments, and whether its own body is being read.
    definitions: Vec<(&'s str, usize, bool)>,
}

type Misuse<'s> = Result<(), (&'s str, String)>;

impl<'s> Names<'s> {
    fn call(&self, name: &'s str, arguments: usize) -> Misuse<'s> {
        let known = self.definitions.iter().rev().find(|(known, arity, _)| *known == name && *arity == arguments);
        if let Some((_, _, own)) = known {
            return if *own { Err((name, format!("`{name}` must not call itself"))) } else { Ok(()) };
        }
        // Without arguments it is `..`.
        let harmless = name == "recurse" && arguments == 0;
        match FORBIDDEN.iter().find(|(forbidden, _)| *forbidden == name) {
            Some((_, reason)) if !harmless => Err((name, format!("`{name}` is not available: {reason}"))),
            _ => Ok(()),
        }
    }

    fn definition(&mut self, definition: &Def<&'s str, Term<&'s str>>) -> Misuse<'s> {
        let around = self.definitions.len();
        self.definitions.push((definition.name, definition.args.len(), true));
        let filters = definition.args.iter().filter(|argument| !argument.starts_with('$'));
        self.definitions.extend(filters.map(|argument| (*argument, 0, false)));
        let body = self.term(&definition.body);
        self.definitions.truncate(around);
        self.definitions.push((definition.name, definition.args.len(), false));
        body
    }

    fn all<'t>(&mut self, terms: impl IntoIterator<Item = &'t Term<&'s str>>) -> Misuse<'s>
    where
        's: 't,
    {
        terms.into_iter().try_for_each(|term| self.term(term))
    }

    fn pattern(&mut self, pattern: &Pattern<&'s str>) -> Misuse<'s> {
        match pattern {
            Pattern::Var(_) => Ok(()),
            Pattern::Arr(parts) => parts.iter().try_for_each(|part| self.pattern(part)),
            Pattern::Obj(parts) => parts.iter().try_for_each(|(key, part)| {
                self.term(key)?;
                self.pattern(part)
            }),
        }
    }

    fn term(&mut self, term: &Term<&'s str>) -> Misuse<'s> {
        match term {
            Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) => Ok(()),
            Term::Str(_, parts) => self.all(parts.iter().filter_map(|part| match part {
                StrPart::Term(term) => Some(term),
                StrPart::Str(_) | StrPart::Char(_) => None,
            })),
            Term::Arr(inner) => self.all(inner.as_deref()),
            Term::Obj(members) => {
                self.all(members.iter().flat_map(|(key, value)| std::iter::once(key).chain(value.as_ref())))
            }
            Term::Neg(inner) | Term::Label(_, inner) => self.term(inner),
            Term::BinOp(left, operation, right) => {
                self.term(left)?;
                if let BinaryOp::Pipe(Some(pattern)) = operation {
                    self.pattern(pattern)?;
                }
                self.term(right)
            }
            Term::Fold(_, source, pattern, parts) => {
                self.term(source)?;
                self.pattern(pattern)?;
                self.all(parts)
            }
            Term::TryCatch(body, otherwise) => {
                self.term(body)?;
                self.all(otherwise.as_deref())
            }
            Term::IfThenElse(branches, otherwise) => {
                self.all(branches.iter().flat_map(|(condition, then)| [condition, then]))?;
                self.all(otherwise.as_deref())
            }
            Term::Def(definitions, rest) => {
                let around = self.definitions.len();
                definitions.iter().try_for_each(|definition| self.definition(definition))?;
                let rest = self.term(rest);
                self.definitions.truncate(around);
                rest
            }
            Term::Call(name, arguments) => {
                self.call(name, arguments.len())?;
                self.all(arguments)
            }
            Term::Path(of, path) => {
                self.term(of)?;
                path.0.iter().try_for_each(|(part, _)| match part {
                    Part::Index(index) => self.term(index),
                    Part::Range(from, to) => self.all(from.iter().chain(to)),
                })
            }
        }
    }
}

/// Place of a value within an answer.
enum ValuePlace<'a> {
    Root,
    Member(&'a ValuePlace<'a>, &'a str),
    Element(&'a ValuePlace<'a>, usize),
}

impl ValuePlace<'_> {
    /// Returns `true` if the member around this place holds money.
    fn is_money(&self) -> bool {
        matches!(self, Self::Member(_, name) if MONEY.contains(name))
    }
}

impl fmt::Display for ValuePlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("$"),
            Self::Member(around, name) => write!(f, "{around}.{}", ucp_import::printable(name)),
            Self::Element(around, index) => write!(f, "{around}[{index}]"),
        }
    }
}

/// Maximum nesting of an answer; that of readers of JSON.
const MAX_DEPTH: usize = 100;

/// Writes a value as JSON, unless it is larger than `limit` bytes or JSON cannot say it.
fn write(value: &Val, json: &mut Vec<u8>, limit: usize, place: &ValuePlace<'_>) -> Result<(), Stopped> {
    let unusable = |reason: &str| Err(Stopped::Unusable(format!("{place} {reason}")));
    let text = |bytes: &[u8], json: &mut Vec<u8>| match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::to_writer(json, text).map_err(|_| ()),
        Err(_) => Err(()),
    };
    let depth = std::iter::successors(Some(place), |place| match place {
        ValuePlace::Root => None,
        ValuePlace::Member(around, _) | ValuePlace::Element(around, _) => Some(around),
    });
    if depth.count() > MAX_DEPTH {
        return Err(Stopped::Unusable(format!("must be nested at most {MAX_DEPTH} levels deep")));
    }
    match value {
        Val::Null => json.extend_from_slice(b"null"),
        Val::Bool(flag) => json.extend_from_slice(if *flag { b"true" } else { b"false" }),
        Val::Num(Num::Float(_)) if place.is_money() => {
            return unusable(
                "was computed with floating-point arithmetic; make minor units with `minor(currency)` first",
            );
        }
        Val::Num(Num::Float(number)) if !number.is_finite() => return unusable("must be a finite number"),
        Val::Num(number) => json.extend_from_slice(number.to_string().as_bytes()),
        Val::TStr(bytes) => {
            if text(bytes, json).is_err() {
                return unusable("must be text in UTF-8");
            }
        }
        Val::BStr(_) => return unusable("must be text, not bytes"),
        Val::Arr(elements) => {
            json.push(b'[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    json.push(b',');
                }
                write(element, json, limit, &ValuePlace::Element(place, index))?;
            }
            json.push(b']');
        }
        Val::Obj(members) => {
            json.push(b'{');
            for (index, (name, member)) in members.iter().enumerate() {
                if index > 0 {
                    json.push(b',');
                }
                let Some(name) = name.as_utf8_bytes().and_then(|name| std::str::from_utf8(name).ok()) else {
                    return unusable("must have names of members that are text");
                };
                if text(name.as_bytes(), json).is_err() {
                    return unusable("must have names of members that are text");
                }
                json.push(b':');
                write(member, json, limit, &ValuePlace::Member(place, name))?;
            }
            json.push(b'}');
        }
    }
    if json.len() > limit { Err(Stopped::Unusable(format!("must be at most {limit} bytes of JSON"))) } else { Ok(()) }
}

/// A filter that mappings have beside those of jq.
#[derive(Clone, Copy, Debug)]
pub struct FilterOfOurs {
    /// Call.
    pub call: &'static str,
    /// Input.
    pub input: &'static str,
    /// Value.
    pub value: &'static str,
    /// Program, its input and its value, both JSON.
    pub example: [&'static str; 3],
}

/// Filters that a mapping needs beside jq's, as the reference lists them.
pub const FILTERS: [FilterOfOurs; 13] = [
    FilterOfOurs {
        call: "minor($currency)",
        input: "decimal, as a number or a text",
        value: "integer of minor units, exactly; fails for more decimal places than the currency has",
        example: [r#"minor("EUR")"#, r#""19.99""#, "1999"],
    },
    FilterOfOurs {
        call: "minor($currency; $mark)",
        input: "amount written for people, with its decimal mark `\".\"` or `\",\"`",
        value: "the same",
        example: [r#"minor("EUR"; ",")"#, r#""1.234,50 €""#, "123450"],
    },
    FilterOfOurs {
        call: "rounded($currency; $way)",
        input: "decimal with any number of places",
        value: "integer of minor units, [rounded](#rounding) by the way that is named",
        example: [r#"rounded("EUR"; "half_up")"#, "12.345", "1235"],
    },
    FilterOfOurs {
        call: "times($factor; $way)",
        input: "integer of minor units",
        value: "the amount times a decimal, such as a rate of tax, computed exactly and rounded",
        example: [r#"times("0.19"; "half_even")"#, "1999", "380"],
    },
    FilterOfOurs {
        call: "per_piece($quantity)",
        input: "integer of minor units that a whole line costs",
        value: "the `price` of a piece, rounded up, and the `discount` of the line that leaves what it costs, if any",
        example: ["per_piece(3)", "1000", r#"{"price":334,"discount":2}"#],
    },
    FilterOfOurs {
        call: "balanced($where)",
        input: "cart whose `total` differs from the sum of its parts by rounding",
        value: "the cart with the difference in the largest tax (`\"taxes\"`), or in a fee or discount (`\"fees\"`); fails if \
                the difference is more than half a minor unit for each amount",
        example: [
            r#"balanced("taxes") | .taxes"#,
            r#"{"lines":[{"price":100,"quantity":1}],"taxes":[{"title":"VAT","amount":19}],"total":120}"#,
            r#"[{"title":"VAT","amount":20}]"#,
        ],
    },
    FilterOfOurs {
        call: "balanced($where; $title)",
        input: "the same",
        value: "the same, with the title of the fee or discount in place of `Rounding`",
        example: [
            r#"balanced("fees"; "Cash rounding") | .fees"#,
            r#"{"lines":[{"price":100,"quantity":1}],"total":101}"#,
            r#"[{"title":"Cash rounding","amount":1}]"#,
        ],
    },
    FilterOfOurs {
        call: "decimal($currency)",
        input: "integer of minor units",
        value: "decimal text with the places of the currency",
        example: [r#"decimal("EUR")"#, "1250", r#""12.50""#],
    },
    FilterOfOurs {
        call: "currency",
        input: "currency code in any letter case",
        value: "ISO 4217 code; fails for any other text",
        example: ["currency", r#""eur""#, r#""EUR""#],
    },
    FilterOfOurs {
        call: "boolean",
        input: "`true`, `1`, `\"yes\"`, `\"on\"` and the like, or the opposite",
        value: "boolean; fails for anything else",
        example: ["boolean", r#""No""#, "false"],
    },
    FilterOfOurs {
        call: "timestamp",
        input: "RFC 3339 time with its offset, seconds since 1970, or a date",
        value: "RFC 3339 time in UTC; fails for a time without offset",
        example: ["timestamp", r#""2026-01-31T10:00:00+02:00""#, r#""2026-01-31T08:00:00Z""#],
    },
    FilterOfOurs {
        call: "plain",
        input: "HTML",
        value: "its text",
        example: ["plain", r#""<p>Red &amp; warm</p>""#, r#""Red & warm""#],
    },
    FilterOfOurs {
        call: "error($text)",
        input: "anything",
        value: "none: the program fails, as with jq. The log shows a text that the program has as it stands, and never one \
                that is made of the input",
        example: [r#"if . < 0 then error("no negative prices") else . end"#, "1", "1"],
    },
];

/// Filters of [`FILTERS`] that are not written in jq.
fn natives_of_ours() -> impl Iterator<Item = Fun<Data>> {
    let natives: [Filter<RunPtr<Data>>; 10] = [
        ("minor", v(1), |cv| unary(cv, |amount, code| minor(&amount, &code, None))),
        ("minor", v(2), |mut cv| {
            let mark = cv.0.pop_var();
            unary(cv, move |amount, code| minor(&amount, &code, Some(&mark)))
        }),
        ("rounded", v(2), |mut cv| {
            let way = cv.0.pop_var();
            unary(cv, move |amount, code| {
                units_of(&amount, decimal::minor(&decimal_of(&amount)?, currency(&code)?, Some(rounding(&way)?)))
            })
        }),
        ("times", v(2), |mut cv| {
            let way = cv.0.pop_var();
            unary(cv, move |units, factor| {
                units_of(&factor, decimal::times(minor_units(&units)?, &decimal_of(&factor)?, rounding(&way)?))
            })
        }),
        ("per_piece", v(1), |cv| unary(cv, |units, quantity| per_piece(&units, &quantity))),
        ("decimal", v(1), |cv| unary(cv, |units, code| decimal_text(&units, &code))),
        ("currency", v(0), |cv| bome(currency(&cv.1).map(|currency| Val::from(currency.as_str().to_owned())))),
        ("boolean", v(0), |cv| bome(boolean(&cv.1))),
        ("timestamp", v(0), |cv| bome(timestamp(&cv.1))),
        ("plain", v(0), |cv| bome(text(&cv.1).map(|html| Val::from(ucp_import::html::to_text(html))))),
    ];
    natives.into_iter().map(|(name, arguments, run)| (name, arguments, Native::<Data>::new(run)))
}

fn text(value: &Val) -> Result<&str, Error<Val>> {
    let text = value.as_utf8_bytes().and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.ok_or_else(|| Error::str(format_args!("{value} must be a text")))
}

fn currency(code: &Val) -> Result<Currency, Error<Val>> {
    text(code)?.parse().map_err(|_| Error::str(format_args!("{code} must be an ISO 4217 currency code")))
}

fn rounding(way: &Val) -> Result<Rounding, Error<Val>> {
    text(way).ok().and_then(Rounding::named).ok_or_else(|| {
        let names = Rounding::ALL.map(|way| format!("\"{}\"", way.as_str())).join(", ");
        Error::str(format_args!("the way to round must be one of {names}"))
    })
}

/// Returns the text of a decimal, which is a number or a text.
fn decimal_of(amount: &Val) -> Result<String, Error<Val>> {
    match amount {
        Val::Num(Num::Float(_)) => Err(Error::str(format_args!(
            "{amount} must be made into minor units before computing: it was computed with floating-point arithmetic"
        ))),
        Val::Num(number) => Ok(number.to_string()),
        _ => Ok(text(amount)?.trim().to_owned()),
    }
}

fn units_of(amount: &Val, units: Result<i64, decimal::NotMinor>) -> ValR<Val> {
    let units = units.map_err(|reason| Error::str(format_args!("{amount} {reason}")))?;
    isize::try_from(units).map(Val::from).map_err(Error::str)
}

fn minor(amount: &Val, code: &Val, mark: Option<&Val>) -> ValR<Val> {
    let currency = currency(code)?;
    let refused = |reason: decimal::NotMinor| Error::str(format_args!("{amount} {reason}"));
    let decimal = match mark {
        None => decimal_of(amount)?,
        Some(_) if matches!(amount, Val::Num(Num::Float(_))) => decimal_of(amount)?,
        Some(mark) => match text(mark)? {
            "." => decimal::written(text(amount)?, '.').map_err(refused)?,
            "," => decimal::written(text(amount)?, ',').map_err(refused)?,
            _ => return Err(Error::str(format_args!("{mark} must be the decimal mark, \".\" or \",\""))),
        },
    };
    units_of(amount, decimal::minor(&decimal, currency, None))
}

fn minor_units(units: &Val) -> Result<i64, Error<Val>> {
    let units = match units {
        Val::Num(number) => number.as_isize(),
        _ => None,
    };
    units.map(|units| units as i64).ok_or_else(|| Error::str("the input must be an integer of minor units"))
}

fn decimal_text(units: &Val, code: &Val) -> ValR<Val> {
    Ok(Val::from(currency(code)?.decimal(minor_units(units)?)))
}

fn per_piece(units: &Val, quantity: &Val) -> ValR<Val> {
    let units = minor_units(units)?;
    let parts = match quantity {
        Val::Num(number) => number.as_isize().and_then(|quantity| decimal::per_piece(units, quantity as i64)),
        _ => None,
    };
    let (price, discount) =
        parts.ok_or_else(|| Error::str("the input must be an amount from 0, and the quantity an integer from 1"))?;
    let members = [("price", price), ("discount", discount)];
    let members = members.into_iter().filter(|(name, units)| *name == "price" || *units != 0);
    let member = |(name, units): (&str, i64)| {
        isize::try_from(units).map(|units| (Val::from(name.to_owned()), Val::from(units))).map_err(Error::str)
    };
    members.map(member).collect::<Result<_, _>>().map(Val::obj)
}

fn boolean(value: &Val) -> ValR<Val> {
    let flag = match value {
        Val::Bool(flag) => Some(*flag),
        Val::Num(number) => match number.as_isize() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
        _ => match text(value)?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "no" | "n" | "off" | "0" => Some(false),
            _ => None,
        },
    };
    flag.map(Val::from).ok_or_else(|| Error::str(format_args!("{value} must be true or false")))
}

fn timestamp(value: &Val) -> ValR<Val> {
    let instant = match value {
        Val::Num(number) => number.as_isize().and_then(|seconds| jiff::Timestamp::from_second(seconds as i64).ok()),
        _ => {
            let text = text(value)?;
            let midnight = || format!("{text}T00:00:00Z").parse().ok();
            text.parse().ok().or_else(|| (text.len() == "2026-01-31".len()).then(midnight).flatten())
        }
    };
    let refused =
        || Error::str(format_args!("{value} must be a time with its offset (RFC 3339), seconds since 1970, or a date"));
    instant.map(|instant: jiff::Timestamp| Val::from(instant.to_string())).ok_or_else(refused)
}

#[cfg(test)]
mod tests;

//! What documents of an API look like, whatever describes them.

/// Maximum nesting of shapes; what lies deeper is unknown.
pub(super) const MAX_DEPTH: usize = 5;

/// Shape of a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Members by name, with `true` for those that are required.
    Object(Vec<(String, Shape, bool)>),
    /// Elements.
    List(Box<Shape>),
    /// Text.
    Text,
    /// Integer.
    Integer,
    /// Number that need not be an integer.
    Number,
    /// Boolean.
    Boolean,
    /// Anything else.
    Unknown,
}

impl Shape {
    pub(super) fn members(&self) -> &[(String, Self, bool)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }

    /// Returns the list in an answer with the path that leads to it, and the shape of its elements: the answer itself, or
    /// the first list of objects in it.
    pub(super) fn list(&self) -> Option<(String, &Self)> {
        match self {
            Self::List(element) => Some((String::new(), element)),
            Self::Object(members) => {
                let own = members.iter().find_map(|(name, member, _)| match member {
                    Self::List(element) if matches!(**element, Self::Object(_)) => {
                        Some((format!(".{name}"), &**element))
                    }
                    _ => None,
                });
                own.or_else(|| {
                    members.iter().find_map(|(name, member, _)| {
                        let (path, element) =
                            Some(member).filter(|member| matches!(member, Self::Object(_)))?.list()?;
                        Some((format!(".{name}{path}"), element))
                    })
                })
            }
            _ => None,
        }
    }

    /// Returns the word for it in a comment.
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Object(_) => "object",
            Self::List(_) => "list",
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Unknown => "value",
        }
    }
}

//! Choices of a client in the query of the endpoint: the tools that it wants, the detail of their schemas, and the view
//! of responses.
//!
//! | query | effect |
//! | :-- | :-- |
//! | `tools=catalog,cart` | only the tools about products and carts exist |
//! | `view=compact` | answers of the catalog hold what helps to choose |
//! | `schemas=full` | tools are listed with whole schemas of requests, and with those of answers where the release is certain |

use ucp_core::{Code, Operation, Refusal, operation::Resource};
use ucp_wire::view::View;

/// Toolsets by the resource that their operations act on.
const TOOLSETS: &[(&str, Resource)] = &[
    ("catalog", Resource::Catalog),
    ("cart", Resource::Cart),
    ("checkout", Resource::Checkout),
    ("order", Resource::Order),
    ("directory", Resource::Directory),
];

/// Choice of tools and of their detail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolset {
    /// Resources whose operations are tools; `None` for all.
    resources: Option<Vec<Resource>>,
    /// `true` to list whole schemas instead of outlines.
    pub full: bool,
    /// View of catalog answers; `None` for the gateway's own choice.
    pub view: Option<View>,
}

impl Toolset {
    /// Reads the choice from the query of a URL. Other parameters are ignored.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for an unknown toolset, detail or view.
    pub fn of(query: Option<&str>) -> Result<Self, Refusal> {
        let mut toolset = Self { view: View::of(query)?, ..Self::default() };
        let parameters = query.unwrap_or_default().split('&').filter_map(|parameter| parameter.split_once('='));
        for (name, value) in parameters {
            match name {
                "tools" => toolset.resources = Some(resources(value)?),
                "schemas" => toolset.full = is_full(value)?,
                _ => {}
            }
        }
        Ok(toolset)
    }

    /// Returns `true` if the operation is one of the tools.
    pub fn has(&self, operation: Operation) -> bool {
        self.resources.as_ref().is_none_or(|resources| resources.contains(&operation.row().resource))
    }
}

fn resources(names: &str) -> Result<Vec<Resource>, Refusal> {
    let of = |name: &str| TOOLSETS.iter().find(|(known, _)| *known == name).map(|(_, resource)| *resource);
    // A comma may be escaped; the names need no escaping.
    names.split(',').flat_map(|part| part.split("%2C")).map(of).collect::<Option<_>>().ok_or_else(|| {
        let names: Vec<_> = TOOLSETS.iter().map(|(name, _)| *name).collect();
        unknown(
            "The query names an unknown toolset.",
            &format!("`tools=` with some of {}, separated by commas", names.join(", ")),
        )
    })
}

fn is_full(value: &str) -> Result<bool, Refusal> {
    match value {
        "full" => Ok(true),
        "outline" => Ok(false),
        _ => Err(unknown("The query names an unknown detail of schemas.", "`schemas=full` or `schemas=outline`")),
    }
}

fn unknown(content: &str, accepted: &str) -> Refusal {
    Refusal::new(Code::InvalidRequest, content).accepting(accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_chooses_tools_and_their_detail() {
        let read = |query: &str| Toolset::of(Some(query)).map_err(|refusal| refusal.accepted.unwrap_or_default());
        assert_eq!(Toolset::of(None), Ok(Toolset::default()));
        assert_eq!(read("session=7&x"), Ok(Toolset::default()));
        let catalog = read("tools=catalog%2Ccart&schemas=full").expect("a choice");
        assert!(catalog.full && catalog.has(Operation::SearchCatalog) && catalog.has(Operation::CreateCart));
        assert!(!catalog.has(Operation::CreateCheckout) && Toolset::default().has(Operation::CreateCheckout));
        assert!(read("tools=catalogue").is_err_and(|accepted| accepted.contains("catalog, cart")));
        assert!(read("tools=").is_err() && read("schemas=all").is_err());
    }
}

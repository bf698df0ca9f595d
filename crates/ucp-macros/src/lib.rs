//! Attribute of structs that are written as JSON.

use proc_macro::{Group, Spacing, TokenStream, TokenTree};

/// Omits the `Option` fields of a struct that are `None` when it is serialized. It stands before the derives.
#[proc_macro_attribute]
pub fn omit_none(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut read: Vec<TokenTree> = Vec::new();
    for token in item {
        let is_option = matches!(&token, TokenTree::Ident(kind) if kind.to_string() == "Option");
        if is_option
            && let [.., TokenTree::Ident(_), TokenTree::Punct(colon)] = read.as_slice()
            && (colon.as_char(), colon.spacing()) == (':', Spacing::Alone)
        {
            let visibility = match &read[..read.len() - 2] {
                [.., TokenTree::Ident(name)] if name.to_string() == "pub" => 1,
                [.., TokenTree::Ident(name), TokenTree::Group(_)] if name.to_string() == "pub" => 2,
                _ => 0,
            };
            let omitted: TokenStream =
                r#"#[serde(skip_serializing_if = "Option::is_none")]"#.parse().unwrap_or_default();
            let field = read.len() - 2 - visibility;
            read.splice(field..field, omitted);
        }
        read.push(match token {
            TokenTree::Group(group) => {
                let mut fields = Group::new(group.delimiter(), omit_none(TokenStream::new(), group.stream()));
                fields.set_span(group.span());
                fields.into()
            }
            token => token,
        });
    }
    read.into_iter().collect()
}

//! The rules that a shop has to keep, or the profile of a platform.

use std::fmt;

use serde::{Serialize, Serializer};

/// Weight of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Agents fail, or are told something wrong.
    Error,
    /// Agents manage, at a cost.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

macro_rules! rules {
    ($($variant:ident = $name:literal, $severity:ident, $says:literal, $cure:literal;)+) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $says] $variant),+
        }

        impl Rule {
            /// All rules, in the order in which they are reported.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name of the rule.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the weight of the rule.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity),+ }
            }

            /// Returns what must be.
            pub const fn says(self) -> &'static str {
                match self { $(Self::$variant => $says),+ }
            }

            /// Returns what to do where it is not so.
            pub const fn cure(self) -> &'static str {
                match self { $(Self::$variant => $cure),+ }
            }
        }
    };
}

rules! {
    ProfileFound = "profile.found", Error,
        "The profile is a JSON object with the field `ucp`, returned with status 200.",
        "Serve the profile at `/.well-known/ucp`, for everyone and without a login.";
    ProfileRedirect = "profile.redirect", Error,
        "The profile is at its URL: redirects are not followed.",
        "Serve the profile at the URL itself, also with and without `www.`.";
    ProfileMediaType = "profile.media_type", Error,
        "The profile is declared as `application/json`.",
        "Send `Content-Type: application/json` with it.";
    ProfileCaching = "profile.caching", Warning,
        "The profile is publicly cacheable for at least 60 seconds.",
        "Send `Cache-Control: public, max-age=300`, without `private`, `no-store` and `no-cache`.";
    ProfileRelease = "profile.release", Error,
        "`ucp.version` is a published UCP version.",
        "State the served version, such as `2026-08-25`; list older ones in `supported_versions`.";
    ProfileServices = "profile.services", Error,
        "Every entry of a service states its version, transport and endpoint.",
        "Write `{\"version\", \"transport\", \"endpoint\", \"schema\"}` for each transport of each service.";
    ProfileEndpoints = "profile.endpoints", Error,
        "Endpoints are https URLs (http on this machine only).",
        "Put TLS in front of the endpoint, and state its https URL.";
    ProfileCapabilities = "profile.capabilities", Error,
        "Every capability has a name in reverse-domain form and a date as version.",
        "Write `\"dev.ucp.shopping.cart\": [{\"version\": \"2026-08-25\"}]`.";
    ProfileExtends = "profile.extends", Error,
        "The parent of an extension is declared as well.",
        "Declare the parent capability, or omit the extension.";
    ProfileAuthority = "profile.authority", Error,
        "`spec` and `schema` are below the domain of the name.",
        "Publish the document under the domain of the name: `com.example.x` at `https://example.com/`.";
    ProfileKeys = "profile.keys", Error,
        "Every key is a complete public JSON Web Key, with a unique `kid` and without private fields.",
        "Publish public keys only, with `x` and `y` (EC), `x` (OKP), or `n` and `e` (RSA). Replace a key whose private field was published.";
    ProfileVersions = "profile.supported_versions", Error,
        "Each entry of `supported_versions` is the URL of the profile of that version.",
        "Serve a profile of the version at the listed URL, or omit the entry.";
    ProfilePayment = "profile.payment", Warning,
        "A shop with checkouts declares payment handlers.",
        "Declare a payment handler. Without one, buyers have to pay at the storefront checkout.";
    ProfileOperations = "profile.operations", Error,
        "The profile offers a known operation, over REST or MCP.",
        "Declare a capability such as `dev.ucp.shopping.catalog.search` with an endpoint of `dev.ucp.shopping`.";
    RestAnswers = "rest.answers", Error,
        "The REST endpoint of the profile responds.",
        "Mount the operations below the endpoint, or omit the endpoint.";
    McpAnswers = "mcp.answers", Error,
        "The MCP endpoint of the profile lists tools, or has methods.",
        "Implement `tools/list`, or omit the endpoint.";
    ToolsComplete = "tools.complete", Error,
        "There is a tool for every operation that the profile offers.",
        "Name each tool after its operation, such as `search_catalog`.";
    ToolsSchema = "tools.schema", Error,
        "Every tool describes its input by a JSON Schema of an object.",
        "State `inputSchema` with `\"type\": \"object\"`; clients reject other tools.";
    ToolsLegible = "tools.legible", Warning,
        "Input schemas are readable for every client: `items` of arrays, the `type` of fields, no boolean or empty schema, and no conditions at the root.",
        "State `type` and `items`. Clients drop such tools, or describe a string as an object.";
    ToolsCaller = "tools.caller", Warning,
        "Every tool has `meta.ucp-agent`, so that agents state their profile.",
        "Add `meta` with `ucp-agent` to the schema of the tool.";
    ToolsDescription = "tools.description", Warning,
        "Every tool has a description of 20 to 1,000 characters.",
        "State the purpose of the tool, its result, and the next tool.";
    ToolsSize = "tools.size", Warning,
        "The list of tools is at most 40 kB, about 10,000 tokens, which a model reads with every conversation.",
        "Shorten schemas to what an agent needs; the published documents can have the rest.";
    AnswersSchema = "answers.schema", Error,
        "Responses have the form of their UCP version.",
        "Correct the named field; omit fields that do not apply instead of sending `null`.";
    AnswersRelease = "answers.release", Error,
        "Responses state the UCP version of the profile.",
        "Set `ucp.version` to the negotiated version.";
    AnswersTime = "answers.time", Warning,
        "A read takes at most 3 seconds.",
        "Agents wait for each of a dozen calls: keep catalog data in memory, or in an index.";
    AnswersCaching = "answers.caching", Warning,
        "Responses are not marked `public`.",
        "Send `Cache-Control: no-store`: responses depend on the caller.";
    ParityAnswers = "parity.answers", Error,
        "The same request gets the same response over REST and MCP.",
        "Let both transports call the same code.";
    ParityErrors = "parity.errors", Error,
        "A missing resource has the same code over REST and MCP.",
        "Let both transports call the same code.";
    ErrorsMalformed = "errors.malformed", Error,
        "Invalid JSON is rejected with a status from 400 to 499 and a JSON document.",
        "Return `{\"code\": \"malformed_json\", \"content\": …}` with status 400.";
    ErrorsInvalid = "errors.invalid", Error,
        "A field of the wrong type is rejected with a code, and with a status from 400 to 499 or a JSON-RPC error.",
        "Validate requests against the schema of the operation, and return `{\"code\": \"invalid_request\", …}`.";
    ErrorsPlace = "errors.place", Warning,
        "The error about a field states its path.",
        "Add `path` to the error, such as `$.pagination.limit`, so that an agent can correct the field.";
    ErrorsUnknownId = "errors.unknown_id", Error,
        "A missing resource has the code `not_found`, and is not a server error.",
        "Return the message `{\"type\": \"error\", \"code\": \"not_found\"}`.";
    ErrorsUnknownPath = "errors.unknown_path", Warning,
        "An unknown path returns status 404 and a JSON document.",
        "Return `{\"code\": …, \"content\": …}` with status 404 instead of a page.";
    ErrorsUnknownTool = "errors.unknown_tool", Error,
        "An unknown tool is rejected with a JSON-RPC error.",
        "Return `{\"jsonrpc\": \"2.0\", \"id\": …, \"error\": {\"code\": -32602, …}}`.";
    CatalogSearchable = "catalog.searchable", Error,
        "A search for available products without words finds some.",
        "Fill the catalog, and let a search with filters only return all matches, page by page.";
    CatalogFindable = "catalog.findable", Warning,
        "A search for a product's title has it among the first ten results.",
        "Index the title, and rank products with all words above those with some.";
    CatalogIdentifiers = "catalog.identifiers", Error,
        "A lookup finds a variant by the ID in the search.",
        "Resolve variant IDs in `lookup_catalog`.";
    CatalogPage = "catalog.page", Error,
        "`get_product` returns a product of the search, with a variant.",
        "Resolve product IDs in `get_product`; do not index products that cannot be sold.";
    CatalogDeadEnd = "catalog.dead_end", Error,
        "An available option value leads to a variant that can be bought.",
        "Compute `available` of a value from the variants that have it and the other choices.";
    CatalogPrice = "catalog.price", Error,
        "Prices are positive amounts in minor units of a currency of ISO 4217, within the range of the product.",
        "Correct the price, or remove products that cannot be bought.";
    CatalogSamePrice = "catalog.same_price", Error,
        "A variant has the same price in the search and in `get_product`.",
        "Update the index when prices change, or read prices when they are shown.";
    CatalogGtin = "catalog.gtin", Warning,
        "Barcodes of type EAN, UPC or GTIN have 8, 12, 13 or 14 digits with a correct check digit.",
        "Correct the barcode: agents compare offers by it.";
    CatalogHtml = "catalog.html", Warning,
        "Titles and plain descriptions have no HTML.",
        "Remove tags and entities, or state the text as `description.html`.";
    CatalogTokens = "catalog.tokens", Warning,
        "A product of a search takes at most 1,000 tokens on average.",
        "Show one variant per product and short descriptions in the search; `get_product` has the rest.";
    CatalogDescription = "catalog.description", Warning,
        "A product has a description.",
        "Describe the product in two sentences: agents recommend by descriptions.";
    CatalogMedia = "catalog.media", Warning,
        "A product has an image with an https URL.",
        "Add an image: agents show it to buyers.";
    CatalogDuplicates = "catalog.duplicates", Error,
        "A response lists every product once.",
        "Return one entry for each product, whichever of its variants match, and merge what several sources have of it.";
    CatalogPaging = "catalog.paging", Error,
        "The next page has other products.",
        "Continue at the cursor, in an order that does not change between calls.";
    CatalogTitles = "catalog.titles", Warning,
        "No two products have the same title.",
        "Add the difference to the titles, or make them variants of one product.";
    PurchaseTotals = "purchase.totals", Error,
        "The total is the sum of the other totals.",
        "Compute the total from the other totals; discounts are negative.";
    PurchasePrice = "purchase.price", Error,
        "A line item has the price of the catalog.",
        "Use the same source for the prices of line items and of the catalog.";
    PurchaseIdempotency = "purchase.idempotency", Error,
        "A retry with the same idempotency key gets the same response.",
        "Store the response by idempotency key, and replay it.";
    PurchaseConflict = "purchase.conflict", Error,
        "Another request with a used idempotency key is rejected.",
        "Compare the request with the first one of the key, and return status 409.";
    PurchasePrivate = "purchase.private", Warning,
        "Responses about a cart or checkout must not be cached.",
        "Send `Cache-Control: no-store` with them.";
    PurchaseMissing = "purchase.missing", Warning,
        "A checkout that is not ready lists everything missing, each with its path.",
        "Add a message with `path` for each missing field.";
    PurchaseCancel = "purchase.cancel", Error,
        "A canceled checkout cannot be changed.",
        "Reject changes of a canceled checkout.";
    PlatformAddress = "platform.address", Error,
        "The profile of a platform has an https URL (http on this machine only).",
        "Publish it under https, without a redirect.";
    PlatformReadable = "platform.readable", Error,
        "The profile is readable: `ucp.version` is a date, and every field has a type of some UCP version.",
        "Correct the named field.";
    PlatformTolerated = "platform.tolerated", Warning,
        "The profile is valid without leniency.",
        "Correct the named field: another reader may reject it.";
    PlatformSize = "platform.size", Warning,
        "The profile has at most 64 kB.",
        "Omit unneeded content: businesses read the profile before the first response.";
    PlatformWebhook = "platform.webhook", Warning,
        "A platform that declares orders states an https URL for their webhooks.",
        "Add `config.webhook_url` to `dev.ucp.shopping.order`; without it the platform receives no order webhooks.";
    PlatformCapabilities = "platform.capabilities", Error,
        "The profile declares a capability that a business of its UCP version can have.",
        "Declare the capabilities that the platform uses, in its UCP version.";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_texts_are_sentences() {
        let names: HashSet<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            assert!(rule.says().ends_with('.') && rule.cure().ends_with(['.', ':']), "{rule}");
        }
    }
}

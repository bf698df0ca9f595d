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
        "The profile is a JSON object with the member `ucp`, answered with status 200.",
        "Serve the profile at `/.well-known/ucp`, for everyone and without a login.";
    ProfileRedirect = "profile.redirect", Error,
        "The profile is where it is looked for: redirects are not followed.",
        "Serve the profile at the address itself, also with and without `www.`.";
    ProfileMediaType = "profile.media_type", Error,
        "The profile is declared as `application/json`.",
        "Send `Content-Type: application/json` with it.";
    ProfileCaching = "profile.caching", Warning,
        "The profile may be kept by everyone for at least 60 seconds.",
        "Send `Cache-Control: public, max-age=300`, without `private`, `no-store` and `no-cache`.";
    ProfileRelease = "profile.release", Error,
        "`ucp.version` is the date of a published release.",
        "State the release that is served, such as `2026-08-25`; list older ones in `supported_versions`.";
    ProfileServices = "profile.services", Error,
        "Every entry of a service states its version, transport and endpoint.",
        "Write `{\"version\", \"transport\", \"endpoint\", \"schema\"}` for each transport of each service.";
    ProfileEndpoints = "profile.endpoints", Error,
        "Endpoints are https addresses (http on this machine alone).",
        "Put TLS in front of the endpoint, and state its https address.";
    ProfileCapabilities = "profile.capabilities", Error,
        "Every capability has a name in reverse-domain form and a date as version.",
        "Write `\"dev.ucp.shopping.cart\": [{\"version\": \"2026-08-25\"}]`.";
    ProfileExtends = "profile.extends", Error,
        "What a capability extends is declared as well.",
        "Declare the capability that is extended, or leave the extension out.";
    ProfileAuthority = "profile.authority", Error,
        "`spec` and `schema` are below the domain that the name belongs to.",
        "Publish the document under the domain of the name: `com.example.x` at `https://example.com/`.";
    ProfileKeys = "profile.keys", Error,
        "Every key is a public JSON Web Key with a `kid` of its own, and without private members.",
        "Publish public keys only. A private member that was published makes a new key necessary.";
    ProfileVersions = "profile.supported_versions", Error,
        "Each of `supported_versions` leads to the profile of that release.",
        "Serve a profile of the release under the address that is listed, or leave it out.";
    ProfilePayment = "profile.payment", Warning,
        "A shop with checkouts declares how it is paid.",
        "Declare a payment handler. Without one, buyers have to go to the shop's own page.";
    ProfileOperations = "profile.operations", Error,
        "The profile offers an operation that is known, over REST or MCP.",
        "Declare a capability such as `dev.ucp.shopping.catalog.search` with an endpoint of `dev.ucp.shopping`.";
    RestAnswers = "rest.answers", Error,
        "The REST endpoint of the profile answers calls.",
        "Mount the operations below the endpoint, or leave the endpoint out.";
    McpAnswers = "mcp.answers", Error,
        "The MCP endpoint of the profile lists tools, or knows methods.",
        "Answer `tools/list`, or leave the endpoint out.";
    ToolsComplete = "tools.complete", Error,
        "There is a tool for every operation that the profile offers.",
        "Name each tool as the operation is named, such as `search_catalog`.";
    ToolsSchema = "tools.schema", Error,
        "The input of every tool is described by a JSON Schema of an object.",
        "State `inputSchema` with `\"type\": \"object\"`; clients refuse other tools.";
    ToolsLegible = "tools.legible", Warning,
        "Input schemas state what every reader needs: `items` of arrays, the `type` of members, no boolean and no empty schema, and no conditions at the root.",
        "State `type` and `items`. Clients drop such tools, or tell their model that a text is an object.";
    ToolsCaller = "tools.caller", Warning,
        "Every tool asks for `meta.ucp-agent`, so that agents know that they have to name their profile.",
        "Add `meta` with `ucp-agent` to the schema of the tool.";
    ToolsDescription = "tools.description", Warning,
        "Every tool is described in 20 to 1,000 characters.",
        "Say what the tool is for, what it returns, and which tool comes next.";
    ToolsSize = "tools.size", Warning,
        "The list of tools is at most 40 kB, about 10,000 tokens, which a model reads with every conversation.",
        "Shorten schemas to what an agent has to know; the published documents can hold the rest.";
    AnswersSchema = "answers.schema", Error,
        "Answers have the form that their release publishes.",
        "Correct the member that is named; members that do not apply are left out, never `null`.";
    AnswersRelease = "answers.release", Error,
        "Answers name the release that the profile states.",
        "Write `ucp.version` of the release in which the call was negotiated.";
    AnswersTime = "answers.time", Warning,
        "A read is answered within 3 seconds.",
        "Agents wait for each of a dozen calls: keep what the catalog needs in memory, or in an index.";
    AnswersCaching = "answers.caching", Warning,
        "Answers to calls are not marked `public`.",
        "Send `Cache-Control: no-store` with answers: they depend on who asks.";
    ParityAnswers = "parity.answers", Error,
        "The same question gets the same answer over REST and MCP.",
        "Let both transports call the same code.";
    ParityErrors = "parity.errors", Error,
        "What does not exist is told by the same code over REST and MCP.",
        "Let both transports call the same code.";
    ErrorsMalformed = "errors.malformed", Error,
        "A body that is no JSON is refused with a status from 400 to 499 and a JSON document.",
        "Answer `{\"code\": \"malformed_json\", \"content\": …}` with status 400.";
    ErrorsInvalid = "errors.invalid", Error,
        "A member of the wrong type is refused with a code, by status 400 to 499 or an error of JSON-RPC.",
        "Validate requests against the schema of the operation, and answer `{\"code\": \"invalid_request\", …}`.";
    ErrorsPlace = "errors.place", Warning,
        "The refusal of a member names its place.",
        "Add `path` to the refusal, such as `$.pagination.limit`: an agent corrects what it is shown.";
    ErrorsUnknownId = "errors.unknown_id", Error,
        "What does not exist is told by the code `not_found`, and is no failure of the server.",
        "Answer with the message `{\"type\": \"error\", \"code\": \"not_found\"}`.";
    ErrorsUnknownPath = "errors.unknown_path", Warning,
        "A path that does not exist is answered with status 404 and a JSON document.",
        "Answer `{\"code\": …, \"content\": …}` with status 404 instead of a page.";
    ErrorsUnknownTool = "errors.unknown_tool", Error,
        "A tool that does not exist is refused by an error of JSON-RPC.",
        "Answer `{\"jsonrpc\": \"2.0\", \"id\": …, \"error\": {\"code\": -32602, …}}`.";
    CatalogSearchable = "catalog.searchable", Error,
        "A search for what is available, without words, finds products.",
        "Fill the catalog, and let a search with filters alone return all that matches, page by page.";
    CatalogFindable = "catalog.findable", Warning,
        "A product is among the first ten when its own title is searched for.",
        "Index the title, and rank what has all words above what has some.";
    CatalogIdentifiers = "catalog.identifiers", Error,
        "A variant is found by the identifier that the search shows.",
        "Resolve identifiers of variants in `lookup_catalog`.";
    CatalogPage = "catalog.page", Error,
        "A product that the search shows can be opened, and has a variant.",
        "Resolve identifiers of products in `get_product`; do not index what cannot be sold.";
    CatalogDeadEnd = "catalog.dead_end", Error,
        "A value of an option that is shown as available leads to a variant that can be bought.",
        "Compute `available` of a value from the variants that have it and the other choices.";
    CatalogPrice = "catalog.price", Error,
        "Prices are positive amounts in minor units of a currency of ISO 4217, within the range of the product.",
        "Correct the price; what cannot be bought should not be in the catalog.";
    CatalogSamePrice = "catalog.same_price", Error,
        "A variant costs the same in the search and on the page of its product.",
        "Update the index when prices change, or read prices when they are shown.";
    CatalogGtin = "catalog.gtin", Warning,
        "Barcodes of type EAN, UPC or GTIN have 8, 12, 13 or 14 digits with a correct check digit.",
        "Correct the barcode: agents compare offers by it.";
    CatalogHtml = "catalog.html", Warning,
        "Titles and plain descriptions hold no HTML.",
        "Remove tags and entities, or state the text as `description.html`.";
    CatalogTokens = "catalog.tokens", Warning,
        "A product of a search takes at most 1,000 tokens on average.",
        "Show one variant per product and short descriptions in the search; `get_product` has the rest.";
    CatalogDescription = "catalog.description", Warning,
        "A product has a description.",
        "Describe the product in two sentences: an agent recommends what it can argue for.";
    CatalogMedia = "catalog.media", Warning,
        "A product has an image with an https address.",
        "Add an image: buyers are shown what they choose.";
    CatalogPaging = "catalog.paging", Error,
        "The next page has other products.",
        "Continue at the cursor, in an order that does not change between calls.";
    CatalogTitles = "catalog.titles", Warning,
        "No two products have the same title.",
        "Put what distinguishes them into the title, or make them variants of one product.";
    PurchaseTotals = "purchase.totals", Error,
        "The total is the sum of the other totals.",
        "Compute the total from what is shown; discounts are negative.";
    PurchasePrice = "purchase.price", Error,
        "A line costs what the catalog says.",
        "Take the price of a line from the same source as that of the catalog.";
    PurchaseIdempotency = "purchase.idempotency", Error,
        "A call that is repeated with its idempotency key gets the answer that it got before.",
        "Keep the answer by idempotency key, and give it again.";
    PurchaseConflict = "purchase.conflict", Error,
        "An idempotency key that was used for another request is refused.",
        "Compare the request with the one that the key was used for, and answer with status 409.";
    PurchasePrivate = "purchase.private", Warning,
        "Answers about a cart or checkout say that nobody may keep them.",
        "Send `Cache-Control: no-store` with them.";
    PurchaseMissing = "purchase.missing", Warning,
        "A checkout that is not ready says what is missing, each with its place.",
        "Add a message with `path` for each thing that is needed.";
    PurchaseCancel = "purchase.cancel", Error,
        "A checkout that was canceled cannot be changed.",
        "Refuse changes of a canceled checkout.";
    PlatformAddress = "platform.address", Error,
        "The profile of a platform has an https address (http on this machine alone).",
        "Publish it under https, without a redirect.";
    PlatformReadable = "platform.readable", Error,
        "The profile can be read: a dated `ucp.version`, and every member of the type that it has in some release.",
        "Correct the member that is named.";
    PlatformTolerated = "platform.tolerated", Warning,
        "The profile has no fault that readers have to tolerate.",
        "Correct the member that is named: another reader may refuse it.";
    PlatformSize = "platform.size", Warning,
        "The profile has at most 64 kB.",
        "Leave out what is not declared: businesses read the profile before they answer the first call.";
    PlatformWebhook = "platform.webhook", Warning,
        "A platform that declares orders states an https address for their webhooks.",
        "Add `config.webhook_url` to `dev.ucp.shopping.order`; without it nobody tells how an order goes on.";
    PlatformCapabilities = "platform.capabilities", Error,
        "The profile declares a capability of its release that a business can have.",
        "Declare the capabilities that the platform uses, in the version of its release.";
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

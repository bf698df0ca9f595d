//! The documentation of the repository as HTML pages, and the search in it.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html::push_html};
use ucp_config::reference;

use crate::{errors, sales_terms};

/// Maximum number of results of a search.
const MOST: usize = 30;

/// Maximum length of the words that are searched for, in bytes.
const LONGEST: usize = 200;

/// Length of the excerpt of a result, in characters.
const EXCERPT: usize = 180;

/// A text in Markdown.
type Source = fn() -> Cow<'static, str>;

/// A page of the repository.
macro_rules! file {
    ($name:literal) => {
        ($name, || Cow::Borrowed(include_str!(concat!("../../docs/", $name, ".md"))))
    };
}

/// Pages by group: name in addresses, and text. Those that are derived from code need no file.
const SOURCES: &[(&str, &[(&str, Source)])] = &[
    ("Get started", &[file!("tour"), file!("concepts")]),
    (
        "Connect your shop",
        &[
            file!("connect-your-shop"),
            file!("shopify"),
            file!("ucp-shop"),
            file!("mapping"),
            file!("write-an-adapter"),
            file!("catalog-sync"),
            file!("search"),
            file!("upstream"),
            file!("sales-terms"),
            file!("payments"),
            file!("checkout-pages"),
            file!("orders"),
            file!("never-charged-twice"),
        ],
    ),
    (
        "Agents and clients",
        &[file!("clients"), file!("quickstart-client"), file!("debug-requests"), file!("test-an-endpoint")],
    ),
    (
        "Operate",
        &[
            file!("install"),
            file!("tls"),
            file!("behind-a-proxy"),
            file!("authenticate-platforms"),
            file!("backup"),
            file!("disaster-recovery"),
            file!("postgresql"),
            file!("several-shops"),
            file!("monitoring"),
            file!("troubleshooting"),
            file!("admin-api"),
            file!("analytics-events"),
            file!("security"),
            file!("performance"),
        ],
    ),
    (
        "Reference",
        &[
            ("configuration", || Cow::Owned(reference::page())),
            file!("cli"),
            ("errors", || Cow::Owned(errors::page())),
            ("sales-terms-reference", || Cow::Owned(sales_terms::page())),
            file!("backend-api"),
            file!("mapping-reference"),
            file!("limits"),
            file!("glossary"),
            file!("releases"),
            file!("versioning"),
        ],
    ),
    (
        "Contribute",
        &[file!("architecture"), file!("rules"), file!("adding-a-backend"), file!("adding-a-payment-handler")],
    ),
];

/// A page.
#[derive(Debug)]
pub(super) struct Page {
    /// Name in addresses.
    pub(super) name: &'static str,
    /// Group in the contents.
    pub(super) group: &'static str,
    /// Title.
    pub(super) title: String,
    /// Body as HTML.
    pub(super) html: String,
    sections: Vec<Section>,
}

/// A part of a page under a heading, for the search.
#[derive(Debug, Default)]
struct Section {
    title: String,
    anchor: String,
    text: String,
}

/// A place that a search finds.
#[derive(Debug)]
pub(super) struct Hit {
    /// Address of the place.
    pub(super) address: String,
    /// Title of the page.
    pub(super) page: &'static str,
    /// Title of the section.
    pub(super) title: &'static str,
    /// Beginning of its text.
    pub(super) excerpt: String,
}

/// All pages, in their order.
pub(super) fn all() -> &'static [Page] {
    static PAGES: LazyLock<Vec<Page>> = LazyLock::new(|| {
        let of = |(group, pages): &(&'static str, &'static [(&'static str, Source)])| {
            pages.iter().map(|(name, source)| page(group, name, &source())).collect::<Vec<_>>()
        };
        SOURCES.iter().flat_map(of).collect()
    });
    &PAGES
}

/// Returns the page of this name.
pub(super) fn named(name: &str) -> Option<&'static Page> {
    all().iter().find(|page| page.name == name)
}

/// Finds sections that have all words; those with more of them in their titles come first.
pub(super) fn search(query: &str) -> Vec<Hit> {
    let query: String = query.chars().take(LONGEST).collect::<String>().to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    if words.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(usize, Hit)> = Vec::new();
    for page in all() {
        for section in &page.sections {
            let (title, text) = (section.title.to_lowercase(), section.text.to_lowercase());
            if !words.iter().all(|word| title.contains(word) || text.contains(word)) {
                continue;
            }
            let titled = words.iter().filter(|word| title.contains(*word)).count();
            let exact = usize::from(title.split_whitespace().next() == Some(words[0]));
            let excerpt: String = section.text.chars().take(EXCERPT).collect();
            let address = format!("/docs/{}#{}", page.name, section.anchor);
            found.push((titled * 2 + exact, Hit { address, page: &page.title, title: &section.title, excerpt }));
        }
    }
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().take(MOST).map(|(_, hit)| hit).collect()
}

/// Renders a page. Its HTML is that of the repository's own documentation; nothing of a stranger gets into it.
fn page(group: &'static str, name: &'static str, source: &str) -> Page {
    let options = Options::ENABLE_TABLES;
    let mut events: Vec<Event<'_>> = Parser::new_ext(source, options).collect();
    let mut sections = vec![Section::default()];
    let mut anchors: HashMap<String, usize> = HashMap::new();
    let mut title = String::new();
    let mut heading: Option<usize> = None;
    for place in 0..events.len() {
        match &events[place] {
            Event::Start(Tag::Heading { .. }) => {
                heading = Some(place);
                sections.push(Section::default());
            }
            Event::End(TagEnd::Heading(level)) => {
                let section = sections.last_mut().unwrap_or_else(|| unreachable!("one was pushed"));
                section.anchor = anchor(&section.title, &mut anchors);
                if *level == HeadingLevel::H1 && title.is_empty() {
                    title.clone_from(&section.title);
                }
                let id = Some(CowStr::from(section.anchor.clone()));
                if let Some(Event::Start(Tag::Heading { id: own, .. })) =
                    heading.take().and_then(|at| events.get_mut(at))
                {
                    *own = id;
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(section) = sections.last_mut() {
                    let part = if heading.is_some() { &mut section.title } else { &mut section.text };
                    part.push_str(text);
                }
            }
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                if let Some(section) = sections.last_mut().filter(|_| heading.is_none()) {
                    section.text.push(' ');
                }
            }
            _ => {}
        }
    }
    let events = events.into_iter().filter(|event| !matches!(event, Event::Html(_) | Event::InlineHtml(_))).map(linked);
    let mut html = String::new();
    push_html(&mut html, events);
    // The policy of the pages forbids styles in attributes.
    let html =
        html.replace(" style=\"text-align: left\"", "").replace("style=\"text-align: right\"", "class=\"right\"");
    sections.retain(|section| !section.title.is_empty());
    Page { name, group, title, html, sections }
}

/// Returns the anchor of a heading as code hosts make it.
fn anchor(title: &str, taken: &mut HashMap<String, usize>) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    let anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
    let times = taken.entry(anchor.clone()).or_default();
    *times += 1;
    if *times > 1 { format!("{anchor}-{}", *times - 1) } else { anchor }
}

/// Leads links between pages to the pages here. What is in the repository alone has no address here.
fn linked(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let (path, place) =
                dest_url.split_once('#').map_or((&*dest_url, None), |(path, place)| (path, Some(place)));
            let place = place.map(|place| format!("#{place}")).unwrap_or_default();
            let name = path
                .strip_suffix(".md")
                .filter(|name| SOURCES.iter().any(|(_, pages)| pages.iter().any(|(own, _)| own == name)));
            let dest_url = match name {
                Some(name) => CowStr::from(format!("/docs/{name}{place}")),
                None if path.is_empty() || path.contains("://") => dest_url,
                None => CowStr::from("/docs/"),
            };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn every_page_of_the_repository_is_among_them() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let files = fs::read_dir(folder).expect("docs").map(|entry| entry.expect("an entry").file_name());
        let files = files.filter_map(|name| name.to_str()?.strip_suffix(".md").map(str::to_owned));
        let names: BTreeSet<String> = all().iter().map(|page| page.name.to_owned()).collect();
        assert_eq!(files.collect::<BTreeSet<_>>(), names);
        for page in all() {
            assert!(!page.title.is_empty() && page.html.contains("<h1 id="), "{}", page.name);
        }
    }

    #[test]
    fn every_link_between_pages_leads_to_a_heading() {
        let ids = |page: &Page| page.sections.iter().map(|section| section.anchor.clone()).collect::<BTreeSet<_>>();
        for page in all() {
            for link in page.html.split("href=\"/docs/").skip(1).map(|rest| rest.split('"').next().unwrap_or_default())
            {
                let Some((name, place)) = link.split_once('#') else { continue };
                let target = named(name).unwrap_or_else(|| panic!("{} links to {link}", page.name));
                assert!(ids(target).contains(place), "{} links to {link}", page.name);
            }
        }
    }

    #[test]
    fn the_search_finds_sections_with_all_words() {
        let hits = search("idempotency_conflict");
        assert_eq!(hits[0].address, "/docs/errors#idempotency_conflict");
        assert!(search("Rehearsal FUNNEL").iter().any(|hit| hit.address.starts_with("/docs/test-an-endpoint#")));
        assert!(search("xyzzy-nowhere").is_empty() && search("  ").is_empty());
    }

    #[test]
    fn anchors_are_those_of_code_hosts() {
        let mut taken = HashMap::new();
        assert_eq!(anchor("What the shop offers, and buying it", &mut taken), "what-the-shop-offers-and-buying-it");
        assert_eq!(anchor("not_found (error)", &mut taken), "not_found-error");
        assert_eq!(anchor("not_found (error)", &mut taken), "not_found-error-1");
    }
}

//! Names that mean the same in searches, from their files.

use ucp_shop::Synonyms;

use super::{document::Document, sections};

/// Reads the files of the section.
pub(super) fn resolve(said: &sections::Search, document: &mut Document<'_>) -> Synonyms {
    let mut all = Synonyms::default();
    for path in &said.synonyms {
        let read = document.text(path).and_then(|text| {
            let at = |line: &String| format!("{}: {line}", path.display());
            Synonyms::read(&text).map_err(|bad| bad.lines().iter().map(at).collect::<Vec<_>>().join("; "))
        });
        if let Some(synonyms) = document.led("search.synonyms", read) {
            all.extend(synonyms);
        }
    }
    all
}

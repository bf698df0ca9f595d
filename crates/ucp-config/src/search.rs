//! Names that mean the same in searches, and the model of vectors, from their files.

use std::{error::Error as _, sync::Arc};

use ucp_shop::{Model, Synonyms};

use super::{document::Document, sections};

/// Reads the files of synonyms.
pub(super) fn synonyms(said: &sections::Search, document: &mut Document<'_>) -> Synonyms {
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

/// Opens the model.
pub(super) fn model(said: &sections::Search, document: &mut Document<'_>) -> Option<Arc<Model>> {
    let opened = Model::open(said.model.as_ref()?).map_err(|error| match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    });
    document.led("search.model", opened).map(Arc::new)
}

//! The languages of the pages, which several shops share where they are read from the same directory.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ucp_handoff::Languages;

use super::document::Document;

/// Languages, and the directory that they are read from besides those that are built in.
#[derive(Clone, Debug)]
pub struct Texts {
    directory: Option<PathBuf>,
    /// The languages.
    pub languages: Languages,
}

impl Texts {
    /// Reads the languages in a directory, unless `known` are of that directory.
    pub(super) fn resolve(directory: Option<&Path>, known: Option<&Self>, document: &mut Document<'_>) -> Self {
        let files = directory.and_then(|directory| fs::read_dir(directory).ok()).into_iter().flatten().flatten();
        let files = files.map(|file| file.path());
        let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|ending| ending == "toml")).collect();
        files.sort();
        for file in files {
            // So that a reload takes notice of them. What cannot be read is told below.
            drop(document.bytes(&file));
        }
        if let Some(known) = known.filter(|known| known.directory.as_deref() == directory) {
            return known.clone();
        }
        let languages =
            directory.map_or_else(|| Ok(Languages::default()), |directory| Languages::read(Some(directory)));
        let languages = languages.unwrap_or_else(|error| {
            document.add("pages.texts_dir", error);
            Languages::default()
        });
        Self { directory: directory.map(Path::to_owned), languages }
    }
}

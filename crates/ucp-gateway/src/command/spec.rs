//! `spec`: writes or compares the generated documents of the repository.

mod command_line;

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Args, Command};
use ucp_config::{reference, schema};
use ucp_console::{errors, sales_terms};
use ucp_wire::documents::{DEFAULT_PUBLIC_URL, documents, pretty};

use super::{Done, output::say};

#[derive(Debug, Args)]
pub(crate) struct SpecOptions {
    /// Write the documents. Without it, they are only compared with the files.
    #[arg(long)]
    pub(crate) write: bool,
    /// Root of the repository.
    #[arg(long, default_value = ".", value_name = "DIRECTORY")]
    pub(crate) root: PathBuf,
}

pub(crate) fn run(options: &SpecOptions, command: Command) -> Done {
    let mut differing = 0;
    let contract = ("openapi/backend-contract.json".to_owned(), ucp_contract::openapi::document());
    let documents = documents(DEFAULT_PUBLIC_URL).into_iter().chain([contract]);
    let documents = documents.map(|(path, document)| (path, pretty(&document)));
    let pages = [
        ("docs/gateway.example.toml".to_owned(), schema::example()),
        ("docs/configuration.md".to_owned(), reference::page()),
        ("docs/cli.md".to_owned(), command_line::page(command)),
        ("docs/errors.md".to_owned(), errors::page()),
        ("docs/mapping-reference.md".to_owned(), ucp_mapped::page()),
        ("docs/sales-terms-reference.md".to_owned(), sales_terms::page()),
    ];
    for (path, text) in documents.chain(pages) {
        let file = options.root.join(&path);
        if fs::read_to_string(&file).is_ok_and(|present| present == text) {
            continue;
        }
        differing += 1;
        if options.write {
            if let Some(directory) = file.parent() {
                fs::create_dir_all(directory)?;
            }
            fs::write(&file, text)?;
            say!("wrote {path}");
        } else {
            say!("{path} differs from what the code generates");
        }
    }
    if differing == 0 {
        say!("all documents are up to date");
    } else if !options.write {
        say!("run `cargo run -p ucp-gateway -- spec --write`");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

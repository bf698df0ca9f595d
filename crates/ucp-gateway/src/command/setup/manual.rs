//! `completions` and `man`: what shells and manual pages take from the command line's definition.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Args, Command};
use clap_complete::{Shell, generate};
use clap_mangen::generate_to;

use crate::command::{Done, output::write};

#[derive(Debug, Args)]
pub(crate) struct CompletionsOptions {
    /// Shell.
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManOptions {
    /// Directory of the pages. Created if it does not exist.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

/// Prints the completions of a shell.
pub(crate) fn completions(options: &CompletionsOptions, mut command: Command) -> Done {
    let mut script = Vec::new();
    generate(options.shell, &mut command, "ucp-gateway", &mut script);
    write(format_args!("{}", String::from_utf8(script)?));
    Ok(ExitCode::SUCCESS)
}

/// Writes the manual pages: one of the program, and one of each command.
pub(crate) fn man(options: &ManOptions, command: Command) -> Done {
    let directory = &options.directory;
    fs::create_dir_all(directory).map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    generate_to(command, directory).map_err(|error| format!("cannot write to {}: {error}", directory.display()))?;
    Ok(ExitCode::SUCCESS)
}

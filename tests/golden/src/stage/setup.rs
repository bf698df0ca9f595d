//! A gateway that is about to be started, or a command with a configuration.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Done, process::command};

/// Start options of a gateway.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(super) configuration: String,
    files: Vec<(String, String)>,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    pub(super) sample: String,
    pub(super) data: Option<PathBuf>,
    pub(super) is_fresh: bool,
    pub(super) is_public: bool,
    pub(super) is_shop: bool,
    pub(super) signs: bool,
    pub(super) is_bare: bool,
    under: Vec<String>,
}

impl Setup {
    /// A gateway with this configuration and the flowers of the sample.
    pub(crate) fn new(configuration: &str) -> Self {
        Self {
            configuration: configuration.to_owned(),
            files: Vec::new(),
            arguments: Vec::new(),
            variables: Vec::new(),
            sample: "flower-shop".to_owned(),
            data: None,
            is_fresh: false,
            is_public: false,
            is_shop: false,
            signs: false,
            is_bare: false,
            under: Vec::new(),
        }
    }

    /// The same with the sample of outdoor goods.
    pub(crate) fn outfitters(self) -> Self {
        Self { sample: "outfitters".to_owned(), ..self }
    }

    /// The same on this data directory.
    pub(crate) fn on(self, data: &Path) -> Self {
        Self { data: Some(data.to_owned()), ..self }
    }

    /// The same on a directory that does not exist yet.
    pub(crate) fn fresh(self) -> Self {
        Self { is_fresh: true, ..self }
    }

    /// The same with another public address.
    pub(crate) fn public(self, url: &str) -> Self {
        Self { is_public: true, ..self.arguments(&["--public-url", url]) }
    }

    /// The same as the shop behind the gateway under comparison: with the old binary on either side.
    pub(crate) fn shop(self) -> Self {
        Self { is_shop: true, ..self }
    }

    /// The same with a key of its own.
    pub(crate) fn signing(self) -> Self {
        Self { signs: true, ..self }
    }

    /// The same without a sample, on a directory that does not exist yet.
    pub(crate) fn bare(self) -> Self {
        Self { is_bare: true, is_fresh: true, ..self }
    }

    /// The same under another program, such as valgrind.
    pub(crate) fn under(self, program: &[String]) -> Self {
        Self { under: program.to_vec(), ..self }
    }

    /// The same with a file beside the configuration.
    pub(crate) fn file(mut self, name: &str, content: &str) -> Self {
        self.files.push((name.to_owned(), content.to_owned()));
        self
    }

    /// The same with more arguments.
    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// The same with a variable of the environment.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A command of a binary that reads the configuration, which is written into a new folder.
    pub(super) fn command(&self, binary: &Path, verb: &str, folder: &Path) -> Done<Command> {
        let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(fault)?;
        let file = folder.join("gateway.toml");
        fs::write(&file, &self.configuration).map_err(fault)?;
        for (name, content) in &self.files {
            fs::write(folder.join(name), content).map_err(fault)?;
        }
        let mut command = match self.under.split_first() {
            Some((program, arguments)) => {
                let mut command = command(Path::new(program));
                command.args(arguments).arg(binary);
                command
            }
            None => command(binary),
        };
        command.arg(verb).arg("--config").arg(file).args(&self.arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }
}

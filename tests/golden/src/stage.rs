//! Equipment of a scene: gateways of the binary under comparison, a directory of its own, and its transcript.

mod setup;
mod shown;

use std::{
    collections::HashMap,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use tempfile::TempDir;

pub(crate) use self::setup::Setup;
use crate::{
    Done,
    normal::Normaliser,
    process::{Gateway, Output, Pipe, command, copy, run},
    transcript::{Entry, Transcript},
    wire::{Request, Response},
};

/// The binaries, and data directories with samples to copy.
#[derive(Debug)]
pub(crate) struct Tools {
    /// The binary under comparison.
    pub(crate) binary: PathBuf,
    /// The binary of shops that stand behind the one under comparison: the same for both sides.
    pub(crate) shop: PathBuf,
    folder: TempDir,
    templates: Mutex<HashMap<String, PathBuf>>,
}

impl Tools {
    pub(crate) fn new(binary: &Path, shop: &Path) -> Done<Self> {
        let found = |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
        let folder = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
        Ok(Self { binary: found(binary)?, shop: found(shop)?, folder, templates: Mutex::default() })
    }

    /// A data directory that a binary filled with a sample.
    fn template(&self, binary: &Path, sample: &str) -> Done<PathBuf> {
        let mut templates = self.templates.lock().unwrap_or_else(PoisonError::into_inner);
        let key = format!("{} {sample}", binary.display());
        if let Some(template) = templates.get(&key) {
            return Ok(template.clone());
        }
        let folder = self.folder.path().join(format!("template-{}", templates.len()));
        let mut serve = command(binary);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--sample", sample, "--data-dir"]).arg(&folder);
        Gateway::start(serve, &folder, None)?.stop()?;
        templates.insert(key, folder.clone());
        Ok(folder)
    }
}

/// The place in which a scene plays.
pub(crate) struct Stage<'a> {
    scene: &'static str,
    pub(crate) tools: &'a Tools,
    folder: TempDir,
    places: usize,
    pub(crate) normal: Normaliser,
    transcript: Transcript,
    names: HashMap<String, usize>,
    /// Number of posts of the present host in the transcript.
    pub(crate) told: usize,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(scene: &'static str, tools: &'a Tools) -> Done<Self> {
        let folder = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
        let mut normal = Normaliser::default();
        normal.know(&folder.path().display().to_string(), "folder");
        let (transcript, names) = (Transcript::default(), HashMap::new());
        Ok(Self { scene, tools, folder, places: 0, normal, transcript, names, told: 0 })
    }

    /// Transcript so far.
    pub(crate) fn finish(self) -> Transcript {
        self.transcript
    }

    /// A path in the folder of the scene that nothing is at yet.
    pub(crate) fn place(&mut self, name: &str) -> PathBuf {
        self.places += 1;
        self.folder.path().join(format!("{}-{name}", self.places))
    }

    /// Writes a file into the folder of the scene.
    pub(crate) fn file(&mut self, name: &str, content: &str) -> Done<PathBuf> {
        let path = self.place(name);
        std::fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Starts a gateway.
    pub(crate) fn start(&mut self, setup: &Setup) -> Done<Gateway> {
        let binary = if setup.is_shop { &self.tools.shop } else { &self.tools.binary };
        let data = match &setup.data {
            Some(data) => data.clone(),
            None => {
                let data = self.place("data");
                if !setup.is_fresh {
                    copy(&self.tools.template(binary, &setup.sample)?, &data)?;
                }
                data
            }
        };
        if setup.signs {
            let mut keys = command(binary);
            keys.args(["keys", "generate", "--data-dir"]).arg(&data);
            run(keys, b"")?;
        }
        let files = self.place("files");
        let mut serve = setup.command(binary, "serve", &files)?;
        // If a public URL is printed, the port has to be known beforehand.
        let listen = if setup.is_public { Some(free_port()?) } else { None };
        let address = listen.unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
        if !setup.is_bare {
            serve.args(["--sample", &setup.sample]);
        }
        serve.args(["--listen", &address.to_string(), "--data-dir"]).arg(&data);
        let gateway = Gateway::start(serve, &data, listen)?;
        self.normal.know(&data.display().to_string(), "data");
        self.normal.know(&gateway.address.to_string(), if setup.is_shop { "shop" } else { "gateway" });
        Ok(gateway)
    }

    /// Starts a gateway on standard input and output.
    pub(crate) fn pipe(&mut self, arguments: &[&str], sample: &str) -> Done<Pipe> {
        let data = self.place("data");
        copy(&self.tools.template(&self.tools.binary, sample)?, &data)?;
        let mut mcp = command(&self.tools.binary);
        mcp.args(["mcp", "--stdio"]).args(arguments).arg("--data-dir").arg(&data);
        Pipe::start(mcp)
    }

    /// Sends a request, and writes down what is answered.
    pub(crate) fn ask(&mut self, name: &str, gateway: &Gateway, request: &Request) -> Response {
        self.normal.sent(&String::from_utf8_lossy(&request.body));
        match gateway.send(request) {
            Ok(response) => {
                let (request, answer) = (self.shown_request(request), self.shown_answer(&response));
                self.write(name, request, answer);
                response
            }
            Err(fault) => {
                let (request, answer) = (self.shown_request(request), self.normal.text(&fault));
                self.write(name, request, answer);
                Response::default()
            }
        }
    }

    /// Writes down an answer that was fetched otherwise.
    pub(crate) fn answered(&mut self, name: &str, request: &Request, response: &Response) {
        self.normal.sent(&String::from_utf8_lossy(&request.body));
        let (request, answer) = (self.shown_request(request), self.shown_answer(response));
        self.write(name, request, answer);
    }

    /// Runs a command of the binary.
    pub(crate) fn run_quietly(&self, arguments: &[&str], input: &[u8]) -> Done<Output> {
        let mut own = command(&self.tools.binary);
        own.args(arguments).current_dir(self.folder.path());
        run(own, input)
    }

    /// Runs a command of the binary, and writes down what it says.
    pub(crate) fn run(&mut self, name: &str, arguments: &[&str], input: &[u8]) -> Done<Output> {
        let output = self.run_quietly(arguments, input)?;
        self.write_output(name, &arguments.join(" "), &output);
        Ok(output)
    }

    /// Runs a command with a configuration, and writes down what it says.
    pub(crate) fn run_with(&mut self, name: &str, setup: &Setup, verb: &str) -> Done<Output> {
        let files = self.place("files");
        self.normal.know(&files.display().to_string(), "files");
        let mut own = setup.command(&self.tools.binary, verb, &files)?;
        own.current_dir(self.folder.path());
        let output = run(own, b"")?;
        self.write_output(name, &format!("{verb} with {}", setup.configuration), &output);
        Ok(output)
    }

    fn write_output(&mut self, name: &str, arguments: &str, output: &Output) {
        let answer =
            format!("exit {:?}\n{}\n--- standard error\n{}", output.status.code(), output.stdout, output.stderr);
        let (request, answer) = (self.normal.text(arguments), self.normal.text(&answer));
        self.write(name, request, answer);
    }

    /// Writes down a text.
    pub(crate) fn note(&mut self, name: &str, text: &str) {
        let answer = self.normal.text(text);
        self.write(name, String::new(), answer);
    }

    /// Writes down a call. A name that was there before gets a number.
    pub(crate) fn write(&mut self, name: &str, request: String, answer: String) {
        let mut name = format!("{}/{name}", self.scene);
        let times = self.names.entry(name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            name = format!("{name}~{times}");
        }
        self.transcript.entries.push(Entry { name, request, answer });
        self.normal.next_call();
    }
}

/// A loopback address that nothing listens on.
pub(crate) fn free_port() -> Done<std::net::SocketAddr> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    free.map_err(|error| format!("a free port: {error}"))
}

//! The documentation keeps its word: every code block in it is run.
//!
//! `console` blocks are run here, against a gateway with the sample shop, and have to print what the page says; `[..]`
//! stands for anything within a line. A command goes on over lines while a quotation mark is open or a backslash ends a
//! line, and JSON that begins with a bracket alone in its line may be wrapped and indented: it is compared without white space between its tokens. `sh` blocks are commands that build or take long: `.ci/run` and `.ci/full` take
//! them from the page and run them as they stand. `toml FILE` blocks are added to the file of that name for the `console`
//! blocks after them, and those of `mapping` are read by the crate of mappings. `json` blocks are read by the crate whose documents they are.
//! Those of `docs/clients.md` and `docs/quickstart-client.md` are tried with the packages of clients and generators, those of
//! `docs/behind-a-proxy.md` with the proxies, in lanes. `rust` blocks are documentation tests of the crate that includes the
//! page. `text` blocks are no code, and `mermaid` blocks are pictures.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use crate::harness::{Ends as _, Gateway, binary, repository};

/// The address that the documentation names.
const ADDRESS: &str = "127.0.0.1:8080";

/// The addresses of gateways that a page starts itself. It writes their process ids into files that end in `.pid`.
const OWN: [&str; 2] = ["127.0.0.1:8081", "127.0.0.1:8082"];

/// A fenced block.
struct Block {
    line: usize,
    info: String,
    text: String,
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repository().join("README.md"), repository().join("tests/clients/README.md")];
    let docs = fs::read_dir(repository().join("docs")).expect("docs").map(|entry| entry.expect("an entry").path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    pages
}

fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).expect("a page");
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(info)) => {
                open = Some(Block { line: number + 1, info: info.trim().to_owned(), text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{}: a block is not closed", page.display());
    blocks
}

/// Returns `true` if `line` is what `pattern` says, where `[..]` stands for anything.
fn fits(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The commands of a console block, each with what it prints.
fn commands(text: &str) -> Vec<(String, Vec<String>)> {
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (_, Some((command, printed))) if printed.is_empty() && is_open(command) => {
                command.push('\n');
                command.push_str(line);
            }
            (Some(command), _) => commands.push((command.to_owned(), Vec::new())),
            (None, last) => last.expect("a block begins with a command").1.push(line.to_owned()),
        }
    }
    for (_, printed) in &mut commands {
        *printed = unwrapped(printed);
    }
    commands
}

/// Returns `true` if a command goes on in the next line.
fn is_open(command: &str) -> bool {
    command.ends_with('\\') || command.matches('\'').count() % 2 == 1
}

/// Output, with each wrapped document of JSON in one line.
fn unwrapped(printed: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut open = 0_usize;
    for line in printed {
        let (compact, opened, closed) = compact(line);
        let is_json = open > 0 || line == "{";
        match lines.last_mut() {
            Some(last) if open > 0 => last.push_str(&compact),
            _ => lines.push(if is_json { compact } else { line.clone() }),
        }
        if is_json {
            open = (open + opened).checked_sub(closed).expect("brackets that were opened");
        }
    }
    assert_eq!(open, 0, "a document is not closed: {printed:?}");
    lines
}

/// A line of JSON without white space between its tokens, and how many objects and arrays it opens and closes. The dots
/// of an elision are no array.
fn compact(line: &str) -> (String, usize, usize) {
    let (mut compact, mut opened, mut closed) = (String::new(), 0, 0);
    let (mut within, mut escaped) = (false, false);
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("[..]") {
            compact.push_str("[..]");
            (rest, escaped) = (behind, false);
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '"' if !escaped => within = !within,
            '{' | '[' if !within => opened += 1,
            '}' | ']' if !within => closed += 1,
            _ => {}
        }
        escaped = within && c == '\\' && !escaped;
        if within || !c.is_whitespace() {
            compact.push(c);
        }
    }
    (compact, opened, closed)
}

/// Working directory of the commands of a page. Processes that they left running end with it.
struct Workplace(tempfile::TempDir);

impl Workplace {
    fn new() -> Self {
        let folder = crate::harness::folder();
        std::os::unix::fs::symlink(repository().join("examples"), folder.path().join("examples")).expect("a link");
        Self(folder)
    }

    /// Adds a block to a file.
    fn add(&self, file: &str, text: &str) {
        let file = fs::OpenOptions::new().create(true).append(true).open(self.0.path().join(file));
        file.and_then(|mut file| file.write_all(text.as_bytes())).expect("written");
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let files = fs::read_dir(self.0.path()).into_iter().flatten().flatten().map(|entry| entry.path());
        for file in files.filter(|path| path.extension().is_some_and(|extension| extension == "pid")) {
            // Most of them have ended already.
            let _ = fs::read_to_string(file).map(|process| Command::new("kill").arg(process.trim()).ends());
        }
    }
}

#[test]
fn console_blocks_print_what_they_say() {
    for tool in ["curl", "python3"] {
        if !Command::new(tool).arg("--version").ends().status.success() {
            println!("skipped: the blocks call {tool}, which is not on this machine");
            return;
        }
    }
    let directory = Path::new(env!("CARGO_BIN_EXE_ucp-gateway")).parent().expect("a directory").to_owned();
    let search_path = std::env::var("PATH").unwrap_or_default();
    let search_path = format!("{}:{search_path}", directory.display());
    let mut run = 0;
    for page in pages() {
        let gateway = Gateway::shared();
        let address = gateway.address.to_string();
        let here = Workplace::new();
        let own = OWN.map(|named| (named, ucp_testkit::leash::free_address().to_string()));
        let actual = |text: &str| {
            let text = text.replace(ADDRESS, &address);
            own.iter().fold(text, |text, (named, free)| text.replace(named, free))
        };
        for block in &blocks(&page) {
            if let Some(file) = block.info.strip_prefix("toml ").filter(|file| *file != "mapping") {
                here.add(file, &format!("{}\n", actual(&block.text)));
            }
            if block.info != "console" {
                continue;
            }
            for (command, expected) in commands(&block.text) {
                let at = format!("{}:{}: {command}", page.display(), block.line);
                let output = Command::new("bash")
                    .args(["-c", &format!("{{ {}\n}} 2>&1", actual(&command))])
                    .current_dir(here.0.path())
                    .env("PATH", &search_path)
                    .envs(binary().get_envs().filter_map(|(name, value)| Some((name, value?))))
                    .ends();
                let printed = String::from_utf8_lossy(&output.stdout).into_owned();
                let lines = unwrapped(&printed.lines().map(str::to_owned).collect::<Vec<_>>());
                assert_eq!(lines.len(), expected.len(), "{at}\n{printed}");
                for (pattern, line) in expected.iter().zip(lines) {
                    assert!(fits(&actual(pattern), &line), "{at}\nsays   {pattern}\nprints {line}");
                }
                run += 1;
            }
        }
    }
    assert!(run >= 6, "only {run} commands were run");
}

#[test]
fn every_block_is_run_somewhere() {
    let lane = |name: &str| fs::read_to_string(repository().join("tests/clients/lanes").join(name)).expect("a lane");
    let gates = [".ci/run", ".ci/full"].map(|gate| fs::read_to_string(repository().join(gate)).expect(gate)).concat();
    let doctests =
        fs::read_to_string(repository().join("crates/ucp-testkit/src/lib.rs")).expect("the crate of doubles");
    let mut named = Vec::new();
    for page in pages() {
        for block in blocks(&page) {
            let at = format!("{}:{}", page.display(), block.line);
            match block.info.split_once(' ') {
                None if ["console", "text", "mermaid"].contains(&&*block.info) => {}
                None if block.info == "rust" => {
                    let page = page.file_name().and_then(|name| name.to_str()).expect("a name");
                    let included = doctests.contains(&format!("#[doc = include_str!(\"../../../docs/{page}\")]"));
                    assert!(included, "{at}: no crate has it among its documentation tests");
                }
                Some((_, name)) if page.ends_with("docs/clients.md") => {
                    let tried = ["snippets.py", "assistants.mjs"].map(lane).concat();
                    assert!(
                        tried.contains(&format!("(\"{name}\")")) || tried.contains(&format!("['{name}',")),
                        "{at}: no lane tries it"
                    );
                }
                // The lane finds every block of the page, and fails if it tries one of them not.
                Some(_) if page.ends_with("docs/quickstart-client.md") => {
                    let lane = lane("documents.mjs");
                    assert!(
                        lane.contains("docs/quickstart-client.md") && lane.contains("every block is tried"),
                        "{at}"
                    );
                }
                Some((_, name)) if page.ends_with("docs/behind-a-proxy.md") => {
                    assert!(lane("proxies.py").contains(&format!("(\"{name}\")")), "{at}: no lane tries it");
                }
                Some(("json", name)) => {
                    let readers = ["crates/ucp-contract/tests/it/guide.rs", "tests/it/purchase/authentication.rs"];
                    let reads = |file: &&str| {
                        let text = fs::read_to_string(repository().join(file)).expect("the tests of blocks");
                        text.contains(&format!("(\"{name}\")"))
                    };
                    assert!(readers.iter().any(reads), "{at}: nothing reads it");
                }
                Some(("toml", "mapping")) => {
                    let tests = fs::read_to_string(repository().join("crates/ucp-mapped/tests/it/guide.rs"));
                    assert!(tests.expect("the tests of blocks").contains("src/page.md"), "{at}: nothing reads it");
                }
                Some(("toml", "mapping-part")) => {
                    let name = "mapping-part";
                    let text =
                        fs::read_to_string(repository().join("tests/it/mapped.rs")).expect("the tests of mappings");
                    assert!(text.contains(&format!("(\"{name}\")")), "{at}: nothing reads it");
                }
                Some(("toml", file)) => {
                    let page = fs::read_to_string(&page).expect("a page");
                    assert!(page.contains(&format!(" {file}")), "{at}: no command reads it");
                }
                Some(("sh", name)) => {
                    let runs = gates.contains(&format!("$(documented {name})"));
                    assert!(runs, "{at}: neither .ci/run nor .ci/full runs `{name}`");
                    named.push(name.to_owned());
                }
                _ => panic!("{at}: nothing runs a block of `{}`", block.info),
            }
        }
    }
    named.sort();
    named.dedup();
    assert!(["run", "test", "clients"].iter().all(|name| named.iter().any(|own| own == name)), "{named:?}");
}

#[test]
fn wrapped_json_is_one_line() {
    let block = "$ curl -d '{\n  \"a b\": 1\n}' \\\n  -s\n{\n  \"a b\": [ 1, 2 ],\n  [..]\n  \"c\": \"[..] d\"\n}\ndone: 1\n$ ls\n";
    let read = commands(block);
    assert_eq!(read[0].0, "curl -d '{\n  \"a b\": 1\n}' \\\n  -s");
    assert_eq!(read[0].1, ["{\"a b\":[1,2],[..]\"c\":\"[..] d\"}", "done: 1"]);
    assert_eq!(read[1], ("ls".to_owned(), vec![]));
}

#[test]
fn elisions_match_within_a_line() {
    for (pattern, line, expected) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a[..]", "ab", true),
        ("[..]b[..]d", "abcd", true),
        ("[..]b[..]d", "abce", false),
        ("a[..]a", "a", false),
        ("{[..]}", "{}", true),
    ] {
        assert_eq!(fits(pattern, line), expected, "{pattern} {line}");
    }
}

//! Commands beside a gateway of another user, and commands whose reader has gone.

use std::{
    fs,
    io::Read as _,
    os::unix::{
        fs::{MetadataExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::harness::{Ends as _, Gateway, binary, folder};

/// User and group of a gateway that root does not run as.
const NOBODY: u32 = 65_532;

/// Everything below a directory, and itself.
fn below(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a directory") {
            all.extend(below(&entry.expect("an entry").path()));
        }
    }
    all
}

#[test]
fn what_root_writes_into_a_data_directory_belongs_to_its_owner() {
    let home = folder();
    if fs::metadata("/proc/self").is_ok_and(|process| process.uid() != 0) {
        println!("skipped: only root can write for another user");
        return;
    }
    fs::set_permissions(home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    let data = home.path().join("data");
    fs::create_dir(&data).expect("a directory");
    chown(&data, Some(NOBODY), Some(NOBODY)).expect("an owner");
    let products = home.path().join("products.jsonl");
    let mug = r#"{"id":"mug","title":"Mug","description":{"plain":"."},"variants":[{"id":"mug-1","title":"Mug","price":{"amount":900,"currency":"USD"}}]}"#;
    fs::write(&products, mug).expect("a file");
    let (products, backup) = (products.to_str().expect("UTF-8"), home.path().join("backup.db"));
    let backup = backup.to_str().expect("UTF-8");
    let restored = data.join("restored");
    for (arguments, dir) in [
        (&["import", products] as &[&str], &data),
        (&["keys", "generate"], &data),
        (&["terms"], &data),
        (&["data", "backup", backup], &data),
        (&["data", "restore", backup], &restored),
        (&["keys", "rotate"], &restored),
    ] {
        let output = binary().args(arguments).arg("--data-dir").arg(dir).ends();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        for path in below(&data) {
            assert_eq!(fs::metadata(&path).expect("a file").uid(), NOBODY, "{}, after {arguments:?}", path.display());
        }
    }
    let program = home.path().join("ucp-gateway");
    fs::copy(env!("CARGO_BIN_EXE_ucp-gateway"), &program).expect("a copy");
    let mut command = std::process::Command::new(&program);
    command.env_clear().args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&restored);
    let mut gateway = Gateway::spawn(command.uid(NOBODY).gid(NOBODY), None);
    assert_eq!(gateway.get("/.well-known/ucp").status, 200);
    assert!(gateway.terminate().success());
}

#[test]
fn a_reader_that_has_seen_enough_ends_a_command_quietly() {
    for arguments in [&["completions", "bash"] as &[&str], &["config", "schema"], &["terms", "--schema"]] {
        let mut child =
            binary().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process");
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
        assert_eq!((said.as_str(), child.wait().expect("an end").code()), ("", Some(141)), "{arguments:?}");
    }
}

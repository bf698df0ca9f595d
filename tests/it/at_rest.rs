//! What lies in the data directory: who can read it, and what is never in it.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::{
    harness::{Ends as _, Gateway, binary, folder},
    purchase::shopper::{Shopper, ready},
};

/// Everything below a directory, with itself.
fn everything(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_owned()];
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(everything(&path)) } else { found.push(path) }
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[track_caller]
fn assert_private(directory: &Path) {
    for path in everything(directory) {
        assert_eq!(mode(&path) & 0o077, 0, "{}: {:o}", path.display(), mode(&path));
    }
}

#[test]
fn the_data_directory_is_for_its_owner() {
    let root = folder();
    let data = root.path().join("new");
    let gateway = Gateway::on(&data, &[]);
    let shopper = Shopper::rest(&gateway);
    let checkout = shopper.create(&ready(&[("var_abc123_blue_10", 1)]));
    assert_eq!(shopper.complete(&checkout, "success_token")["status"], "completed");
    for arguments in [&["keys", "generate", "--data-dir"][..], &["store", "check", "--data-dir"]] {
        let done = binary().args(arguments).arg(&data).ends();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    }
    assert_eq!(mode(&data), 0o700);
    assert!(everything(&data).len() > 5, "{:?}", everything(&data));
    assert_private(&data);
}

/// As versions before left it.
#[test]
fn a_data_directory_that_others_can_read_is_closed() {
    let root = folder();
    let data = root.path().join("old");
    drop(Gateway::on(&data, &[]));
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    open(&data.join("shop.db"), 0o644);
    open(&data, 0o755);
    let gateway = Gateway::on(&data, &[]);
    assert_eq!((mode(&data), mode(&data.join("shop.db"))), (0o700, 0o600));
    drop(gateway);
}

//! The container image and the unit of systemd, as far as they can be tested without either: the binary is started as the
//! image starts it, with the same arguments and environment, as a user without rights, in a directory it cannot write.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::Command,
};

use crate::harness::{Gateway, repository};

/// The instructions of the last stage, each with its words; continued lines are joined.
fn instructions() -> Vec<(String, String)> {
    let text = fs::read_to_string(repository().join("Dockerfile")).expect("a Dockerfile").replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let split = |line: &str| line.split_once(' ').map(|(name, rest)| (name.to_owned(), rest.trim().to_owned()));
    let all: Vec<_> = lines.map(|line| split(line).expect("an instruction")).collect();
    let last = all.iter().rposition(|(name, _)| name == "FROM").expect("a stage");
    all[last..].to_vec()
}

fn words(instruction: &str) -> Vec<String> {
    let text = instructions().into_iter().find(|(name, _)| name == instruction).expect(instruction).1;
    serde_json::from_str(&text).unwrap_or_else(|_| text.split_whitespace().map(str::to_owned).collect())
}

#[test]
fn the_image_starts_without_rights_and_writes_only_its_volume() {
    let root = crate::harness::folder();
    let (volume, elsewhere) = (root.path().join("volume"), root.path().join("elsewhere"));
    for folder in [&volume, &elsewhere] {
        fs::create_dir(folder).expect("a directory");
    }
    // As the image's own file system: there for everyone to read and for no one to write.
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    allow(root.path(), 0o755);
    allow(&elsewhere, 0o555);
    let user: Vec<u32> = words("USER")[0].split(':').map(|id| id.parse().expect("a number")).collect();
    assert!(user.iter().all(|id| *id > 0), "the image does not run as root");

    let entry = [words("ENTRYPOINT"), words("CMD")].concat();
    assert_eq!(entry[0], "/usr/local/bin/ucp-gateway");
    let binary = elsewhere.join("ucp-gateway");
    allow(&elsewhere, 0o755);
    fs::copy(env!("CARGO_BIN_EXE_ucp-gateway"), &binary).expect("a copy");
    allow(&elsewhere, 0o555);

    let mut command = Command::new(&binary);
    command.args(&entry[1..]).current_dir(&elsewhere).env_clear();
    let mount = words("VOLUME").remove(0);
    for (name, value) in words("ENV").iter().filter_map(|pair| pair.split_once('=')) {
        // The volume and a free port stand for the ones of the container.
        let value = value.replace(&mount, volume.to_str().expect("text")).replace("0.0.0.0:8080", "127.0.0.1:0");
        command.env(name, value);
    }
    if fs::metadata("/proc/self").map(|process| std::os::unix::fs::MetadataExt::uid(&process)).is_ok_and(|id| id == 0) {
        std::os::unix::fs::chown(&volume, Some(user[0]), Some(user[1])).expect("ownership");
        command.uid(user[0]).gid(user[1]);
    } else {
        println!("not root: the binary is started as the present user, not as that of the image");
    }
    let mut gateway = Gateway::spawn(&command, None);
    assert_eq!(gateway.get("/.well-known/ucp").status, 200);
    assert!(volume.join("shop.db").is_file());
    assert!(gateway.terminate().success(), "it stops on SIGTERM");
}

/// An empty image has no `/tmp`, and nothing of it can be written but its volume.
#[test]
fn a_new_shop_needs_no_directory_for_temporary_files() {
    let root = crate::harness::folder();
    let (volume, elsewhere) = (root.path().join("volume"), root.path().join("elsewhere"));
    for folder in [&volume, &elsewhere] {
        fs::create_dir(folder).expect("a directory");
    }
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    allow(root.path(), 0o755);
    allow(&elsewhere, 0o555);
    let hidden = "mount -t tmpfs -o ro tmpfs /tmp && mount -t tmpfs -o ro tmpfs /var/tmp";
    let can = Command::new("unshare").args(["--mount", "sh", "-c", hidden]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("skipped: nothing can be mounted here");
        return;
    }
    std::os::unix::fs::chown(&volume, Some(65_532), Some(65_532)).expect("ownership");
    let program = root.path().join("ucp-gateway");
    fs::copy(env!("CARGO_BIN_EXE_ucp-gateway"), &program).expect("a copy");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c"]);
    command.arg(format!("{hidden} && exec setpriv --reuid 65532 --regid 65532 --clear-groups \"$@\""));
    command.arg("sh").arg(&program).args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&volume);
    let mut gateway = Gateway::spawn(command.current_dir(&elsewhere), None);
    assert_eq!(gateway.get("/.well-known/ucp").status, 200);
    assert!(gateway.terminate().success(), "it stops on SIGTERM");
}

#[test]
fn compose_keeps_what_the_image_promises() {
    let compose = fs::read_to_string(repository().join("docker-compose.yml")).expect("a compose file");
    for promise in ["read_only: true", "no-new-privileges:true", "cap_drop:", "UCP_GATEWAY_PUBLIC_URL:", "shop:/data"] {
        assert!(compose.contains(promise), "{promise}");
    }
    // Services begin at the second column. Compose writes `configs` and `secrets` with a `content` or from the environment into the
    // container, which one that is read-only refuses.
    for service in compose.split("\n\n  ").filter(|service| service.contains("read_only: true")) {
        assert!(!service.contains("configs:") && !service.contains("secrets:"), "{service}");
    }
    for file in compose.lines().filter_map(|line| line.trim().strip_prefix("- ./")?.split(':').next()) {
        assert!(repository().join(file).exists(), "{file} is mounted");
    }
    let stop_signal = words("STOPSIGNAL");
    assert_eq!(stop_signal, ["SIGTERM"]);
    assert_eq!(words("FROM"), ["scratch"]);
}

/// Stop timeouts exceed the time for requests in progress.
#[test]
fn the_unit_and_compose_wait_for_what_is_under_way() {
    let read = |name: &str| fs::read_to_string(repository().join(name)).expect(name);
    let number = |file: &str, name: &str| -> u64 {
        let text = read(file);
        let value = text.lines().find_map(|line| line.trim_start_matches(['#', ' ']).strip_prefix(name)).expect(name);
        value.trim_start_matches([' ', '=', ':']).trim_end_matches('s').parse().expect(name)
    };
    let example = "docs/gateway.example.toml";
    let most = number(example, "drain_timeout_ms") + number(example, "shutdown_delay_ms");
    assert!(most > 0);
    for (file, name) in
        [("packaging/ucp-gateway.service", "TimeoutStopSec"), ("docker-compose.yml", "stop_grace_period")]
    {
        assert!(number(file, name) * 1_000 > most, "{file}: {name} must be more than {most} ms");
    }
}

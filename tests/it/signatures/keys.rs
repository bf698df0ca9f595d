//! The gateway's own keys: made, shown, rotated, published (rules DISC-13, DISC-14), and used from the command line.

use super::*;
use crate::harness::{Ends as _, eventually, sample_shop};

/// Twice as long as a running gateway takes to look at its keys again, and more.
const PATIENCE: Duration = Duration::from_secs(60);

fn root(gateway: &Gateway) -> Value {
    gateway.get("/.well-known/ucp").json()
}

#[test]
fn disc_13_the_profile_publishes_public_keys_in_the_form_of_each_release() {
    let data = sample_shop();
    keys(&["generate"], data.path());
    keys(&["generate", "--algorithm", "es384"], data.path());
    let listed: Value = serde_json::from_str(&keys(&["list", "--json"], data.path())).expect("JSON");
    let gateway = Setup::new(REQUIRE).start_on(data);
    let newest = root(&gateway);
    assert_eq!(newest["keys"], listed["keys"], "newest first");
    assert_eq!(newest["signing_keys"], listed["keys"], "for older readers");
    assert_eq!(
        published(&newest).iter().map(PublicKey::algorithm).collect::<Vec<_>>(),
        [Some(Algorithm::Es384), Some(Algorithm::Es256)]
    );
    for jwk in crate::harness::elements(&listed["keys"]) {
        for member in ["kid", "kty", "crv", "x", "y"] {
            assert!(jwk[member].is_string(), "{jwk}");
        }
    }
    for release in Release::ALL.iter().copied() {
        let leaf = gateway.get(&format!("/ucp/{release}/.well-known/ucp")).json();
        assert_eq!(leaf["signing_keys"], listed["keys"], "{release}");
        assert_eq!(leaf.get("keys").is_some(), release == Release::V2026_08_25, "{release}");
    }
}

/// A running gateway looks at its keys every few seconds. Both are waited for together.
#[test]
fn disc_14_a_running_gateway_picks_up_the_first_key_and_every_rotation() {
    std::thread::scope(|scope| {
        scope.spawn(a_gateway_without_keys_publishes_none_and_takes_the_first_one_up);
        a_rotation_is_picked_up_and_the_old_key_stays_for_its_grace_period();
    });
}

/// Earlier signatures can still be verified.
fn a_rotation_is_picked_up_and_the_old_key_stays_for_its_grace_period() {
    let data = sample_shop();
    keys(&["generate"], data.path());
    let gateway = Setup::new(&format!("{REQUIRE}\n[signatures]\nresponses = \"all\"\n")).start_on(data);
    let before = root(&gateway);
    let old = kids(&before, "keys")[0].to_owned();
    let signed = gateway.rpc(&crate::harness::rpc("ping", &json!({})));
    assert_eq!(signer_of(&signed, &published(&before)), Some(old.clone()));
    let tag = gateway.get("/.well-known/ucp").header("etag").expect("an entity tag").to_owned();

    let said = keys(&["rotate"], gateway.data());
    assert!(said.contains(&format!("{old} is retired, and published for 7 more days")), "{said}");
    let after = eventually("the new key is published", PATIENCE, || {
        Some(root(&gateway)).filter(|profile| kids(profile, "keys").len() == 2)
    });
    let new = kids(&after, "keys")[0].to_owned();
    assert_eq!((kids(&after, "keys"), kids(&after, "signing_keys")), (vec![&*new, &old], vec![&*new, &old]));
    for release in Release::ALL {
        let leaf = gateway.get(&format!("/ucp/{release}/.well-known/ucp")).json();
        assert_eq!(kids(&leaf, "signing_keys"), [&*new, &old], "{release}");
    }
    assert_ne!(gateway.get("/.well-known/ucp").header("etag"), Some(&*tag), "caches are told");
    assert_eq!(signer_of(&signed, &published(&after)), Some(old.clone()), "old signatures verify on");
    let fresh = gateway.rpc(&crate::harness::rpc("ping", &json!({})));
    assert_eq!(signer_of(&fresh, &published(&after)), Some(new.clone()), "new ones are made with the new key");

    // When somebody else may have got hold of a key, it is gone at once.
    let said = keys(&["rotate", "--grace-days", "0"], gateway.data());
    let listed: Value = serde_json::from_str(&keys(&["list", "--json"], gateway.data())).expect("JSON");
    let left = kids(&listed, "keys");
    assert!(left.len() == 1 && left[0] != new && said.contains(left[0]), "{said} {listed}");
}

/// DISC-14, SIG-02: a key of another algorithm signs from its rotation on, and what older ones have signed still verifies.
#[test]
fn a_rotation_can_change_the_algorithm() {
    let data = sample_shop();
    keys(&["generate", "--algorithm", "es256"], data.path());
    let gateway = Setup::new(&format!("{REQUIRE}\n[signatures]\nresponses = \"all\"\n")).start_on(data);
    let ping = || gateway.rpc(&crate::harness::rpc("ping", &json!({})));
    let mut signed = vec![(kids(&root(&gateway), "keys")[0].to_owned(), ping())];
    for (algorithm, form) in [("ed25519", ("OKP", "Ed25519")), ("es384", ("EC", "P-384")), ("es256", ("EC", "P-256"))] {
        keys(&["rotate", "--algorithm", algorithm], gateway.data());
        let profile = eventually("the new key is published", PATIENCE, || {
            Some(root(&gateway)).filter(|profile| kids(profile, "keys").len() == signed.len() + 1)
        });
        let new = &profile["keys"][0];
        assert_eq!((new["kty"].as_str(), new["crv"].as_str()), (Some(form.0), Some(form.1)), "{new}");
        signed.push((new["kid"].as_str().expect("a kid").to_owned(), ping()));
        for (kid, answer) in &signed {
            assert_eq!(signer_of(answer, &published(&profile)).as_ref(), Some(kid), "after a change to {algorithm}");
        }
    }
}

fn a_gateway_without_keys_publishes_none_and_takes_the_first_one_up() {
    let gateway = Configured::start(REQUIRE);
    let bare = root(&gateway);
    assert!(bare.get("keys").is_none() && bare.get("signing_keys").is_none(), "{bare}");
    assert_eq!(keys(&["list"], gateway.data()), "");
    let said = keys(&["generate"], gateway.data());
    let listed = keys(&["list"], gateway.data());
    let kid = said.split_whitespace().next().expect("a kid");
    assert!(listed.starts_with(kid) && listed.contains("ES256") && listed.trim_end().ends_with("signs"), "{listed}");
    let profile = eventually("the key is published", PATIENCE, || {
        Some(root(&gateway)).filter(|profile| profile.get("keys").is_some())
    });
    assert_eq!(kids(&profile, "keys"), [kid]);
}

#[cfg(unix)]
#[test]
fn private_keys_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let data = crate::harness::folder();
    keys(&["generate"], data.path());
    let folder = data.path().join("keys");
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).expect("keys") {
        assert_eq!(mode(&entry.expect("a file").path()), 0o600);
    }
}

/// A file among the keys that is none is named, and nothing of it is shown.
/// A file that may not grow stands for a disk that is full.
#[test]
fn a_full_disk_during_a_rotation_leaves_the_keys_as_they_were() {
    let data = crate::harness::folder();
    keys(&["generate"], data.path());
    let before = keys(&["list", "--json"], data.path());
    let gateway = binary().get_program().to_owned();
    let mut command = std::process::Command::new("bash");
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" keys rotate --data-dir \"$1\""]);
    let output = command.arg(gateway).arg(data.path()).ends();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.starts_with("ucp-gateway: "), "{said}");
    assert_eq!(keys(&["list", "--json"], data.path()), before);
    let left = std::fs::read_dir(data.path().join("keys")).expect("a directory").count();
    assert_eq!(left, 1, "nothing half done is left");
    keys(&["rotate"], data.path());
}

#[test]
fn a_damaged_key_keeps_the_gateway_from_starting_and_is_named() {
    let data = sample_shop();
    let kid = keys(&["generate"], data.path()).split_whitespace().next().expect("a kid").to_owned();
    let file = data.path().join(format!("keys/{kid}.json"));
    let whole = std::fs::read_to_string(&file).expect("the key");
    let private = serde_json::from_str::<Value>(&whole).expect("JSON")["d"].as_str().expect("a key").to_owned();
    for damaged in
        [&whole[..whole.len() / 2], "", "{}", &whole.replace(&kid, "other"), &whole.replace("P-256", "P-384")]
    {
        std::fs::write(&file, damaged).expect("a file");
        for command in [&["keys", "list"][..], &["serve", "--listen", "127.0.0.1:0"]] {
            let output = binary().args(command).arg("--data-dir").arg(data.path()).ends();
            let said = String::from_utf8(output.stderr).expect("UTF-8");
            assert!(!output.status.success() && said.contains(&kid) && said.contains("not a key"), "{said}");
            assert!(!said.contains(&private) && !said.contains("panicked"), "{said}");
        }
    }
}

/// A command that reads a message from its standard input.
fn piped(arguments: &[&str], message: &[u8]) -> (bool, Vec<u8>, String) {
    let output = binary().args(arguments).ends_with(message);
    (output.status.success(), output.stdout, String::from_utf8(output.stderr).expect("UTF-8"))
}

/// `sign` makes what the gateway takes, and `verify` says the same as the gateway.
#[test]
fn the_commands_sign_and_verify_what_the_gateway_takes() {
    let (gateway, host) = place();
    for algorithm in ["es256", "es384"] {
        let data = crate::harness::folder();
        keys(&["generate", "--algorithm", algorithm], data.path());
        let mut profile = profile_of(Release::NEWEST);
        profile["keys"] =
            serde_json::from_str::<Value>(&keys(&["list", "--json"], data.path())).expect("JSON")["keys"].take();
        let file = data.path().join("profile.json");
        std::fs::write(&file, profile.to_string()).expect("a file");
        let url = host.profile(&format!("/{algorithm}"), &profile);
        let draft = Draft::new(&gateway, Transport::Rest, &url);
        let body = String::from_utf8(draft.body.clone()).expect("a text");
        let message = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nUCP-Agent: {}\r\nContent-Length: {}\r\n\r\n{body}",
            draft.path,
            gateway.address,
            agent(&url),
            body.len(),
        );
        let data = data.path().to_str().expect("a path");
        let (fine, signed, base) =
            piped(&["sign", "--data-dir", data, "--scheme", "http", "--explain", "-"], message.as_bytes());
        assert!(fine && base.contains("\"@method\": POST"), "{base}");
        let response = gateway.raw(&signed).expect("an answer");
        assert_eq!(response.status, 200, "{response:?}");

        let verify = ["verify", "--keys", file.to_str().expect("a path"), "--scheme", "http", "-"];
        let (fine, said, _) = piped(&verify, &signed);
        let said = String::from_utf8(said).expect("UTF-8");
        assert!(fine && said.contains("valid: signed with the key"), "{said}");
        let tampered = String::from_utf8(signed).expect("a text").replace("prod_abc123", "prod_abc124");
        let response = gateway.raw(tampered.as_bytes()).expect("an answer");
        assert_eq!(Refused::read(Transport::Rest, &response).verdict(), (400, "digest_mismatch"));
        let (fine, said, _) = piped(&verify, tampered.as_bytes());
        assert!(!fine && String::from_utf8_lossy(&said).contains("digest_mismatch"), "{said:?}");
    }
}

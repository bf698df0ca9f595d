//! Several shops in one process.

use super::*;

#[test]
fn a_shop_inherits_what_it_does_not_state() {
    let text = r#"
        [data]
        dir = "all"
        cache_mb = 5
        [limits]
        max_open_carts = 7
        keyed = { per_second = 3, burst = 4 }
        [upstream]
        backend = "http"
        url = "https://shop.example.com"
        token_env = "TOKEN"
        [[platform]]
        name = "agent"
        profile = "https://agent.example/"
        [[shop]]
        name = "one"
        hosts = ["One.example"]
        [[shop]]
        name = "two"
        hosts = ["two.example", "www.two.example"]
        path = "/shops/two"
        [shop.data]
        cache_mb = 6
        [shop.upstream]
        token_file = "token"
        [shop.limits]
        keyed = "none"
        [[shop.platform]]
        name = "other"
        profile = "https://other.example/"
        [shop.server]
        public_url = "https://elsewhere.example:8443"
        [[shop]]
        name = "three"
        path = "/three"
        [shop.upstream]
        backend = "embedded"
    "#;
    let mut case = Case::new().with("token", "of-two");
    case.environment.push(("TOKEN", "of-all".to_owned()));
    let all = case.resolve_all(text, &["--listen", "0.0.0.0:80", "--sample", "flower-shop"]).expect("three shops");
    let [one, two, three] = &*all.shops else { panic!("three shops") };
    assert!(all.single().is_none() && all.drain() >= one.drain);
    assert_eq!((one.mount.hosts.clone(), &*one.mount.path), (vec!["one.example".to_owned()], ""));
    assert_eq!(two.mount.to_string(), "two.example/shops/two, www.two.example/shops/two");
    let local = Url::parse("http://127.0.0.1:8080").expect("an address");
    let url = |shop: &Settings| shop.public_url(&local).to_string();
    assert_eq!(url(one), "https://one.example/");
    assert_eq!(url(two), "https://elsewhere.example:8443/shops/two");
    assert_eq!(url(three), "http://127.0.0.1:8080/three");
    let caches = [one, two, three].map(|shop| shop.sections.data.cache_mb.count());
    assert_eq!(caches, [5, 6, 5]);
    for shop in [one, two, three] {
        assert_eq!(shop.sections.limits.max_open_carts.map(Number::count), Some(7));
        assert_eq!(shop.sections.data.sample.0.name, "flower-shop");
        assert!(shop.sections.data.dir.ends_with("all"));
    }
    assert!(one.dir().ends_with("all/shops/one") && two.dir().ends_with("all/shops/two"));
    let token = |shop: &Settings| shop.upstream.as_ref()?.token.as_ref().map(|token| token.reveal().to_owned());
    assert_eq!((token(one).as_deref(), token(two).as_deref()), (Some("of-all"), Some("of-two")));
    assert!(three.upstream.is_none(), "another backend inherits nothing of the section");
    let names = |shop: &Settings| shop.platforms.iter().map(|platform| platform.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(one), names(two)), (vec!["agent".to_owned()], vec!["other".to_owned()]));
    assert!(one.quotas().platforms[0].is_some() && two.quotas().platforms[0].is_none());
    // A shop is the same for as long as its own values are, wherever they stand, with the content of its files.
    let again = |text: &str, case: &Case| {
        let all = case.resolve_all(text, &["--listen", "0.0.0.0:80", "--sample", "flower-shop"]).expect("shops");
        all.shops.iter().map(|shop| shop.fingerprint).collect::<Vec<_>>()
    };
    let before: Vec<_> = all.shops.iter().map(|shop| shop.fingerprint).collect();
    let moved = text.replace("[[shop]]\n        name = \"one\"", "# a line\n\n[[shop]]\n        name = \"one\"");
    assert_eq!(again(&format!("[log]\nlevel = \"off\"\n{moved}"), &case), before);
    let differs = |after: Vec<u64>| before.iter().zip(after).map(|(one, other)| *one != other).collect::<Vec<_>>();
    assert_eq!(differs(again(&text.replace("cache_mb = 6", "cache_mb = 9"), &case)), [false, true, false]);
    assert_eq!(differs(again(&text.replace("cache_mb = 5", "cache_mb = 9"), &case)), [true, false, true]);
    let case = case.with("token", "another");
    assert_eq!(differs(again(text, &case)), [false, true, false]);
    // What is shown of the settings amounts to the same.
    let again = case.resolve_all(&all.to_string(), &[]).expect("what is shown");
    let without_secrets = |all: &Configuration| {
        all.to_string().lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_secrets(&again), without_secrets(&all));
}

#[test]
fn what_is_shown_of_several_shops_can_be_read() {
    let text = "[data]\ndir = \"/srv/shops\"\n[limits]\nmax_open_carts = 7\n[[shop]]\nname = \"one\"\nhosts = [\"one.localhost\"]\n[shop.data]\ncache_mb = 6\n\
                [[shop]]\nname = \"two\"\npath = \"/two\"\n[[shop.payment]]\nkind = \"sandbox\"\nid = \"a\"\n";
    let all = Case::new().resolve_all(text, &[]).expect("two shops");
    let shown = all.to_string();
    for expected in [
        "[server]\nlisten",
        "[[shop]]\nname = \"one\"\nhosts = [\"one.localhost\"]\n",
        "[shop.data]",
        "cache_mb = 6",
        "[[shop.payment]]\n",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let again = Case::new().resolve_all(&shown, &[]).expect("what is shown");
    assert_eq!(again.to_string(), shown);
    assert!(
        all.shops.iter().all(|shop| shop.policy == Policy::Development),
        "names below localhost are of this machine"
    );
}

#[test]
fn problems_with_several_shops_name_shop_and_key() {
    for (text, expected) in [
        (
            "[[shop]]\nname = \"a\"\npath = \"/a\"\n[shop.server]\nlisten = \"127.0.0.1:1\"",
            &["`server.listen` of shop `a` in gateway.toml, line 5, column 1: this belongs to the process"][..],
        ),
        (
            "[[shop]]\nname = \"a\"\npath = \"/a\"\nlog = { level = \"off\" }",
            &["`log` of shop `a` in gateway.toml, line 4, column 1: this belongs to the process"],
        ),
        (
            "[[shop]]\nname = \"a\"\npath = \"/a\"\n[shop.limits]\nin_flihgt = 1\n[shop.data]\ncache_mb = -1",
            &[
                "unknown key `limits.in_flihgt` of shop `a` in gateway.toml, line 5, column 1; did you mean `limits.in_flight`?",
                "`data.cache_mb` of shop `a` in gateway.toml, line 7, column 12: invalid value: integer `-1`",
            ],
        ),
        (
            "[[shop]]\nname = \"a\"\n[[shop]]\nname = \"A\"\npath = \"a\"\n[[shop]]\npath = \"/a/\"",
            &[
                "`name` of shop `a` in gateway.toml, line 2, column 8: one of several shops must have `hosts` or a `path`",
                "`name` of shop `A` in gateway.toml, line 4, column 8: the identifier of a shop must be 1 to 64 characters",
                "`path` of shop `A` in gateway.toml, line 5, column 8: the path must be segments of letters",
                "`path` of shop `` in gateway.toml, line 7, column 8: the path must be segments",
                "`name` of shop `` in gateway.toml: the identifier of a shop must be",
            ],
        ),
        (
            "[[shop]]\nname = \"a\"\nhosts = [\"One.example\"]\n[[shop]]\nname = \"b\"\nhosts = [\"x y\", \"one.example\"]\n\
             [[shop]]\nname = \"a\"\npath = \"/b\"\nhost = \"c\"",
            &[
                "`hosts` of shop `b` in gateway.toml, line 6, column 9: \"x y\" must be a host name without port",
                "`hosts` of shop `b` in gateway.toml, line 6, column 9: another shop has the same place, one.example",
                "`name` of shop `a` in gateway.toml, line 8, column 8: another shop has the same name",
                "unknown key `host` of shop `a` in gateway.toml, line 10, column 1",
            ],
        ),
        (
            "[upstream]\nbackend = \"http\"\n[[shop]]\nname = \"a\"\npath = \"/a\"\n[[shop]]\nname = \"b\"\npath = \"/b\"\n\
             [shop.upstream]\nurl = \"ftp://b\"",
            &[
                "`upstream.backend` of shop `a` in gateway.toml, line 2, column 11: this needs `upstream.url`, or the flag",
                "`upstream.url` of shop `b` in gateway.toml, line 10, column 7: expected an https address",
            ],
        ),
        (
            "[[shop]]\nname = \"a\"\npath = \"/inspector\"\n[[shop]]\nname = \"b\"\npath = \"/livez/b\"\n\
             [[shop]]\nname = \"c\"\npath = \"/inspectors\"",
            &[
                "`path` of shop `a` in gateway.toml, line 3, column 8: /inspector is the gateway's own",
                "`path` of shop `b` in gateway.toml, line 6, column 8: /livez/b is the gateway's own",
            ],
        ),
        ("shop = 3", &["`shop` in gateway.toml, line 1, column 8: expected tables, each begun with `[[shop]]`"]),
        (
            "[limits]\nin_flihgt = 1\n[[shop]]\nname = \"a\"\npath = \"/a\"",
            &["unknown key `limits.in_flihgt` in gateway.toml, line 2"],
        ),
    ] {
        let refused = Case::new().resolve_all(text, &[]).expect_err(text);
        let lines: Vec<_> = refused.lines().collect();
        for expected in expected {
            assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected}: {refused}");
        }
        assert_eq!(lines.len(), expected.len(), "{refused}");
    }
}

#[test]
fn each_file_in_a_folder_is_a_shop() {
    let mut case = Case::new();
    fs::create_dir(case.path("shops.d")).expect("a directory");
    let main = "[server]\nshops_dir = \"shops.d\"\n[[shop]]\nname = \"first\"\npath = \"/first\"\n";
    case = case.with(
        "shops.d/tea.toml",
        "path = \"/tea\"\n[upstream]\nbackend = \"http\"\nurl = \"https://t.example\"\ntoken_file = \"token\"\n",
    );
    case =
        case.with("shops.d/token", "beside-it").with("shops.d/coffee.toml", "name = \"mocha\"\npath = \"/coffee\"\n");
    let all = case.resolve_all(main, &[]).expect("three shops");
    let names: Vec<_> = all.shops.iter().map(|shop| shop.mount.id.to_string()).collect();
    assert_eq!(names, ["first", "mocha", "tea"]);
    assert!(all.shops[2].upstream.as_ref().is_some_and(|upstream| upstream.token.is_some()));
    case = case
        .with("shops.d/coffee.toml", "path = \"/coffee\"\n[data]\ncache_mb = \"x\"\n")
        .with("shops.d/tea.toml", "=");
    let refused = case.resolve_all(main, &[]).expect_err("two problems");
    let expected =
        ["`data.cache_mb` of shop `coffee` in shops.d/coffee.toml, line 3, column 12", "shops.d/tea.toml, line 1"];
    for (line, expected) in refused.lines().zip(expected) {
        assert!(line.starts_with(expected), "{refused}");
    }
    assert!(
        case.resolve_all("[server]\nshops_dir = \"nowhere\"\n", &[])
            .expect_err("no folder")
            .contains("server.shops_dir")
    );
}

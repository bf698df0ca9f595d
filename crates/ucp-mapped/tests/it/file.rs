//! Mappings that cannot be used, and why.

use super::MARKET;

const SOURCE: &str = "[source.shop]\naddress = \"https://shop.example/api\"\n";
const QUESTIONS: &str = "[find]\nanswer = \"{products: []}\"\n[resolve]\nanswer = \"{products: []}\"\n";

fn faults(file: &str) -> String {
    ucp_mapped::read(file).map_or_else(|faulty| faulty.to_string(), |_| String::new())
}

#[test]
fn a_mapping_that_can_be_kept_is_read() {
    assert_eq!(faults(&format!("{MARKET}{SOURCE}{QUESTIONS}")), "");
}

#[test]
fn programs_are_blamed_with_line_and_column() {
    let faulty = faults(&format!(
        "{MARKET}{SOURCE}{QUESTIONS}[[find.step]]\nname = \"page\"\npath = \"products\"\nanswer = '''\n.a\n| nosuch\n'''\n"
    ));
    assert_eq!(faulty, "line 17, column 3: find.page.answer: filter `nosuch` is not defined");
    let faulty = faults(&format!("product = '. | env'\n{MARKET}{SOURCE}{QUESTIONS}"));
    assert_eq!(faulty, "line 1, column 16: product: `env` is not available: programs read no environment");
    // Those of a program that uses definitions, and of the definitions themselves, once.
    let definitions = "definitions = '''\ndef a: 1;\ndef b: a + 1;\n'''\n";
    let faulty = faults(&format!("{definitions}product = 'b | c'\n{MARKET}{SOURCE}{QUESTIONS}"));
    assert_eq!(faulty, "line 5, column 16: product: filter `c` is not defined");
    let faulty = faults(&format!("definitions = 'def a: b;'\nproduct = '.'\n{MARKET}{SOURCE}{QUESTIONS}"));
    assert_eq!(faulty, "line 1, column 23: definitions: filter `b` is not defined");
}

#[test]
fn faults_are_named() {
    for (more, fault) in [
        ("[[find.step]]\nname = \"A\"\n", "find.A: `name` must be of lower-case letters"),
        (
            "[[find.step]]\nname = \"market\"\n",
            "find.market: `name` must be of lower-case letters, digits and `_`, and used once",
        ),
        ("[[find.step]]\nname = \"a\"\nsource = \"other\"\n", "find.a: `source` must name a source"),
        ("[[find.step]]\nname = \"a\"\nmethod = \"BREW\"\n", "find.a: `method` must be"),
        ("[[find.step]]\nname = \"a\"\npath = \"/a\"\n", "find.a: `path` must be below"),
        ("[[find.step]]\nname = \"a\"\nvariables = \".\"\n", "find.a: must have `body`, or `graphql`"),
        (
            "[[find.step]]\nname = \"a\"\naccept = [503]\n",
            "find.a: `accept` must be of statuses from 400 to 599 other than 429, 502, 503 and 504",
        ),
        ("[open]\nanswer = \".\"\naccept = [200]\n", "open: `accept` must be of statuses"),
        ("[[find.step]]\nname = \"a\"\nkeep = 0\n", "find.a: `keep` must be from 1 to 86400 seconds"),
        ("[[find.step]]\nname = \"a\"\nrequest = \"b\"\n", "find.a: `request` must name a request of the file"),
        ("[request.a]\npath = \"a\"\n", "request.a: must be the `request` of a step"),
        ("[request.a]\nname = \"a\"\n", "request.a: must have neither `name` nor `request`"),
        ("[fragments]\nA = \"on B { c }\"\n", "fragments.A: must be spread by a `graphql` document"),
        ("[[find.step]]\nname = \"a\"\ngraphql = \"{ ...A }\"\n", "find.a: `...A` must be a fragment of the document"),
        (
            "[[find.step]]\nname = \"a\"\nvalue = \".\"\npath = \"a\"\n",
            "find.a: must have nothing but `when`, `each`, `gone` and `end` beside `value`",
        ),
        ("[[find.step]]\nname = \"a\"\nvalue = \"nosuch\"\n", "find.a.value: filter `nosuch` is not defined"),
        (
            "[source.other]\naddress = \"https://a.example\"\nchoose = \".\"\n",
            "source.other: must have both `choose` and `choice`",
        ),
        ("[source.\"a.b\"]\naddress = \"https://a.example\"\n", "source.a.b: must have a name without dots"),
        (
            "[[find.step]]\nname = \"a\"\naccept_errors = [\"X\"]\n",
            "find.a: must not have `accept_errors` without `graphql`",
        ),
        ("[open]\n", "open: must have a step or an answer"),
        ("[open]\nbatch = 0\nanswer = \".\"\n", "open: `batch` must be"),
        ("[place]\nanswer = \".\"\n", "place: must not be stated unless"),
        ("[nosuch]\n", "unknown field `nosuch`"),
    ] {
        let faulty = faults(&format!("{MARKET}{SOURCE}{QUESTIONS}{more}"));
        assert!(faulty.contains(fault), "{more}: {faulty}");
    }
    let cart = "[cart]\ncompletion = \"place\"\nsync.answer = \".\"\nfetch.answer = \".\"\nabandon.answer = \".\"\n";
    let faulty = faults(&format!("{MARKET}{SOURCE}{QUESTIONS}{cart}"));
    for name in ["place", "order", "cancel"] {
        assert!(faulty.contains(&format!("{name}: must be stated where `cart.completion` is `place`")), "{faulty}");
    }
    // One that is being written lacks them still.
    let (.., missing) = ucp_mapped::draft(&format!("{MARKET}{SOURCE}{QUESTIONS}{cart}")).expect("a draft");
    assert_eq!(missing.len(), 3, "{missing:?}");
    let faulty = faults(&format!("{MARKET}[source.shop]\naddress = \"https://me:secret@shop.example\"\n{QUESTIONS}"));
    assert!(
        faulty.contains("must be an http or https address") && !faulty.lines().any(|line| line.contains("line 17")),
        "{faulty}"
    );
}

#[test]
fn editors_get_a_schema() {
    let schema = serde_json::to_value(ucp_mapped::file::schema()).expect("JSON");
    assert_eq!(schema["properties"]["find"]["$ref"], "#/$defs/Asked");
    assert_eq!(schema["$defs"]["Program"]["type"], "string");
}

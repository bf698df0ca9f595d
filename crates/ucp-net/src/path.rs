//! Paths of upstream requests with texts of callers in them.

use url::Url;

/// Returns a URL with more segments at the end of its path, each escaped; `None` if one of them is empty or [`leads_out`].
///
/// A URL has no spelling for a segment `.` or `..`: what appends them leaves them out, and servers resolve every other one.
pub fn below<'a>(url: &Url, segments: impl IntoIterator<Item = &'a str>) -> Option<Url> {
    let mut below = url.clone();
    let mut path = below.path_segments_mut().ok()?;
    path.pop_if_empty();
    for segment in segments {
        if segment.is_empty() || leads_out(segment) {
            return None;
        }
        path.push(segment);
    }
    drop(path);
    Some(below)
}

/// Returns `true` if a text leads out of its place in a path, for one who reads it or one who decodes it first, once or
/// twice: if it has a segment `.` or `..`, between slashes or backslashes, with or without parameters (`..;a`), or control
/// characters, which some readers drop.
pub fn leads_out(text: &str) -> bool {
    const CODED: [(&str, &str); 8] = [
        ("%2e", "."),
        ("%2f", "/"),
        ("%5c", "\\"),
        ("%3b", ";"),
        ("%09", "\t"),
        ("%0a", "\n"),
        ("%0d", "\r"),
        ("%25", "%"),
    ];
    let decode = |text: String| CODED.iter().fold(text, |text, (coded, letter)| text.replace(coded, letter));
    let text = decode(decode(decode(text.to_ascii_lowercase())));
    let is_step = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
    text.contains(char::is_control) || text.split(['/', '\\']).any(is_step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leads_out_of_its_place() {
        let base = Url::parse("https://shop.example/api/").expect("an address");
        let steps = [
            ".",
            "..",
            "%2e",
            "%2E%2e",
            ".%2e",
            "%252e%252E",
            "%25252e.",
            "..;a",
            "..%3Ba",
            ".%09.",
            ".\t.",
            "\n..",
            ".\r",
        ];
        let around =
            ["{}", "{}/admin", "a/{}", "a/{}/b", "{}\\admin", "a\\{}", "{}%2fadmin", "a%5C{}", "a%252f{}%252fb"];
        for step in steps {
            for text in around.map(|around| around.replace("{}", step)) {
                assert!(leads_out(&text), "{text:?}");
                assert_eq!(below(&base, ["orders", &text]), None, "{text:?}");
            }
        }
        assert_eq!(below(&base, ["orders", "", "cancel"]), None);
    }

    #[test]
    fn any_other_text_is_one_segment() {
        for base in ["https://shop.example/api/", "https://shop.example/api"] {
            let base = Url::parse(base).expect("an address");
            for (text, path) in [
                ("ord_1", "ord_1"),
                ("...", "..."),
                ("a.b", "a.b"),
                (".well-known", ".well-known"),
                ("gid://shop/Order/1?key=a#b", "gid:%2F%2Fshop%2FOrder%2F1%3Fkey=a%23b"),
                ("a b", "a%20b"),
                ("50%", "50%25"),
                ("a%2fb", "a%252fb"),
                ("a\\b", "a%5Cb"),
            ] {
                let found = below(&base, ["orders", text, "cancel"]).expect(text);
                assert_eq!(found.path(), format!("/api/orders/{path}/cancel"), "{text}");
                assert_eq!(found.query(), None, "{text}");
            }
        }
    }
}

//! The documentation that a gateway serves below `/docs`.

use crate::harness::Gateway;

#[test]
fn every_page_is_served_and_leads_to_pages_that_are() {
    let gateway = Gateway::shared();
    let contents = gateway.get("/docs");
    assert_eq!(contents.status, 200);
    let links = |body: &str| -> Vec<String> {
        let links = body.split("href=\"/docs/").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
        let mut links: Vec<_> = links.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        links.sort();
        links.dedup();
        links
    };
    let names = links(&contents.body);
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        let page = gateway.get(&format!("/docs/{name}"));
        assert_eq!(page.status, 200, "{name}");
        assert!(page.header("content-type").is_some_and(|kind| kind.starts_with("text/html")), "{name}");
        assert!(page.header("content-security-policy").expect("a policy").contains("default-src 'none'"), "{name}");
        for other in links(&page.body) {
            assert_eq!(gateway.get(&format!("/docs/{other}")).status, 200, "{name} leads to {other}");
        }
    }
    let concepts = gateway.get("/docs/concepts").body;
    let pictures: Vec<_> = concepts.split("<img src=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(!pictures.is_empty() && !concepts.contains("alt=\"\""), "{concepts}");
    for picture in pictures {
        let answer = gateway.get(&format!("/docs/{picture}"));
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/svg+xml")), "{picture}");
    }
    assert_eq!(gateway.get("/docs/pictures/no-such-picture.svg").status, 404);
    assert_eq!(gateway.get("/docs/no-such-page").status, 404);
    assert_eq!(gateway.get("/docs/tour.md").status, 200);
}

#[test]
fn the_documentation_is_searched() {
    let gateway = Gateway::shared();
    let found = gateway.get("/docs/search?q=idempotency_conflict").body;
    assert!(found.contains("href=\"/docs/errors#idempotency_conflict\""), "{found}");
    let hostile = gateway.get("/docs/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").body;
    assert!(!hostile.contains("<script>") && hostile.contains("&lt;script&gt;"), "{hostile}");
    assert_eq!(gateway.get("/docs/search").status, 200);
}

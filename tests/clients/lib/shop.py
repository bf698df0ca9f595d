"""The calls that every lane makes of the sample shop, and what is right to answer. shop.mjs is the same for JavaScript."""

import json
import os
import urllib.error
import urllib.request

URL = os.environ["UCP_GATEWAY_URL"]
MCP_URL = f"{URL}/mcp"

# Every release of UCP that the gateway speaks, each at endpoints of its own below /ucp/RELEASE.
RELEASES = ["2026-01-11", "2026-01-23", "2026-04-08", "2026-08-25"]
# The one it speaks where the caller has not said otherwise.
NEWEST = RELEASES[-1]
# Those that have a catalog themselves. In the others it can be called as the founding documents have it.
PUBLISHED = RELEASES[2:]

# Who the lanes say they are: UCP asks every caller for the address of its profile.
PROFILE = "https://platform.example/profiles/lane.json"
META = {"ucp-agent": {"profile": PROFILE}}


def stdio_command(name):
    """How a desktop agent starts the gateway; a data directory has one writer, so each server gets its own."""
    data = os.path.join(os.environ["LANE_DIR"], f"stdio-{name}")
    return os.environ["UCP_GATEWAY_BIN"], ["mcp", "--stdio", "--query", "schemas=full", "--data-dir", data]


def fetch(path, body=None):
    """Sends `body`, if there is one, and returns the status and the JSON that came back."""
    headers = {"UCP-Agent": f'profile="{PROFILE}"', "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers), timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def browse(base="", **context):
    """Every product of the shop as a search shows it, page by page."""
    body = {"filters": {"price": {"min": 0}}, "context": context, "pagination": {"limit": 50}}
    while True:
        status, page = fetch(f"{base}/catalog/search", body)
        assert status == 200, page
        yield from page["products"]
        if not page["pagination"]["has_next_page"]:
            return
        body["pagination"]["cursor"] = page["pagination"]["cursor"]


def labels(product, axis, state):
    """The values of the option `axis` that are in `state`."""
    [option] = [option for option in product["options"] if option["name"] == axis]
    return [value["label"] for value in option["values"] if value[state]]


def check_envelope(answer, release, capability, version=None):
    """What an answer says about the protocol."""
    ucp = answer["ucp"]
    assert ucp["version"] == release
    assert ucp["capabilities"] == {f"dev.ucp.shopping.catalog.{capability}": [{"version": version or release}]}
    assert ucp.get("status") == ("success" if release in PUBLISHED else None), "only newer releases have a status"


def check_lookup_envelope(answer, release):
    # Older releases have no lookup: there it has the date of the draft that it was in.
    check_envelope(answer, release, "lookup", None if release in PUBLISHED else "2026-02-01")


def check_search(answer, release=NEWEST):
    check_envelope(answer, release, "search")
    best = answer["products"][0]
    assert (best["id"], best["title"]) == ("prod_abc123", "Runner Pro"), "the product of that very name comes first"
    assert len(best["variants"]) == 1, "a search shows one featured variant"
    assert best["variants"][0]["price"]["currency"] == "USD"


def check_lookup(answer, release=NEWEST):
    check_lookup_envelope(answer, release)
    [product] = answer["products"]
    [variant] = product["variants"]
    assert variant["inputs"] == [{"id": "prod_abc123", "match": "featured"}]
    assert variant.get("input") == (None if release in PUBLISHED else variant["inputs"])
    unknown = [message["content"] for message in answer["messages"] if message["code"] == "not_found"]
    assert unknown == ["prod_unknown"]


def check_detail(answer, release=NEWEST):
    check_lookup_envelope(answer, release)
    product = answer["product"]
    assert [(choice["name"], choice["label"]) for choice in product["selected"]] == [("Color", "Blue")]
    assert labels(product, "Color", "exists") == ["Blue", "Red", "Green"]
    assert labels(product, "Color", "available") == ["Blue", "Red"], "Green is sold out"
    assert labels(product, "Size", "exists") == ["8", "9", "10", "12"], "there is no Blue in size 11"
    assert len(product["variants"]) == 4


def check_missing(answer, release=NEWEST):
    assert answer["ucp"]["version"] == release
    assert answer["ucp"]["status"] == "error"
    [message] = answer["messages"]
    assert (message["code"], message["severity"]) == ("not_found", "unrecoverable")


# Tool, payload, and what must be true of the answer.
CALLS = [
    ("search_catalog", {"query": "runner pro", "context": {"address_country": "US", "currency": "USD"}}, check_search),
    ("lookup_catalog", {"ids": ["prod_abc123", "prod_unknown", "prod_abc123"]}, check_lookup),
    ("get_product", {"id": "prod_abc123", "selected": [{"name": "Color", "label": "Blue"}]}, check_detail),
    ("get_product", {"id": "prod_unknown"}, check_missing),
]
TOOLS = {tool for tool, _, _ in CALLS}



def purchase_tools(release):
    """The tools of the purchase in a release."""
    checkouts = {f"{verb}_checkout" for verb in ("create", "get", "update", "complete", "cancel")}
    carts = {f"{verb}_cart" for verb in ("create", "get", "update", "cancel")} | {"get_order"}
    return checkouts | carts if release in PUBLISHED else checkouts


# A page of the whole shop: products with and without options, ratings, handles, pictures.
BROWSE = {"filters": {"price": {"min": 0}}, "context": {"currency": "USD"}, "pagination": {"limit": 50}}

# A call that the gateway itself refuses, whatever the client checked before.
REFUSED = ("search_catalog", {"query": "runner pro", "pagination": {"cursor": "forged"}}, "invalid_cursor")

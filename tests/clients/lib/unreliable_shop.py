"""A shop of others that misbehaves for one question or one kind of traffic, with a gateway in front: others go on to search,
open carts and buy; once it is over everything works; no match is missing or told twice, and no order is lost or placed twice.

`UNRELIABLE_SHOP` says which of the shops below it is, `UNRELIABLE_ORIGIN` where it listens, and `UNRELIABLE_DATA` where it keeps its
orders. `UNRELIABLE_CONFIG` is a gateway's configuration up to the section `upstream`, and `UNRELIABLE_MAPPING` the mapping of the shop, if
there is one; both have `{origin}` for the address of the shop.
"""

import base64
import fcntl
import json
import os
import re
import sqlite3
import subprocess
import time
import urllib.parse
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from lib.agent import Platform
from lib.gateway import RUNS, serving
from lib.shop import RELEASES
from lib.unreliable import Unreliable

# Deadlines that a test can wait for.
IMPATIENT = """
connect_timeout_ms = 2000
read_timeout_ms = 6000
write_timeout_ms = 8000
complete_timeout_ms = 8000
"""
LIMITS = """
[limits]
anonymous = "none"
signed = "none"
keyed = "none"
unverified = "none"
"""
# How long something may take to come about, on a machine that is busy.
PATIENCE = 240
# What the addresses of this run's buyers begin with.
BUYERS = f"buyer-{uuid.uuid4().hex[:8]}-"
TEXT = "Cotton\u0000 \u202egnp.exe\u200b towel"


@dataclass(frozen=True)
class Kind:
    """What is known of a shop."""

    # Two variants of which there are many.
    items: tuple
    # Requests of a kind, as the proxy sees them.
    search: str
    cart: str
    # Numbers by which pages are asked for.
    pages: dict
    # What it answers wrongly, by what it is about: titles, and what a cart costs and has in it.
    titles: dict
    carts: list
    # A member of the answer to a search, where answers are handed on and not made anew.
    member: str | None = None
    # Requests that are about one product, and products that no search for `cotton` finds, where the shop is told no words.
    alone: str | None = None
    others: tuple = ()
    # Requests that place an order, what pays for it, and the orders that there are: none where buyers pay at the shop.
    place: str | None = None
    paying: tuple | None = None
    orders: object = None
    # Sends the order of the buyer with an email address, as the staff of the shop does: none where the shop does not say what
    # has become of an order.
    send: object = None


def recorded(file, query):
    with closing(sqlite3.connect(Path(os.environ["UNRELIABLE_DATA"], file), timeout=60)) as database:
        return [tuple(row) for row in database.execute(query)]


def counted(user, query):
    """What the PostgreSQL server of the shop says, which listens in its directory."""
    command = ["psql", "-h", os.environ["UNRELIABLE_DATA"], "-U", user, "-d", user, "-Atq", "-F", "\t", "-c", query]
    said = subprocess.run(command, capture_output=True, timeout=60, check=True).stdout.decode()
    return [(email, int(total)) for email, total in (line.split("\t") for line in said.splitlines())]


def kept(file):
    """The orders in a file in which a shop keeps them."""
    return [(order["email"], order["total"]) for order in json.loads(Path(os.environ["UNRELIABLE_DATA"], file).read_text())["orders"]]


def basic(pair):
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def staff(authorization, method, path, document=None):
    """Has the staff of the shop ask for something."""
    headers = {"Authorization": authorization, "Content-Type": "application/json"}
    body = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(os.environ["UNRELIABLE_ORIGIN"] + path, body, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def of_oscar():
    orders = staff(basic("staff:staff-password"), "GET", "/api/admin/orders/")
    return [(order["email"], int(order["total_incl_tax"].replace(".", ""))) for order in orders]


def sent_by_php(email):
    """As whoever sends the order does: adds to its events."""
    file = Path(os.environ["UNRELIABLE_DATA"], "starter-shop.json")
    with Path(f"{file}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shop = json.loads(file.read_text())
        [order] = [order for order in shop["orders"] if order["email"] == email]
        order["events"].append({"id": "parcel-1", "kind": "shipped", "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        file.write_text(json.dumps(shop))


def sent_by_salesman(email):
    [[ref]] = recorded("shop.sqlite3", f"SELECT ref FROM salesmanorders_order WHERE email = '{email}'")
    for status in ("PROCESSING", "SHIPPED"):
        staff(basic("staff:staff-password"), "PUT", f"/api/orders/{ref}/status/", {"status": status})


def sent_by_commercetools(email):
    granted = staff(basic("staff:any"), "POST", "/oauth/token?grant_type=client_credentials", {})
    token = f"Bearer {granted['access_token']}"
    where = urllib.parse.quote(f'customerEmail="{email}"')
    [order] = staff(token, "GET", f"/sample/orders?where={where}")["results"]
    items = [{"id": line["id"], "quantity": line["quantity"]} for line in order["lineItems"]]
    parcels = [{"trackingData": {"trackingId": "RR123456789AT", "carrier": "Post"}}]
    action = {"action": "addDelivery", "items": items, "parcels": parcels}
    staff(token, "POST", f"/sample/orders/{order['id']}", {"version": order["version"], "actions": [action]})


def sent_by_woocommerce(email):
    key = basic("ck_of_the_test_shop:cs_of_the_test_shop")
    [order] = [each for each in staff(key, "GET", "/wp-json/wc/v3/orders?per_page=100") if each["billing"]["email"] == email]
    staff(key, "PUT", f"/wp-json/wc/v3/orders/{order['id']}", {"status": "completed"})


def sent_by_magento(email):
    token, field = "Bearer token-of-the-test-shop", "searchCriteria%5BfilterGroups%5D%5B0%5D%5Bfilters%5D%5B0%5D"
    asked = f"{field}%5Bfield%5D=customer_email&{field}%5Bvalue%5D={urllib.parse.quote(email)}"
    [order] = staff(token, "GET", f"/rest/V1/orders?{asked}")["items"]
    tracks = [{"track_number": "RR123456789AT", "title": "Post", "carrier_code": "custom"}]
    staff(token, "POST", f"/rest/V1/order/{order['entity_id']}/ship", {"tracks": tracks})


# What shops have in common that implement the backend contract.
CONTRACT = {
    "search": r" \S*/find\n",
    "cart": r" \S*/cart",
    "pages": {"limit": 3},
    "titles": {"products.*.title": TEXT},
    "carts": [{"total": 1}, {"lines.*.quantity": 0}, {"lines.*.price": -1}],
    "member": "products",
    "place": "/place\n",
}

KINDS = {
    "tryton": Kind(
        items=("1-1", "2-2"),
        **CONTRACT,
        paying=("on_account", "invoice", "none"),
        orders=lambda: recorded(
            "shop.sqlite",
            "SELECT email.value, CAST(ROUND(sale.total_amount_cache * 100) AS INTEGER) FROM sale_sale AS sale JOIN "
            "party_contact_mechanism AS email ON email.party = sale.party WHERE sale.state IN ('confirmed', 'processing', 'done')",
        ),
    ),
    "php": Kind(
        items=("socks-1", "mug-1"),
        **CONTRACT,
        paying=("starter_pay", "card", "success_token"),
        orders=lambda: kept("starter-shop.json"),
        send=sent_by_php,
    ),
    "oscar": Kind(
        items=("1-1", "2-2"),
        search=r"GET /api/products/(\?|\n)",
        cart=r" /api/baskets?/",
        pages={},
        titles={"title": TEXT},
        carts=[{"total_incl_tax": "0.01"}, {"*.quantity": 0}],
        alone=r"/api/products/{}/",
        others=("9", "10", "11", "12"),
        place="/api/checkout/",
        paying=("on_account", "invoice", "none"),
        orders=of_oscar,
    ),
    "vendure": Kind(
        items=("1-1", "2-2"),
        search=r"SearchInput",
        cart=r"activeOrder|ToOrder|OrderLine|eligibleShippingMethods",
        pages={"take": 3},
        titles={"data.products.items.*.name": TEXT},
        carts=[{"data.activeOrder.totalWithTax": 1}, {"data.activeOrder.lines.*.quantity": 0}],
        place="addPaymentToOrder",
        paying=("cards", "card", "success_token"),
        orders=lambda: recorded(
            "shop.sqlite3",
            'SELECT customer.emailAddress, "order".subTotalWithTax + "order".shippingWithTax FROM "order" JOIN customer ON '
            'customer.id = "order".customerId WHERE "order".orderPlacedAt IS NOT NULL',
        ),
    ),
    "evershop": Kind(
        items=("v1", "v2"),
        search=r"FilterInput",
        cart=r" /api/carts?\b|cart\(id",
        pages={},
        titles={"data.*.name": TEXT},
        carts=[{"data.cart.grandTotal.value": 0.01}, {"data.cart.items.*.qty": 0}],
        place=r"/api/carts/\S*/checkout",
        paying=("cod", "cash", "none"),
        orders=lambda: counted("evershop", 'SELECT customer_email, round(grand_total * 100)::bigint FROM "order"'),
    ),
    "saleor": Kind(
        items=("UHJvZHVjdFZhcmlhbnQ6MQ==", "UHJvZHVjdFZhcmlhbnQ6Mg=="),
        search=r"\$search: String",
        cart=r"checkout(\(id|Create|Lines|Email|Shipping|Delivery|AddPromo|RemovePromo)",
        pages={"first": 3},
        titles={"data.products.edges.*.node.name": TEXT},
        carts=[{"data.checkout.totalPrice.gross.amount": 0.01}, {"data.checkout.lines.*.quantity": 0}],
        place="transactionInitialize",
        paying=("com.example.cards", "card", "success_token"),
        orders=lambda: counted("saleor", "SELECT user_email, round(total_gross_amount * 100)::bigint FROM order_order"),
    ),
    "commercetools": Kind(
        items=("UP1", "UP2"),
        search="fullText",
        cart="/carts|/shipping-methods",
        pages={"limit": 3},
        titles={"results.*.productProjection.name.en": TEXT},
        carts=[{"totalPrice.centAmount": 1}, {"lineItems.*.quantity": 0}],
        place="/orders\n",
        paying=("on_account", "invoice", "none"),
        orders=lambda: recorded(
            "shop.sqlite",
            "SELECT json_extract(data, '$.customerEmail'), json_extract(data, '$.totalPrice.centAmount') FROM resources "
            "WHERE type_id = 'order'",
        ),
        send=sent_by_commercetools,
    ),
    "salesman": Kind(
        items=("1-1", "2-2"),
        search=r"/api/products/\?",
        cart=r" /api/(basket|deliveries)/",
        pages={"limit": 3},
        titles={"results.*.title": TEXT},
        carts=[{"total": "0.01"}, {"items.*.quantity": 0}],
        place="/api/checkout/",
        paying=("on_account", "invoice", "none"),
        orders=lambda: recorded(
            "shop.sqlite3", "SELECT email, CAST(ROUND(total * 100) AS INTEGER) FROM salesmanorders_order"
        ),
        send=sent_by_salesman,
    ),
    "woocommerce": Kind(
        items=("1-1", "2-2"),
        search=r"/products\?\S*search=",
        cart="/store/v1/cart",
        # A size above 100 is refused, never lowered.
        pages={},
        titles={"*.name": TEXT},
        carts=[{"totals.total_price": "1"}, {"items.*.quantity": 0}],
        place="/store/v1/checkout",
        paying=("bacs", "invoice", "none"),
        orders=lambda: kept("shop.json"),
        send=sent_by_woocommerce,
    ),
    "magento": Kind(
        items=("UP1:UP1", "UP2:UP2"),
        search=r"query\(\$search",
        cart=r"cart\(cart_id|OnCart\(|(Create|Update|Remove|Add|Apply)\w*Cart|createGuestCart",
        pages={"size": 3},
        titles={"data.products.items.*.name": TEXT},
        carts=[{"data.cart.prices.grand_total.value": 0.01}, {"data.cart.items.*.quantity": 0}],
        place="placeOrder",
        paying=("purchaseorder", "invoice", "none"),
        orders=lambda: kept("shop.json"),
        send=sent_by_magento,
    ),
    "storefront": Kind(
        items=("gid://shopify/ProductVariant/10050001", "gid://shopify/ProductVariant/10080001"),
        search=r"query (Search|Browse)\b",
        cart=r"(query|mutation) Cart",
        pages={"first": 3},
        titles={"data.page.edges.*.node.title": TEXT},
        carts=[],
    ),
}
SHOP = KINDS[os.environ["UNRELIABLE_SHOP"]]


def where(there):
    """A test of shops that have something; of others there is nothing to test."""
    return lambda test: test if there else None


# Platforms pay.
places_orders = where(SHOP.place)


class Front:
    """The gateway, the proxy behind it, and the orders that buyers were told about."""

    def __init__(self, gateway, proxy):
        self.platform, self.proxy = Platform(gateway, RELEASES[-1], "rest"), proxy
        self.stranger = Platform(gateway, RELEASES[-1], "rest", "https://stranger.example/profile.json", "127.0.0.2")
        self.misbehaves, self.told = proxy.misbehaves, {}

    def arrived(self, about):
        """How many requests of a kind came to the proxy."""
        return sum(re.search(about, call.text()) is not None for call in list(self.proxy.calls))

    def search(self, query, **asked):
        return self.platform.ask("search_catalog", payload={"query": query, **asked}, key="")

    def cart(self):
        return self.platform.ask("create_cart", payload=self.platform.lines(SHOP.items[0]))

    def checkout(self):
        """A checkout with everything that it takes: ready for completion, or for the shop's page."""
        email = f"{BUYERS}{uuid.uuid4().hex[:8]}@example.com"
        buyer = {"email": email, "first_name": "Bea", "last_name": "Buyer"}
        if SHOP.place is None:
            answer = self.platform.ask("create_checkout", payload=self.platform.lines(SHOP.items[0]) | {"buyer": buyer})
            assert answer.status == 201 and answer.document.get("continue_url"), str(answer)
            return answer.document
        return self.platform.ready(SHOP.items[0], buyer)

    def complete(self, checkout):
        handler, kind, token = SHOP.paying
        answer = self.platform.ask("complete_checkout", checkout["id"], self.platform.paying(handler, token, kind))
        self.note(answer)
        return answer

    def note(self, answer):
        if answer.document.get("status") == "completed":
            document = answer.document
            [total] = [each["amount"] for each in document["totals"] if each["type"] == "total"]
            self.told[document["buyer"]["email"]] = total

    def completed(self, checkout):
        """Whether the purchase is over by now."""
        answer = self.platform.ask("get_checkout", checkout["id"])
        self.note(answer)
        return answer.document.get("status") == "completed"

    def buy(self):
        """A whole purchase, as far as it goes with a platform."""
        checkout = self.checkout()
        if SHOP.place is not None:
            answer = self.complete(checkout)
            assert answer.document.get("status") in ("completed", "complete_in_progress"), str(answer)
            until("the purchase is over", lambda: self.completed(checkout))
        return checkout

    def all_is_well(self, word):
        """Everything works, at once."""
        for answer, status in [(self.search(f"cotton {word}"), 200), (self.cart(), 201)]:
            assert answer.status == status, str(answer)
        self.buy()


def until(what, holds, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not (held := holds()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.2)
    return held


@pytest.fixture(scope="module")
def front():
    proxy = Unreliable(os.environ["UNRELIABLE_ORIGIN"], os.environ.get("BACKEND_SECRET"))
    filled = lambda name: Path(os.environ[name]).read_text().replace("{origin}", proxy.url)
    config = filled("UNRELIABLE_CONFIG")
    if os.environ.get("UNRELIABLE_MAPPING"):
        mapping = RUNS / "unreliable-mapping.toml"
        mapping.write_text(filled("UNRELIABLE_MAPPING"))
        config += f'mapping_file = "{mapping}"\n'
    with serving(RUNS / "unreliable", config + IMPATIENT + LIMITS) as url:
        yield Front(url, proxy)


OTHERS = iter(SHOP.others)


@pytest.fixture
def strange(front):
    """Questions of one caller that nobody else asks and that no answer is kept for, and how the proxy knows them."""
    ask = front.stranger.ask
    if SHOP.alone is None:
        word = f"strange-{uuid.uuid4().hex[:8]}"
        return lambda: ask("search_catalog", payload={"query": f"{word} {uuid.uuid4().hex}"}, key=""), word
    other = next(OTHERS)
    return lambda: ask("lookup_catalog", payload={"ids": [other]}, key=""), SHOP.alone.format(other)


def found(front, query, limits):
    """The products of all pages of a search, whose limits are these and then the last of them."""
    ids, cursor, pages = [], None, 0
    while True:
        paging = {"limit": limits[min(pages, len(limits) - 1)]} | ({"cursor": cursor} if cursor else {})
        answer = front.search(query, pagination=paging)
        assert answer.status == 200, str(answer)
        ids += [product["id"] for product in answer.document["products"]]
        pagination, pages = answer.document["pagination"], pages + 1
        assert pages < 100, "the pages have no end"
        if not pagination["has_next_page"]:
            return ids
        cursor = pagination["cursor"]


def test_a_shop_that_caps_its_pages(front):
    whole = found(front, "cotton", [5])
    assert len(whole) >= 10 and len(whole) == len(set(whole)), whole
    with front.misbehaves({"about": SHOP.search, "cap": SHOP.pages}):
        for limits in ([7], [10, 5], [4, 11]):
            capped = found(front, "cotton", limits)
            assert len(capped) == len(set(capped)), f"twice: {capped}"
            assert set(capped) == set(whole), f"missing: {set(whole) - set(capped)}"


@pytest.mark.parametrize(
    "fault",
    [{"hang": 30}, {"answer": {"status": 403}}, {"answer": {"status": 430}}, {"answer": {"status": 500}}],
    ids=["hangs", "403", "430", "500"],
)
def test_one_question_that_fails_says_nothing_about_others(front, strange, fault):
    ask, about = strange
    with ThreadPoolExecutor(24) as callers, front.misbehaves({"about": about, **fault}):
        asked = []
        for number in range(12):
            asked.append(callers.submit(ask))
            if number % 4 == 0:
                # While it goes on, others have nothing of it.
                front.all_is_well(f"{uuid.uuid4().hex}")
            time.sleep(0.3)
        for answer in asked:
            said = answer.result(60)
            assert said.status != 200 or "not_checked" in said.codes, str(said)
    assert ask().status == 200
    front.all_is_well("after")


@pytest.mark.parametrize("status", [404, 429, 503])
def test_searches_that_are_refused_for_some_seconds(front, status):
    headers = {"Retry-After": "3"} if status == 429 else {}
    ready = front.checkout() if SHOP.place else None
    with front.misbehaves({"about": SHOP.search, "answer": {"status": status, "headers": headers}}):
        for _ in range(10):
            answer = front.search(f"cotton {uuid.uuid4().hex}")
            assert answer.status == 503 and "unavailable" in answer.codes, f"nothing is no answer: {answer}"
        # One may have been under way when the first answer came.
        assert status != 429 or front.arrived(SHOP.search) <= 2
        if ready:
            assert front.complete(ready).document.get("status") == "completed"
    until("searches are answered", lambda: front.search(f"cotton {uuid.uuid4().hex}").status == 200, 30)
    front.all_is_well("again")


@pytest.mark.parametrize("fault", [{"hang": 30}, {"answer": {"status": 429, "headers": {"Retry-After": "3"}}}], ids=["hang", "429"])
def test_carts_that_fail_leave_searches_and_payments_alone(front, fault):
    ready = front.checkout() if SHOP.place else None
    with ThreadPoolExecutor(4) as callers, front.misbehaves({"about": SHOP.cart, **fault}):
        carts = [callers.submit(front.cart) for _ in range(4)]
        for _ in range(4):
            assert front.search(f"cotton {uuid.uuid4().hex}").status == 200
        if ready and not re.search(SHOP.cart, SHOP.place):
            front.complete(ready)
        for cart in carts:
            assert cart.result(60).status == 503
    until("carts are made", lambda: front.cart().status == 201, 60)
    if ready:
        until("the purchase is over", lambda: front.completed(ready) or front.complete(ready) and False)
    front.all_is_well("again")


def test_texts_that_nothing_can_hold(front):
    with front.misbehaves({"lie": SHOP.titles}):
        # In capitals, which nobody has asked for yet: nothing is kept.
        answer = front.search("COTTON", pagination={"limit": 3})
        assert answer.status == 200, str(answer)
        titles = [product["title"] for product in answer.document["products"]]
        assert any("gnp.exe" in title for title in titles), titles
        for title in titles:
            assert not re.search("[\u0000-\u001f\u200b-\u200f\u202a-\u202e\u2060-\u2069]", title), ascii(title)
    front.all_is_well("clean")


@where(SHOP.member)
def test_a_member_that_is_named_twice(front):
    with front.misbehaves({"about": SHOP.search, "twice": SHOP.member}):
        answer = front.search(f"cotton {uuid.uuid4().hex}")
        assert answer.status == 503 and "unavailable" in answer.codes, str(answer)
    front.all_is_well("once")


@places_orders
@pytest.mark.parametrize("lie", SHOP.carts, ids=lambda lie: "-".join(lie))
def test_what_a_cart_cannot_cost_or_hold_is_not_sold(front, lie):
    before, checkout = len(SHOP.orders()), None
    with front.misbehaves({"about": SHOP.cart, "lie": lie}):
        # What it is told as is not the same everywhere; it may not even come to a checkout.
        with suppress(AssertionError):
            checkout = front.checkout()
        if checkout:
            answer = front.complete(checkout)
            assert answer.document.get("status") != "completed", str(answer)
    assert len(SHOP.orders()) == before
    until("carts are made", lambda: front.cart().status == 201, 60)
    front.all_is_well("true")


@places_orders
@pytest.mark.parametrize("fault", [{"lost": True}, {"late": 20}], ids=["lost", "late"])
def test_an_order_whose_answer_does_not_come(front, fault):
    checkout = front.checkout()
    with front.misbehaves({"about": SHOP.place, **fault}):
        answer = front.complete(checkout)
        assert answer.document.get("status") in ("complete_in_progress", "completed"), str(answer)
        # Meanwhile others search.
        assert front.search(f"cotton {uuid.uuid4().hex}").status == 200
    until("the purchase is over", lambda: front.completed(checkout))
    front.all_is_well("ordered")


@places_orders
@pytest.mark.parametrize("status", [400, 401, 403, 429])
def test_an_order_that_is_refused_outright_is_on_no_way(front, status):
    checkout = front.checkout()
    answer = {"status": status, "headers": {"Retry-After": "1"} if status == 429 else {}}
    with front.misbehaves({"about": SHOP.place, "only": 1, "answer": answer}):
        said = front.complete(checkout)
        assert said.document.get("status") not in ("complete_in_progress", "completed"), str(said)
        read = front.platform.ask("get_checkout", checkout["id"])
        assert read.document.get("status") in ("ready_for_complete", "incomplete"), str(read)

    def bought():
        return front.complete(checkout).document.get("status") == "completed" or front.completed(checkout)

    until("it is bought by the next attempt", bought)
    front.all_is_well("bought")


@where(SHOP.send)
def test_what_becomes_of_an_order_is_told(front):
    checkout = front.buy()
    order = front.platform.ask("get_checkout", checkout["id"]).document["order"]["id"]
    read = lambda: front.platform.ask("get_order", order).document
    assert [line["status"] for line in read()["line_items"]] == ["processing"], str(read())
    SHOP.send(checkout["buyer"]["email"])
    until("the order is fulfilled", lambda: [line["status"] for line in read()["line_items"]] == ["fulfilled"])
    assert [event["type"] for event in read()["fulfillment"]["events"]] == ["shipped"], str(read())


@places_orders
@pytest.mark.parametrize("rule", [{"answer": {"status": 500}}, {"instead": {"status": 500}}], ids=["before", "after"])
def test_an_error_of_the_server_at_the_moment_of_paying(front, rule):
    """Whether the order was made before it or not: it is told as it is, and there is one in the end."""
    checkout = front.checkout()
    with front.misbehaves({"about": SHOP.place, "only": 1, **rule}):
        said = front.complete(checkout)
        assert said.status == 503 or said.document.get("status") != "canceled", str(said)

    def bought():
        return front.completed(checkout) or front.complete(checkout).document.get("status") == "completed"

    until("it is bought once", bought)
    front.all_is_well("paid")


@places_orders
def test_every_order_that_was_told_is_there_once(front):
    assert front.told, "the tests before have bought something"
    orders = [(email, total) for email, total in SHOP.orders() if email.startswith(BUYERS)]
    assert sorted(orders) == sorted(front.told.items())

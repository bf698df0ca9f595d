"""Orders that are placed and moved along, and the platforms that are told: every kind of webhook there is, in every release.

What a lane of the protocol's own models does with it, is in `suite`.
"""

import json
import threading
import time
import urllib.error
import urllib.request
import uuid
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lib.gateway import RUNS, Host, run, serving
from lib.purchase import WANTED, paying
from lib.shop import PUBLISHED, fetch

CONFIG = """
[callers]
policy = "development"

[profiles]
loopback = true
# All platforms share one address here, and so one share of the fetches.
fetches = { per_second = 1000, burst = 1000 }
"""
# Two lines, so that one of them can go.
GOODS = [
    {"item": {"id": "var_sunrise-filter_250-g_whole-beans"}, "quantity": 3},
    {"item": {"id": "var_abc123_blue_10"}, "quantity": 2},
]
TRACKED = ["--carrier", "Post", "--tracking-number", "T1", "--tracking-url", "https://post.example/T1"]
# What happens to an order: the step, and whatever else it is told.
STEPS = {
    "partly shipped": ["ship", "--line", "FIRST=1", *TRACKED],
    "partly canceled": ["cancel", "--line", "SECOND=1", "--reason", "Broken in the warehouse"],
    "partly delivered": ["deliver", "--line", "FIRST=1"],
    "a line canceled": ["cancel", "--line", "SECOND=1"],
    "a line refunded": ["refund", "--line", "SECOND=2", "--amount", "100", "--reason", "Sorry"],
    "shipped": ["ship"],
    "delivered": ["deliver"],
    "refunded": ["refund"],
}
KINDS = ["placed", *STEPS]


class Webhook:
    """A request as it came in."""

    def __init__(self, handler):
        self.method, self.target = handler.command, handler.path
        self.headers = list(handler.headers.items())
        self.body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))

    def header(self, name):
        [value] = [value for own, value in self.headers if own.lower() == name.lower()]
        return value

    def json(self):
        return json.loads(self.body)


class Receiver:
    """Where a platform wants to hear. It fails once for each webhook if `unsteady`."""

    def __init__(self, unsteady=False):
        webhooks, failed = self.webhooks, self.failed = [], set()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                webhook = Webhook(self)
                webhooks.append(webhook)
                steady = not unsteady or webhook.header("Webhook-Id") in failed
                failed.add(webhook.header("Webhook-Id"))
                self.send_response(204 if steady else 500)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hooks/orders?of=ucp&to=a%20b"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def after(self, count):
        """The webhooks, once there are so many."""
        until = time.monotonic() + 60
        while len(self.webhooks) < count:
            assert time.monotonic() < until, f"{len(self.webhooks)} webhooks of {count} within a minute"
            time.sleep(0.05)
        assert len(self.webhooks) == count
        return list(self.webhooks)


def profile(release, webhook_url):
    names = [f"dev.ucp.shopping.{name}" for name in ("checkout", "fulfillment", "discount", "buyer_consent", "order")]
    entries = {name: {"version": release} for name in names}
    entries["dev.ucp.shopping.order"]["config"] = {"webhook_url": webhook_url}
    if release == "2026-01-11":
        capabilities = [{"name": name, **entry} for name, entry in entries.items()]
    else:
        capabilities = {name: [entry] for name, entry in entries.items()}
    return {"ucp": {"version": release, "capabilities": capabilities}}


class Shop:
    """A gateway with a key, and its platforms."""

    def __init__(self, url, data, host):
        self.url, self.data, self.host = url, data, host

    def platform(self, release, receiver):
        agent = self.host.put(f"/{uuid.uuid4()}", profile(release, receiver.url))
        return Platform(self, release, agent)

    def move(self, order, step, *more):
        """Takes a step with an order, as the operator does."""
        run("orders", step, order, *more, "--data-dir", self.data)


class Platform:
    """A platform that buys and is told."""

    def __init__(self, shop, release, agent):
        self.shop, self.release, self.agent = shop, release, agent

    def send(self, method, path, body=None):
        headers = {
            "UCP-Agent": f'profile="{self.agent}"',
            "Content-Type": "application/json",
            "Idempotency-Key": str(uuid.uuid4()),
        }
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.shop.url}/ucp/{self.release}{path}"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            pytest.fail(error.read().decode())

    def buy(self, wanted):
        """An order; gives its identifier and those of its lines."""
        checkout = self.send("POST", "/checkout-sessions", wanted)
        assert checkout["status"] == "ready_for_complete", checkout
        completed = self.send("POST", f"/checkout-sessions/{checkout['id']}/complete", paying(checkout))
        assert completed["status"] == "completed", completed
        return completed["order"]["id"], [line["id"] for line in completed["line_items"]]

    def look(self, order):
        return self.send("GET", f"/orders/{order}")


def journey(platform, receiver):
    """Takes an order through everything that can happen to it; gives it, and the webhooks by kind.

    In releases that can look at orders, what is told is what is seen.
    """
    wanted = WANTED | {"line_items": GOODS, "discounts": {"codes": ["WELCOME10"]}}
    order, [first, second] = platform.buy(wanted | {"attribution": {"utm_source": "agent"}})
    told = {"placed": receiver.after(1)[-1]}
    for kind, [step, *more] in STEPS.items():
        if platform.release in PUBLISHED:
            assert platform.look(order) == [*told.values()][-1].json(), kind
        more = [argument.replace("FIRST", first).replace("SECOND", second) for argument in more]
        platform.shop.move(order, step, *more)
        told[kind] = receiver.after(len(told) + 1)[-1]
    assert list(told) == KINDS
    return order, told


def others(platform, receiver):
    """Orders that are only placed, of goods that are not sent; gives their webhooks by kind."""
    before = len(receiver.webhooks)
    # The lane's own gateway has the same goods.
    _, found = fetch("/catalog/product", {"id": "prod_the-lighthouse-ledger", "selected": [{"name": "Binding", "label": "E-book"}]})
    digital = found["product"]["variants"][0]["id"]
    platform.buy({"line_items": [{"item": {"id": digital}, "quantity": 1}], "buyer": WANTED["buyer"]})
    chosen = {"type": "pickup", "selected_destination_id": "store-springfield"}
    platform.buy({"line_items": GOODS, "buyer": WANTED["buyer"], "fulfillment": {"methods": [chosen]}})
    return dict(zip(["not sent", "picked up"], receiver.after(before + 2)[before:], strict=True))


@contextmanager
def shops(*, algorithm="es256", name="orders"):
    """A shop that signs with a key of this algorithm."""
    data, host = RUNS / f"{name}-{algorithm}", Host()
    run("keys", "generate", "--algorithm", algorithm, "--data-dir", data)
    with serving(data, CONFIG) as url:
        yield Shop(url, data, host)
    host.server.shutdown()


def suite(release, *, order):
    """Declares the tests. `order` is the model that parses what platforms of the release are told about orders."""

    class Suite:
        @pytest.fixture(scope="class")
        def told(self):
            with shops() as shop:
                receiver = Receiver()
                platform = shop.platform(release, receiver)
                _, told = journey(platform, receiver)
                yield told | others(platform, receiver)
                receiver.server.shutdown()

        @pytest.mark.parametrize("kind", [*KINDS, "not sent", "picked up"])
        def test_what_a_platform_is_told(self, told, kind):
            body = told[kind].json()
            parsed = order.model_validate(body)
            assert parsed.id == body["id"]
            assert len(parsed.line_items) == len(body["line_items"])

        def test_every_step_is_seen(self, told):
            parsed = [order.model_validate(told[kind].json()) for kind in KINDS]
            events = [[text(event.type) for event in each.fulfillment.events or []] for each in parsed]
            adjustments = [[text(each.type) for each in each.adjustments or []] for each in parsed]
            assert events[-1] == ["shipped", "delivered", "shipped", "delivered"]
            assert adjustments[-1] == ["cancellation", "cancellation", "refund", "refund"]
            for lists in (events, adjustments):
                assert all(later[: len(earlier)] == earlier for earlier, later in zip(lists, lists[1:]))
            assert [len(e) + len(a) for e, a in zip(events, adjustments)] == list(range(len(KINDS)))
            assert {text(line.status) for line in parsed[0].line_items} == {"processing"}

    return Suite


def text(value):
    """A text; the SDK wraps some."""
    return str(getattr(value, "value", getattr(value, "root", value)))

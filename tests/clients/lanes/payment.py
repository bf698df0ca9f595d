"""PyPI `localstripe`, a Stripe that others wrote: the gateway's requests have the form that it takes, purchases are captured
there and refunded, what it refuses is refused, and its signed events are taken.

It knows no idempotency keys, no redirects, and no `payment_method` in a confirmation. The last one is put right between
the two: a confirmation that names one becomes an update that does, and a confirmation."""

import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lib.gateway import RUNS, serving

KEY = "sk_test_only_for_this_lane"
SECRET = "whsec_only_for_this_lane"
TOKEN = "only-for-this-lane"
HANDLER = "stripe"
# The same account, where the merchant captures.
LATER = "later"


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def until(what, found, seconds=60):
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.2)
    return value


def ask(method, url, body=None, headers=()):
    request = urllib.request.Request(url, body, dict(headers), method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class Account:
    """A localstripe, what is put right in front of it, and what it was asked."""

    def __init__(self):
        port, folder = free_port(), tempfile.mkdtemp(dir=RUNS, prefix="localstripe-")
        command = [sys.executable, "-c", "from localstripe.server import start; start()", "--port", str(port)]
        self.log = Path(folder, "log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*command, "--from-scratch"], cwd=folder, stdout=log, stderr=log)
        self.behind, asked = f"http://127.0.0.1:{port}", []
        self.asked = asked
        until("localstripe to listen", lambda: self.listens(port))
        account = self

        class Front(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                form = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
                pairs = urllib.parse.parse_qsl(form, keep_blank_values=True)
                asked.append((self.path, dict(pairs), {name.lower(): value for name, value in self.headers.items()}))
                if confirmed := re.fullmatch(r"(/v1/payment_intents/\w+)/confirm", self.path):
                    method = dict(pairs)["payment_method"]
                    account.ask("POST", confirmed[1], {"payment_method": method})
                    pairs = []
                self.hand_back(*account.ask("POST", self.path, pairs))

            def do_GET(self):
                asked.append((self.path, {}, dict(self.headers)))
                self.hand_back(*account.ask("GET", self.path))

            def hand_back(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Front)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def listens(self, port):
        assert self.process.poll() is None, self.log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def ask(self, method, path, form=()):
        headers = {"Authorization": f"Bearer {KEY}"}
        body = urllib.parse.urlencode(form).encode() if method == "POST" else None
        return ask(method, self.behind + path, body, headers)

    def method(self, number):
        """A payment method of a card."""
        card = {"type": "card", "card[number]": number, "card[exp_month]": 12, "card[exp_year]": 2030, "card[cvc]": "123"}
        status, body = self.ask("POST", "/v1/payment_methods", card)
        assert status == 200, body
        return json.loads(body)["id"]

    def intent_of(self, checkout):
        _, body = self.ask("GET", "/v1/payment_intents?limit=100")
        of = [intent for intent in json.loads(body)["data"] if intent["metadata"]["ucp_checkout"] == checkout]
        return of[-1] if of else None


@pytest.fixture(scope="module")
def account():
    account = Account()
    yield account
    account.server.shutdown()
    account.process.terminate()
    account.process.wait(timeout=20)


@pytest.fixture(scope="module")
def shop(account):
    folder = Path(tempfile.mkdtemp(dir=RUNS, prefix="payment-"))
    for name, content in {"key": KEY, "secret": SECRET, "token": TOKEN}.items():
        (folder / name).write_text(content)
    admin = f"127.0.0.1:{free_port()}"
    toml = f"""
[server]
admin_listen = "{admin}"
admin_token_file = "{folder}/token"
[data]
sample = "flower-shop"
[callers]
policy = "development"
[[payment]]
kind = "stripe"
id = "{HANDLER}"
version = "2026-01-23"
schema = "https://example.com/stripe.json"
url = "{account.url}"
api_key_file = "{folder}/key"
webhook_secret_file = "{folder}/secret"
[[payment]]
kind = "stripe"
id = "{LATER}"
version = "2026-01-23"
schema = "https://example.com/stripe.json"
url = "{account.url}"
api_key_file = "{folder}/key"
capture = "manual"
"""
    with serving(folder / "data", toml) as url:
        events = json.dumps({"url": f"{url}/payments/{HANDLER}/events", "secret": SECRET}).encode()
        status, body = ask("POST", f"{account.behind}/_config/webhooks/gateway", events, {"Content-Type": "application/json"})
        assert status == 200, body
        yield url, admin, folder / "data.log"


def call(url, method, path, payload=None):
    headers = {
        "Content-Type": "application/json",
        "UCP-Agent": 'profile="https://agent.example.com/profile.json"',
        "Idempotency-Key": str(uuid.uuid4()),
    }
    status, body = ask(method, url + path, json.dumps(payload).encode() if payload is not None else None, headers)
    assert status < 300, body
    return json.loads(body)


def created(url):
    address = {"street_address": "1 Main St", "address_locality": "Springfield", "address_region": "OR"}
    address |= {"postal_code": "97477", "address_country": "US"}
    return call(url, "POST", "/checkout-sessions", {
        "line_items": [{"item": {"id": "pot_ceramic"}, "quantity": 1}],
        "buyer": {"email": "buyer@example.com"},
        "fulfillment": {"methods": [{"type": "shipping", "destinations": [address]}]},
    })


def complete(url, checkout, method, handler=HANDLER):
    credential = {"type": "token", "token": method}
    instrument = {"id": "i1", "handler_id": handler, "type": "card", "selected": True, "credential": credential}
    return call(url, "POST", f"/checkout-sessions/{checkout['id']}/complete", {"payment": {"instruments": [instrument]}})


def total(checkout):
    return next(total["amount"] for total in checkout["totals"] if total["type"] == "total")


def test_a_purchase_is_authorised_and_captured(account, shop):
    url, _, _ = shop
    checkout = created(url)
    completed = complete(url, checkout, account.method("4242424242424242"))
    assert completed["status"] == "completed", completed
    intent = account.intent_of(checkout["id"])
    assert (intent["status"], intent["amount"], intent["currency"]) == ("succeeded", total(checkout), "usd")
    assert intent["capture_method"] == "manual"
    about = [(path, form, headers) for path, form, headers in account.asked if intent["id"] in path]
    assert [path.rsplit("/", 1)[1] for path, _, _ in about] == ["confirm", "capture"]
    keys = [headers["idempotency-key"] for _, _, headers in about]
    attempt = intent["metadata"]["ucp_attempt"]
    assert keys == [f"{attempt}:confirm", f"{attempt}:capture"]
    assert about[0][1]["return_url"] == completed.get("continue_url", about[0][1]["return_url"])


def test_what_it_declines_is_declined_and_can_be_paid_otherwise(account, shop):
    url, _, _ = shop
    checkout = created(url)
    # Its error comes without the payment, which Stripe's has.
    declined = complete(url, checkout, account.method("4000000000000341"))
    assert declined["status"] == "incomplete", declined
    assert declined["messages"][0]["code"] == "payment_failed", declined
    assert account.intent_of(checkout["id"])["status"] == "requires_payment_method"
    assert complete(url, checkout, account.method("4242424242424242"))["status"] == "completed"
    unknown = created(url)
    assert complete(url, unknown, "pm_unknown")["status"] == "incomplete"
    assert account.intent_of(unknown["id"])["status"] != "succeeded"


def test_an_authentication_that_needs_a_script_is_called_off(account, shop):
    url, _, _ = shop
    checkout = created(url)
    declined = complete(url, checkout, account.method("4000002500003155"))
    assert declined["status"] == "incomplete", declined
    assert account.intent_of(checkout["id"])["status"] == "canceled"


def test_refunds_in_parts_and_no_more_than_was_paid(account, shop):
    url, admin, _ = shop
    checkout = created(url)
    order = complete(url, checkout, account.method("4242424242424242"))["order"]["id"]
    intent = account.intent_of(checkout["id"])["id"]

    def refund(amount):
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        body = json.dumps({"amount": amount}).encode()
        return ask("POST", f"http://{admin}/orders/{order}/refund", body, headers)

    for amount in (300, 300, total(checkout) - 600):
        status, body = refund(amount)
        assert status == 200, body
    assert refund(1)[0] == 422
    _, body = account.ask("GET", f"/v1/refunds?payment_intent={intent}")
    amounts = sorted(refund["amount"] for refund in json.loads(body)["data"] if refund["payment_intent"] == intent)
    assert amounts == sorted([300, 300, total(checkout) - 600])


def test_the_merchant_captures_a_part_or_releases_it(account, shop):
    url, admin, _ = shop
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}

    def step(order, name, details):
        status, body = ask("POST", f"http://{admin}/orders/{order}/{name}", json.dumps(details).encode(), headers)
        return status, json.loads(body)

    def bought():
        checkout = created(url)
        completed = complete(url, checkout, account.method("4242424242424242"), LATER)
        assert completed["status"] == "completed", completed
        intent = account.intent_of(checkout["id"])
        assert intent["status"] == "requires_capture", intent
        return checkout, completed["order"]["id"], intent["id"]

    checkout, order, intent = bought()
    assert step(order, "capture", {"amount": total(checkout) + 1})[0] == 422
    assert step(order, "refund", {"amount": 1})[0] == 422, "nothing was captured"
    for _ in range(2):
        status, shown = step(order, "capture", {"amount": total(checkout) - 300})
        assert (status, shown["captured"], shown["refundable"]) == (200, total(checkout) - 300, total(checkout) - 300), shown
    captures = [form for path, form, _ in account.asked if path.endswith(f"{intent}/capture")]
    assert captures == [{"amount_to_capture": str(total(checkout) - 300)}], "it was sent once"
    captured = account.intent_of(checkout["id"])
    assert captured["status"] == "succeeded", captured
    # It has no `amount_received`: what was not captured is a refund of the charge there.
    charge = captured["latest_charge"]
    assert (charge["captured"], charge["amount_refunded"]) == (True, 300), charge
    assert step(order, "capture", {"amount": 300})[0] == 422, "a payment is captured once"

    checkout, order, _ = bought()
    status, shown = step(order, "cancel", {})
    assert (status, shown["payment"]["hold"]) == (200, {"status": "released"}), shown
    assert account.intent_of(checkout["id"])["status"] == "canceled"


def test_its_signed_events_are_taken(account, shop):
    url, _, log = shop
    complete(url, created(url), account.method("4242424242424242"))
    delivered = 'webhook "payment_intent.succeeded" successfully delivered'
    until("an event to be taken", lambda: delivered in account.log.read_text() or "payment event received" in log.read_text())
    status, _ = ask("POST", f"{url}/payments/{HANDLER}/events", b"{}", {"Content-Type": "application/json"})
    assert status == 401

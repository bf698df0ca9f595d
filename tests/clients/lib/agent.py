"""A platform of any release, on either transport: it buys as its release says, and knows nothing of the shop's."""

import http.client
import json
import urllib.error
import urllib.request
import uuid

PROFILE = "https://platform.example/profiles/peers.json"
ADDRESS = {
    "street_address": "1 Main St",
    "address_locality": "Eugene",
    "address_region": "OR",
    "postal_code": "97401",
    "address_country": "US",
}
BUYER = {"email": "bea@example.com", "first_name": "Bea", "last_name": "Buyer"}
REST = {
    "search_catalog": ("POST", "/catalog/search"),
    "lookup_catalog": ("POST", "/catalog/lookup"),
    "create_cart": ("POST", "/carts"),
    "create_checkout": ("POST", "/checkout-sessions"),
    "get_checkout": ("GET", "/checkout-sessions/{id}"),
    "update_checkout": ("PUT", "/checkout-sessions/{id}"),
    "complete_checkout": ("POST", "/checkout-sessions/{id}/complete"),
    "cancel_checkout": ("POST", "/checkout-sessions/{id}/cancel"),
    "get_order": ("GET", "/orders/{id}"),
}


class Answer:
    """What came back: the HTTP status, and the document, whatever it is wrapped in."""

    def __init__(self, status, text):
        self.status, self.text = status, text
        whole = json.loads(text)
        self.error = whole.get("error") if "jsonrpc" in whole else None
        result = whole.get("result", {}) if "jsonrpc" in whole else whole
        self.document = result.get("structuredContent", result) if isinstance(result, dict) else {}

    @property
    def codes(self):
        """The codes of every refusal, warning or outcome in it, wherever its release puts them."""
        data = (self.error or {}).get("data") or {}
        lists = (self.document.get("messages"), self.document.get("errors"), data.get("errors"), data.get("messages"))
        messages = [each for listed in lists for each in listed or []]
        stated = [self.document.get("code"), data.get("code")]
        return {each["code"] for each in messages if "code" in each} | {each for each in stated if each}

    def __str__(self):
        return f"{self.status} {self.text.decode(errors='replace')}"


class From(urllib.request.HTTPHandler):
    """Requests from an address of this machine."""

    def __init__(self, source):
        super().__init__()
        self.source = source

    def http_open(self, request):
        connection = lambda host, **options: http.client.HTTPConnection(host, source_address=(self.source, 0), **options)
        return self.do_open(connection, request)


class Platform:
    """A platform of `release` that reaches a gateway over `transport`, as its profile says."""

    def __init__(self, gateway, release, transport, named=PROFILE, source="127.0.0.1"):
        self.release, self.transport, self.named = release, transport, named
        self.opener = urllib.request.build_opener(From(source))
        with urllib.request.urlopen(f"{gateway}/ucp/{release}/.well-known/ucp", timeout=30) as response:
            self.profile = json.load(response)
        service = self.profile["ucp"]["services"]["dev.ucp.shopping"]
        bindings = [service[transport]] if isinstance(service, dict) else service
        [entry] = [each for each in bindings if each.get("transport", transport) == transport]
        self.endpoint = entry["endpoint"].rstrip("/")

    @property
    def is_first(self):
        return self.release == "2026-01-11"

    def ask(self, operation, id=None, payload=None, key=None):
        """Carries out an operation. Without a `key` it is under a new one; `key=""` is none, where that is allowed."""
        key = str(uuid.uuid4()) if key is None else key
        over = self.over_rest if self.transport == "rest" else self.over_mcp
        return over(operation, id, payload, key)

    def over_rest(self, operation, id, payload, key):
        method, path = REST[operation]
        headers = {"Request-Id": str(uuid.uuid4())}
        if self.release < "2026-04-08":
            headers["Request-Signature"] = "unsigned"
        if key and method != "GET":
            headers["Idempotency-Key"] = key
        return self.send(method, path.format(id=id), payload, headers)

    def over_mcp(self, operation, id, payload, key):
        about = {"id": id} if id else {}
        keyed = operation != "get_checkout" and key
        if self.is_first:
            # Operations are methods, and complete takes the payment by itself.
            inner = {} if payload is None else payload if operation == "complete_checkout" else {"checkout": payload}
            params = {"_meta": {"ucp": {"profile": self.named}}, **about, **inner}
            if keyed:
                params["idempotency_key"] = key
            message = {"method": operation, "params": params}
        else:
            meta = {"ucp-agent": {"profile": self.named}}
            if keyed:
                meta["idempotency-key"] = key
            inner = {} if payload is None else {"checkout": payload}
            message = {"method": "tools/call", "params": {"name": operation, "arguments": {"meta": meta, **about, **inner}}}
        accept = {"Accept": "application/json, text/event-stream"}
        return self.send("POST", "", {"jsonrpc": "2.0", "id": 1, **message}, accept)

    def send(self, method, path, body, headers):
        headers = {"UCP-Agent": f'profile="{self.named}"', "Content-Type": "application/json", **headers}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.endpoint + path, data, headers, method=method)
        try:
            with self.opener.open(request, timeout=60) as response:
                return Answer(response.status, response.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read())

    def lines(self, item, quantity=1, checkout=None):
        """What is wanted, as a release has it; with the names that a checkout gave it, where there is one."""
        line = {"item": {"id": item}, "quantity": quantity}
        if checkout:
            line["id"] = checkout["line_items"][0]["id"]
        # The first release has the platform say what it pays in, and with what.
        return {"line_items": [line]} | ({"currency": "USD", "payment": {}} if self.is_first else {})

    def change(self, checkout, item, **members):
        """The payload that replaces a checkout. The first two releases repeat its identifier."""
        named = {"id": checkout["id"]} if self.release < "2026-04-08" else {}
        return named | self.lines(item, checkout=checkout) | {"buyer": BUYER} | members

    def delivery(self, checkout):
        """Where it is to go: an address that only the gateway or the shop names, as no release wants an id of it."""
        destination = ADDRESS | ({"type": "shipping_address"} if self.release >= "2026-08-25" else {})
        method = {
            "id": "method_home",
            "type": "shipping",
            "line_item_ids": [line["id"] for line in checkout["line_items"]],
            "destinations": [destination],
        }
        return {"methods": [method]}

    def paying(self, handler, token, kind="card"):
        """What pays, as a release has it."""
        instrument = {"id": "card_1", "handler_id": handler, "type": kind}
        credential = {"credential": {"type": "token", "token": token}}
        shown = {"brand": "visa", "last_digits": "1111"}
        if self.is_first and self.transport == "rest":
            return {"payment_data": instrument | shown | credential, "risk_signals": {}}
        if self.is_first:
            payment = {"selected_instrument_id": "card_1", "instruments": [instrument | shown | credential]}
            return {"payment": payment}
        payment = {"payment": {"instruments": [instrument | {"selected": True, "display": shown} | credential]}}
        return payment | ({"signals": {"dev.ucp.buyer_ip": "192.0.2.1"}} if self.release >= "2026-04-08" else {})

    def begun(self, item, buyer=BUYER):
        """A checkout, just created."""
        answer = self.ask("create_checkout", payload=self.lines(item) | {"buyer": buyer})
        assert answer.document.get("id"), str(answer)
        return answer.document

    def ready(self, item, buyer=BUYER):
        """A checkout that can be completed: it has a buyer, a destination, and a way there."""
        first = self.begun(item, buyer)
        path = first["id"]
        answer = self.ask("update_checkout", path, self.change(first, item, buyer=buyer, fulfillment=self.delivery(first)))
        assert answer.document.get("id") == path, str(answer)
        chosen = answer.document["fulfillment"]
        [method] = chosen["methods"]
        [group] = method["groups"]
        group["selected_option_id"] = group["options"][0]["id"]
        answer = self.ask("update_checkout", path, self.change(answer.document, item, buyer=buyer, fulfillment=chosen))
        assert answer.document.get("status") == "ready_for_complete", str(answer)
        return answer.document

    def handlers(self):
        """The payment handlers of the profile, by identifier."""
        if self.is_first:
            return [each["id"] for each in self.profile["payment"]["handlers"]]
        return [each["id"] for entries in self.profile["ucp"]["payment_handlers"].values() for each in entries]

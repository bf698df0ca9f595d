"""A purchase, as the lanes of the protocol's own models make it: every answer on the way is parsed by all models given.

purchase.mjs is the same for JavaScript.
"""

import json
import urllib.error
import urllib.request
import uuid

from lib.shop import PROFILE, PUBLISHED, URL

# A variant that the shop has plenty of.
GOODS = [{"item": {"id": "var_sunrise-filter_250-g_whole-beans"}, "quantity": 2}]
WANTED = {
    "line_items": GOODS,
    "buyer": {"email": "buyer@example.com", "first_name": "Bea", "last_name": "Buyer"},
    "discounts": {"codes": ["WELCOME10", "no such code"]},
    "fulfillment": {
        "methods": [
            {
                "type": "shipping",
                "destinations": [
                    {
                        "street_address": "1 Main St",
                        "address_locality": "Eugene",
                        "address_region": "OR",
                        "postal_code": "97401",
                        "address_country": "US",
                    }
                ],
            }
        ]
    },
}


def send(method, path, body=None):
    """Sends a request under a new idempotency key, and returns the status and the JSON that came back."""
    headers = {
        "UCP-Agent": f'profile="{PROFILE}"',
        "Content-Type": "application/json",
        "Idempotency-Key": str(uuid.uuid4()),
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def paying(checkout, token="success_token"):
    """What pays, with the first handler of a checkout."""
    credential = {"type": "token", "token": token}
    card = {"id": "card_1", "type": "card"}
    if "handlers" in checkout.get("payment", {}):
        card |= {"handler_id": checkout["payment"]["handlers"][0]["id"], "brand": "visa", "last_digits": "1111"}
        return {"payment_data": card | {"credential": credential}}
    [[handler]] = checkout["ucp"]["payment_handlers"].values()
    card |= {"handler_id": handler["id"], "selected": True, "display": {"brand": "visa", "last_digits": "1111"}}
    return {"payment": {"instruments": [card | {"credential": credential}]}}


def suite(release, *, checkouts, carts=(), order=None, failure=None):
    """Declares the tests. The arguments are the models that parse checkouts, carts, orders and answers without either."""
    base = f"/ucp/{release}"

    def parsed(models, answer):
        for model in models:
            model.model_validate(answer)
        return answer

    def begun():
        status, answer = send("POST", f"{base}/checkout-sessions", WANTED)
        assert (status, answer["status"]) == (201, "ready_for_complete"), answer
        return parsed(checkouts, answer)

    class Suite:
        def test_a_checkout_from_the_beginning_to_the_end(self):
            status, first = send("POST", f"{base}/checkout-sessions", {"line_items": GOODS})
            assert (status, first["status"]) == (201, "incomplete")
            parsed(checkouts, first)
            path = f"{base}/checkout-sessions/{first['id']}"
            status, ready = send("PUT", path, WANTED)
            assert (status, ready["status"]) == (200, "ready_for_complete"), ready
            parsed(checkouts, ready)
            status, declined = send("POST", f"{path}/complete", paying(ready, "fail_token"))
            assert [each["code"] for each in declined["messages"] if each["type"] == "error"] == ["payment_failed"]
            parsed(checkouts, declined)
            status, completed = send("POST", f"{path}/complete", paying(ready))
            assert (status, completed["status"]) == (200, "completed"), completed
            parsed(checkouts, completed)
            assert send("GET", path) == (200, completed)
            if order:
                status, placed = send("GET", f"{base}/orders/{completed['order']['id']}")
                assert (status, placed["checkout_id"]) == (200, first["id"])
                order.model_validate(placed)

        def test_a_checkout_that_the_buyer_has_to_go_on_with(self):
            checkout = begun()
            status, challenged = send(
                "POST", f"{base}/checkout-sessions/{checkout['id']}/complete", paying(checkout, "challenge_token")
            )
            assert (status, challenged["status"]) == (200, "requires_escalation")
            parsed(checkouts, challenged)

        def test_a_checkout_that_is_given_up(self):
            path = f"{base}/checkout-sessions/{begun()['id']}"
            status, canceled = send("POST", f"{path}/cancel")
            assert (status, canceled["status"]) == (200, "canceled")
            parsed(checkouts, canceled)
            status, past = send("PUT", path, WANTED)
            assert status == 409
            if failure:
                failure.model_validate(past)

        def test_a_cart(self):
            request = {name: WANTED[name] for name in ("line_items", "buyer", "discounts")}
            status, cart = send("POST", f"{base}/carts", request)
            assert status == 201, cart
            path = f"{base}/carts/{cart['id']}"
            for status, answer in [send("GET", path), send("PUT", path, request), send("POST", f"{path}/cancel")]:
                assert status == 200
                parsed(carts, answer)
            status, gone = send("GET", path)
            assert status == 200
            failure.model_validate(gone)

        def test_what_is_not_there(self):
            status, answer = send("GET", f"{base}/checkout-sessions/chk_nothing")
            assert status == (200 if release in PUBLISHED else 404)
            assert [each["code"] for each in answer["messages"]] == ["not_found"]
            if failure:
                failure.model_validate(answer)

    if release not in PUBLISHED:
        del Suite.test_a_cart
    return Suite

"""Buys something over MCP with nothing but Python: finds it, chooses a variant, says what the checkout asks for, and pays.

usage: buy.py [URL] [WORDS...]

PAYMENT_TOKEN is the token to pay with; without it, that of the sandbox.
"""

import json
import os
import sys
import urllib.request
import uuid

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
WORDS = " ".join(sys.argv[2:]) or "blue running shoes"
TOKEN = os.environ.get("PAYMENT_TOKEN", "success_token")
PROFILE = "https://agent.example.com/profile.json"
ADDRESS = {
    "street_address": "1 Main St",
    "address_locality": "Los Angeles",
    "address_region": "CA",
    "postal_code": "90001",
    "address_country": "US",
}


def get(url):
    with urllib.request.urlopen(url, timeout=30) as response:
        return json.load(response)


def call(tool, **arguments):
    """Calls a tool. A change gets an idempotency key, with which it could be repeated."""
    meta = {"ucp-agent": {"profile": PROFILE}, "idempotency-key": str(uuid.uuid4())}
    params = {"name": tool, "arguments": {"meta": meta, **arguments}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    request = urllib.request.Request(endpoint, json.dumps(message).encode(), {"Content-Type": "application/json"})
    answer = get(request)
    if "error" in answer:
        raise SystemExit(f"{tool} was refused: {answer['error']['message']}")
    return answer["result"]["structuredContent"]


services = get(f"{URL}/.well-known/ucp")["ucp"]["services"]["dev.ucp.shopping"]
endpoint = next(service["endpoint"] for service in services if service["transport"] == "mcp")

found = call("search_catalog", catalog={"query": WORDS, "filters": {"available": True}})["products"]
if not found:
    raise SystemExit(f"nothing is found for {WORDS!r}")
page = call("get_product", catalog={"id": found[0]["id"]})["product"]
variant = page["variants"][0]
print(f"{page['title']}, {variant['title']}: {variant['price']['amount'] / 100:.2f} {variant['price']['currency']}")

lines = [{"item": {"id": variant["id"]}, "quantity": 1}]
checkout = call("create_checkout", checkout={"line_items": lines})
for message in checkout.get("messages", []):
    print(f"  asked for: {message['content']}")
wanted = {
    "line_items": lines,
    "buyer": {"email": "jane@example.com"},
    "fulfillment": {"methods": [{"type": "shipping", "destinations": [ADDRESS]}]},
}
checkout = call("update_checkout", id=checkout["id"], checkout=wanted)
assert checkout["status"] == "ready_for_complete", checkout.get("messages")

[handler], *_ = checkout["ucp"]["payment_handlers"].values()
kind = handler["available_instruments"][0]["type"]
instrument = {"id": "1", "handler_id": handler["id"], "type": kind, "selected": True}
instrument["credential"] = {"type": "token", "token": TOKEN}
bought = call("complete_checkout", id=checkout["id"], checkout={"payment": {"instruments": [instrument]}})
if "order" not in bought:
    raise SystemExit(f"{bought['status']}: {'; '.join(message['content'] for message in bought.get('messages', []))}")
total = next(total["amount"] for total in bought["totals"] if total["type"] == "total")
print(f"{bought['status']}: order {bought['order']['label']}, {total / 100:.2f} {bought['currency']} in all")

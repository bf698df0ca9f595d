"""What a developer writes with the Python client of openapi-generator, whose package is `ucp_client`.

usage: openapi_generator.py ENDPOINT AGENT ITEM
"""

import json
import sys
import uuid

from ucp_client import (
    ApiClient,
    ApiException,
    CartRequest,
    CheckoutRequest,
    CompleteCheckoutRequest,
    Configuration,
    Context,
    CreateCheckoutRequest,
    Error,
    UcpErrorResponse,
    LookupRequest,
    PaginationRequest,
    SearchRequest,
)
from ucp_client.api.dev_ucp_shopping_cart_api import DevUcpShoppingCartApi
from ucp_client.api.dev_ucp_shopping_catalog_lookup_api import DevUcpShoppingCatalogLookupApi
from ucp_client.api.dev_ucp_shopping_catalog_search_api import DevUcpShoppingCatalogSearchApi
from ucp_client.api.dev_ucp_shopping_checkout_api import DevUcpShoppingCheckoutApi
from ucp_client.api.dev_ucp_shopping_order_api import DevUcpShoppingOrderApi

endpoint, agent, item = sys.argv[1:]
client = ApiClient(Configuration(host=endpoint, api_key={"UcpAgent": agent}))
search, lookup = DevUcpShoppingCatalogSearchApi(client), DevUcpShoppingCatalogLookupApi(client)
carts, checkouts = DevUcpShoppingCartApi(client), DevUcpShoppingCheckoutApi(client)
orders = DevUcpShoppingOrderApi(client)


def total(resource, kind="total"):
    return next(entry.amount for entry in resource.totals if entry.type == kind)


def lines():
    return [{"item": {"id": item}, "quantity": 2}]


found = search.search_catalog(SearchRequest(query="runner pro", context=Context(currency="USD"))).actual_instance
known = lookup.lookup_catalog(LookupRequest(ids=["prod_abc123", "prod_unknown"])).actual_instance
cart = carts.create_cart(CartRequest.from_dict({"line_items": lines()})).actual_instance
begun = checkouts.create_checkout(CreateCheckoutRequest(cart_id=cart.id, line_items=[])).actual_instance
destination = {
    "street_address": "1 Main St",
    "address_locality": "Eugene",
    "address_region": "OR",
    "postal_code": "97401",
    "address_country": "US",
}
wanted = {
    "line_items": lines(),
    "buyer": {"email": "buyer@example.com"},
    "fulfillment": {"methods": [{"type": "shipping", "destinations": [destination]}]},
}
ready = checkouts.update_checkout(begun.id, CheckoutRequest.from_dict(wanted)).actual_instance
[[handler]] = ready.ucp.payment_handlers.values()
credential = {"type": "token", "token": "success_token"}
card = {"id": "card_1", "handler_id": handler.id, "type": "card", "selected": True, "credential": credential}
payment = CompleteCheckoutRequest.from_dict({"payment": {"instruments": [card]}})
completed = checkouts.complete_checkout(str(uuid.uuid4()), begun.id, payment).actual_instance
order = orders.get_order(completed.order.id).actual_instance

missing = carts.get_cart("cart_unknown").actual_instance
assert isinstance(missing, UcpErrorResponse), missing
try:
    search.search_catalog(SearchRequest(query="runner pro", pagination=PaginationRequest(cursor="forged")))
    raise AssertionError("a forged cursor is accepted")
except ApiException as refusal:
    refused = refusal
assert isinstance(refused.data, Error), refused

told = {
    "found": [found.ucp.status, found.products[0].title],
    "known": [known.products[0].id, known.messages[0].actual_instance.content],
    "subtotal": total(cart, "subtotal"),
    "statuses": [begun.status, ready.status, completed.status],
    "destination": ready.fulfillment.methods[0].destinations[0].actual_instance.address_locality,
    "bought": order.checkout_id == begun.id and total(order) == total(ready),
    "missing": [missing.ucp.status, missing.messages[0].actual_instance.code],
    "refused": [refused.status, refused.data.code],
}
print(json.dumps(told))

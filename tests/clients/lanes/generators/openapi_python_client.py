"""What a developer writes with the client of openapi-python-client, whose package is `ucp_client`.

usage: openapi_python_client.py ENDPOINT AGENT ITEM
"""

import json
import sys
import uuid

from ucp_client import Client
from ucp_client.api.dev_ucp_shopping_cart import create_cart, get_cart
from ucp_client.api.dev_ucp_shopping_catalog_lookup import lookup_catalog
from ucp_client.api.dev_ucp_shopping_catalog_search import search_catalog
from ucp_client.api.dev_ucp_shopping_checkout import complete_checkout, create_checkout, update_checkout
from ucp_client.api.dev_ucp_shopping_order import get_order
from ucp_client.models import (
    BuyerRequest,
    Cart,
    CartRequest,
    Checkout,
    CheckoutRequest,
    CompleteCheckoutRequest,
    Context,
    CreateCheckoutRequest,
    Error,
    UcpErrorResponse,
    FulfillmentDestinationRequest,
    FulfillmentMethodRequest,
    FulfillmentRequest,
    ItemRequest,
    LineItemRequest,
    LookupRequest,
    LookupResponse,
    Order,
    PaginationRequest,
    PaymentCredentialRequest,
    PaymentInstrumentRequest,
    PaymentRequest,
    SearchRequest,
    SearchResponse,
)

endpoint, agent, item = sys.argv[1:]
client = Client(base_url=endpoint, headers={"UCP-Agent": agent})


def called(operation, expected, *path, **arguments):
    """Calls an operation, and returns its status and its answer, which has to be of the type that is expected."""
    response = operation.sync_detailed(*path, client=client, **arguments)
    assert isinstance(response.parsed, expected), response
    return response.status_code, response.parsed


def total(resource, kind="total"):
    return next(entry.amount for entry in resource.totals if entry.type_ == kind)


lines = [LineItemRequest(item=ItemRequest(id=item), quantity=2)]
request = SearchRequest(query="runner pro", context=Context(currency="USD"))
_, found = called(search_catalog, SearchResponse, body=request)
_, known = called(lookup_catalog, LookupResponse, body=LookupRequest(ids=["prod_abc123", "prod_unknown"]))
_, cart = called(create_cart, Cart, body=CartRequest(line_items=lines))
_, begun = called(create_checkout, Checkout, body=CreateCheckoutRequest(cart_id=cart.id))
destination = FulfillmentDestinationRequest(
    street_address="1 Main St",
    address_locality="Eugene",
    address_region="OR",
    postal_code="97401",
    address_country="US",
)
shipping = FulfillmentMethodRequest(type_="shipping", destinations=[destination])
wanted = CheckoutRequest(
    line_items=lines,
    buyer=BuyerRequest(email="buyer@example.com"),
    fulfillment=FulfillmentRequest(methods=[shipping]),
)
_, ready = called(update_checkout, Checkout, begun.id, body=wanted)
[[handler]] = ready.ucp.payment_handlers.additional_properties.values()
credential = PaymentCredentialRequest(type_="token", token="success_token")
card = PaymentInstrumentRequest(id="card_1", handler_id=handler.id, type_="card", selected=True, credential=credential)
payment = CompleteCheckoutRequest(payment=PaymentRequest(instruments=[card]))
key = str(uuid.uuid4())
_, completed = called(complete_checkout, Checkout, begun.id, body=payment, idempotency_key=key)
_, order = called(get_order, Order, completed.order.id)

_, missing = called(get_cart, UcpErrorResponse, "cart_unknown")
request = SearchRequest(query="runner pro", pagination=PaginationRequest(cursor="forged"))
status, refused = called(search_catalog, Error, body=request)

told = {
    "found": [found.ucp.status, found.products[0].title],
    "known": [known.products[0].id, known.messages[0].content],
    "subtotal": total(cart, "subtotal"),
    "statuses": [begun.status, ready.status, completed.status],
    "destination": ready.fulfillment.methods[0].destinations[0].address_locality,
    "bought": order.checkout_id == begun.id and total(order) == total(ready),
    "missing": [missing.ucp.status, missing.messages[0].code],
    "refused": [status, refused.code],
}
print(json.dumps(told))

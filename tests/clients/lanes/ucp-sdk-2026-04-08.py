"""PyPI `ucp-sdk` 0.4, the protocol's own Python models of 2026-04-08, at the endpoint of that release."""

from fractions import Fraction
from types import SimpleNamespace

from ucp_sdk.models.schemas.shopping import buyer_consent, cart, checkout, discount, fulfillment
from ucp_sdk.models.schemas.shopping.catalog_lookup import GetProductResponse, LookupResponse
from ucp_sdk.models.schemas.shopping.catalog_search import SearchResponse
from ucp_sdk.models.schemas.shopping.order import Order
from ucp_sdk.models.schemas.shopping.types.error_response import ErrorResponse
from ucp_sdk.models.schemas.ucp import BusinessSchema

from lib import orders, purchase
from lib.catalog_models import suite


def unit_price(unit):
    """Decimals, in a unit that both sides of the division share."""
    assert unit.measure.unit == unit.reference.unit
    held, reference = (Fraction(str(side.value)) for side in (unit.measure, unit.reference))
    assert held > 0
    assert reference > 0
    return held / reference


TestCatalog = suite(
    "2026-04-08",
    bases=["/ucp/2026-04-08"],
    models=SimpleNamespace(
        profile=lambda document: BusinessSchema.model_validate(document["ucp"]),
        SearchResponse=SearchResponse,
        LookupResponse=LookupResponse,
        GetProductResponse=GetProductResponse,
        ErrorResponse=ErrorResponse,
    ),
    unit_price=unit_price,
)

TestPurchase = purchase.suite(
    "2026-04-08",
    checkouts=[module.Checkout for module in (checkout, fulfillment, discount, buyer_consent)],
    carts=[cart.Cart, discount.Cart],
    order=Order,
    failure=ErrorResponse,
)

TestOrders = orders.suite("2026-04-08", order=Order)

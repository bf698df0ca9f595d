"""PyPI `ucp-sdk` 0.3, the protocol's own Python models of 2026-01-23."""

from ucp_sdk.models.schemas.shopping import buyer_consent, checkout, discount
from ucp_sdk.models.schemas.shopping.order import Order
from ucp_sdk.models.schemas.shopping.types.message import Message
from ucp_sdk.models.schemas.ucp import BusinessSchema, ResponseOrderSchema

from lib import orders, purchase
from lib.founding_models import suite
from lib.shop import fetch


def profile(document):
    parsed = BusinessSchema.model_validate(document["ucp"])
    names = [f"dev.ucp.shopping.{name}" for name in ("buyer_consent", "checkout", "discount", "fulfillment")]
    assert {name.root for name in parsed.capabilities}.issuperset(names)
    [[handler]] = parsed.payment_handlers.values()
    assert handler.id == "mock_payment_handler"
    [bindings] = [bindings for name, bindings in parsed.services.items() if name.root == "dev.ucp.shopping"]
    return parsed.version.root, {binding.root.transport: str(binding.root.endpoint) for binding in bindings}


TestPurchase = purchase.suite("2026-01-23", checkouts=[module.Checkout for module in (checkout, discount, buyer_consent)])
TestOrders = orders.suite("2026-01-23", order=Order)
TestFounding = suite("2026-01-23", profile=profile, message=lambda message: Message.model_validate(message).root)


def test_the_capabilities_of_answers():
    _, answer = fetch("/ucp/2026-01-23/catalog/lookup", {"ids": ["prod_abc123"]})
    parsed = ResponseOrderSchema.model_validate(answer["ucp"])
    assert {name.root: [entry.version.root for entry in entries] for name, entries in parsed.capabilities.items()} == {
        "dev.ucp.shopping.catalog.lookup": ["2026-02-01"]
    }

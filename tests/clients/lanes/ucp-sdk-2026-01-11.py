"""PyPI `ucp-sdk` 0.1, the protocol's own Python models of 2026-01-11."""

from ucp_sdk.models.discovery.profile_schema import UcpDiscoveryProfile
from ucp_sdk.models.schemas.shopping import buyer_consent_resp, checkout_resp, discount_resp, fulfillment_resp
from ucp_sdk.models.schemas.shopping.order import Order
from ucp_sdk.models.schemas.shopping.types.message import Message

from lib import orders, purchase
from lib.founding_models import suite
from lib.gateway import published_profile


def profile(document):
    parsed = UcpDiscoveryProfile.model_validate(document)
    service = parsed.ucp.services.root["dev.ucp.shopping"]
    names = [f"dev.ucp.shopping.{name}" for name in ("buyer_consent", "checkout", "discount", "fulfillment")]
    offered = {getattr(capability.name, "root", capability.name) for capability in parsed.ucp.capabilities}
    assert offered.issuperset(names)
    assert [handler.id for handler in parsed.payment.handlers] == ["mock_payment_handler"]
    endpoints = {name: getattr(service, name) for name in ("rest", "mcp", "a2a", "embedded")}
    return parsed.ucp.version.root, {name: str(way.endpoint) for name, way in endpoints.items() if way}


TestPurchase = purchase.suite(
    "2026-01-11",
    checkouts=[
        checkout_resp.CheckoutResponse,
        *(module.Checkout for module in (fulfillment_resp, discount_resp, buyer_consent_resp)),
    ],
)
TestOrders = orders.suite("2026-01-11", order=Order)
TestFounding = suite("2026-01-11", profile=profile, message=lambda message: Message.model_validate(message).root)


def test_the_profile_publishes_the_public_key():
    document = published_profile("/ucp/2026-01-11/.well-known/ucp")
    [key] = UcpDiscoveryProfile.model_validate(document).signing_keys
    assert (key.kty, key.crv, key.alg) == ("EC", "P-256", "ES256")
    assert key.kid
    assert not hasattr(key, "d")

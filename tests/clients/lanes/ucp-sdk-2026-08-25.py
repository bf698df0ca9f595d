"""PyPI `ucp-sdk` 0.5, the protocol's own Python models of 2026-08-25, at the root and at the endpoint of that release."""

from fractions import Fraction
from types import SimpleNamespace

import pytest
from ucp_sdk.models.schemas.common.types.error_response import ErrorResponse
from ucp_sdk.models.schemas.common.types.measure import Measure
from ucp_sdk.models.schemas.profile import BusinessSchema
from ucp_sdk.models.schemas.shopping import buyer_consent, cart, checkout, discount, fulfillment
from ucp_sdk.models.schemas.shopping.catalog_lookup import GetProductResponse, LookupResponse
from ucp_sdk.models.schemas.shopping.catalog_search import SearchResponse
from ucp_sdk.models.schemas.shopping.order import Order

from lib import orders, purchase
from lib.catalog_models import suite
from lib.gateway import published_profile
from lib.shop import RELEASES, URL, browse, fetch

# The codes of UN/CEFACT Recommendation 20 for what the sample shop sells by.
UNITS = {"MTR", "MLT", "LTR", "GRM", "KGM", "C62"}


def unit_price(unit):
    """Whole numbers of decimal fractions, in a unit that both sides of the division share."""
    # The SDK leaves the value of these two open; the type it derives them from does not.
    sides = [Measure.model_validate(side.model_dump()) for side in (unit.measure, unit.reference)]
    assert sides[0].unit == sides[1].unit
    assert sides[0].unit in UNITS
    assert all(side.value >= 1 and side.display_text for side in sides)
    held, reference = (Fraction(side.value, 10**side.scale) for side in sides)
    return held / reference


TestCatalog = suite(
    "2026-08-25",
    bases=["", "/ucp/2026-08-25"],
    models=SimpleNamespace(
        profile=lambda document: BusinessSchema.model_validate(document).ucp,
        SearchResponse=SearchResponse,
        LookupResponse=LookupResponse,
        GetProductResponse=GetProductResponse,
        ErrorResponse=ErrorResponse,
    ),
    unit_price=unit_price,
)

TestPurchase = purchase.suite(
    "2026-08-25",
    checkouts=[module.Checkout for module in (checkout, fulfillment, discount, buyer_consent)],
    carts=[cart.Cart, discount.Cart, buyer_consent.Cart],
    order=Order,
    failure=ErrorResponse,
)

TestOrders = orders.suite("2026-08-25", order=Order)


@pytest.mark.parametrize("path", ["/.well-known/ucp", "/ucp/2026-08-25/.well-known/ucp"])
def test_the_profile_publishes_the_public_key(path):
    [key] = BusinessSchema.model_validate(published_profile(path)).keys
    assert (key.kty, key.crv, key.alg) == ("EC", "P-256", "ES256")
    assert key.kid
    assert not hasattr(key, "d")


def test_the_profile_leads_to_every_other_release():
    _, document = fetch("/.well-known/ucp")
    versions = BusinessSchema.model_validate(document).ucp.supported_versions
    assert sorted(versions) == RELEASES[:-1]
    for release, address in versions.items():
        status, leaf = fetch(str(address).removeprefix(URL))
        assert (status, leaf["ucp"]["version"]) == (200, release)


def test_what_a_package_holds_is_the_same_in_both_releases():
    compared = 0
    for product in browse():
        newer, older = (
            fetch(f"/ucp/{release}/catalog/product", {"id": product["id"]})[1]["product"]["variants"]
            for release in ("2026-08-25", "2026-04-08")
        )
        for new, old in zip(newer, older, strict=True):
            assert ("unit_price" in new) == ("unit_price" in old), new["id"]
            if "unit_price" in new:
                new, old = new["unit_price"], old["unit_price"]
                assert (new["amount"], new["currency"]) == (old["amount"], old["currency"])
                assert unit_price(SimpleNamespace(**{side: Measure(**new[side]) for side in ("measure", "reference")})) == (
                    Fraction(str(old["measure"]["value"])) / Fraction(str(old["reference"]["value"]))
                )
                compared += 1
    assert compared >= 15

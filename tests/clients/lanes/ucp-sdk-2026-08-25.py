"""PyPI `ucp-sdk` 0.5, the protocol's own Python models of 2026-08-25, at the root and at the endpoint of that release."""

from fractions import Fraction
from types import SimpleNamespace

import pytest
from pydantic import TypeAdapter
from ucp_sdk.models.schemas.common import location_lookup, location_search, payment_ap2_mandate
from ucp_sdk.models.schemas.common.types.context_create_request import ContextCreateRequest
from ucp_sdk.models.schemas.common.types.error_response import ErrorResponse
from ucp_sdk.models.schemas.common.types.geo import Geo
from ucp_sdk.models.schemas.common.types.location_distance import LocationDistance
from ucp_sdk.models.schemas.common.types.location_filter import Hours, LocationFilter
from ucp_sdk.models.schemas.common.types.location_serves import Address, LocationServes
from ucp_sdk.models.schemas.common.types.measure import Measure
from ucp_sdk.models.schemas.common.types.payment_complete_request import PaymentCompleteRequest
from ucp_sdk.models.schemas.common.types.payment_instrument_complete_request import SelectedPaymentInstrument
from ucp_sdk.models.schemas.common.types.token_credential import TokenCredential
from ucp_sdk.models.schemas.profile import BusinessSchema
from ucp_sdk.models.schemas.shopping import buyer_consent, cart, catalog_lookup, catalog_search, checkout, discount, fulfillment
from ucp_sdk.models.schemas.shopping.cart_create_request import CartCreateRequest
from ucp_sdk.models.schemas.shopping.cart_create_request import Checkout as CheckoutOfCartRequest
from ucp_sdk.models.schemas.shopping.cart_update_request import CartUpdateRequest
from ucp_sdk.models.schemas.shopping.catalog_lookup import GetProductResponse, LookupResponse
from ucp_sdk.models.schemas.shopping.catalog_search import SearchResponse
from ucp_sdk.models.schemas.shopping.checkout_complete_request import CheckoutCompleteRequest
from ucp_sdk.models.schemas.shopping.checkout_create_request import CheckoutCreateRequest
from ucp_sdk.models.schemas.shopping.checkout_update_request import CheckoutUpdateRequest
from ucp_sdk.models.schemas.shopping.order import Order
from ucp_sdk.models.schemas.shopping.types import (
    buyer_create_request,
    buyer_update_request,
    fulfillment_create_request,
    fulfillment_group_update_request,
    fulfillment_method_create_request,
    fulfillment_method_update_request,
    fulfillment_update_request,
    item_create_request,
    item_update_request,
    line_item_create_request,
    line_item_update_request,
    shipping_destination_create_request,
)
from ucp_sdk.models.schemas.transports import mcp_tool_call

from lib import orders, purchase
from lib.catalog_models import suite
from lib.exact import REST, Rest, Tools, parsed
from lib.gateway import RUNS, Host, published_profile, run, serving
from lib.shop import PROFILE, RELEASES, URL, browse, fetch

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


VARIANT = "var_sunrise-filter_250-g_whole-beans"
ADDRESS = {
    "street_address": "1 Main St",
    "address_locality": "Eugene",
    "address_region": "OR",
    "postal_code": "97401",
    "address_country": "US",
}
# Members of a checkout and a cart that models of extensions name.
EXTENDED = {"$.discounts", "$.fulfillment", "$.ap2"}
# A destination is an address or a place of the shop, which models of their own name.
DESTINATION = {
    f"$.fulfillment.methods[].destinations[].{name}"
    for name in [*ADDRESS, "address", "name", "first_name", "last_name", "phone_number"]
}


def checkout_of(document):
    """A checkout by the models of the release and of its extensions."""
    for module in (checkout, discount, buyer_consent, payment_ap2_mandate):
        parsed(module.Checkout, document, *EXTENDED)
    return parsed(fulfillment.Checkout, document, *EXTENDED, *DESTINATION)


def cart_of(document):
    for module in (cart, discount, buyer_consent):
        shown = parsed(module.Cart, document, *EXTENDED)
    return shown


def lines(quantity):
    """Lines of a new cart or checkout."""
    item = item_create_request.ItemCreateRequest(
        id=VARIANT, quantity_unit={"unit": "C62", "scale": 0, "display_text": "piece"}
    )
    return [line_item_create_request.LineItemCreateRequest(item=item, quantity=quantity)]


def paying(shown):
    """What completes a checkout."""
    [[handler]] = shown.ucp.payment_handlers.values()
    credential = TokenCredential(type="token", token="success_token")
    instrument = SelectedPaymentInstrument(
        id="card_1", handler_id=handler.id, type="card", credential=credential.model_dump(), selected=True
    )
    return CheckoutCompleteRequest(payment=PaymentCompleteRequest(instruments=[instrument]))


@pytest.mark.parametrize("base", ["", "/ucp/2026-08-25"], ids=["root", "release"])
@pytest.mark.parametrize("transport", [Rest, Tools])
class TestEveryOperation:
    """What the SDK's models build is taken, and what is answered they name."""

    @pytest.fixture
    def shop(self, transport, base):
        return transport(URL, base, PROFILE, *([mcp_tool_call] if transport is Tools else []))

    def test_all_that_is_built_is_taken_and_all_that_is_answered_is_named(self, shop):
        context = ContextCreateRequest(address_country="US", language="en-US", currency="USD")
        found = parsed(
            SearchResponse, shop.call("search_catalog", catalog_search.SearchRequest(query="runner", context=context.model_dump(exclude_unset=True)))
        )
        ids = [product.id for product in found.products]
        listed = parsed(LookupResponse, shop.call("lookup_catalog", catalog_lookup.LookupRequest(ids=[*ids, "prod_unknown"])))
        assert [product.id for product in listed.products] == ids
        detail = parsed(GetProductResponse, shop.call("get_product", catalog_lookup.GetProductRequest(id=ids[0])))
        assert detail.product.id == ids[0]
        parsed(ErrorResponse, shop.call("get_product", catalog_lookup.GetProductRequest(id="prod_unknown")))

        kept = cart_of(shop.call("create_cart", CartCreateRequest(line_items=lines(1), context=context)))
        assert cart_of(shop.call("get_cart", id=kept.id)) == kept
        known = line_item_update_request.LineItemUpdateRequest(
            id=kept.line_items[0].id, item=item_update_request.ItemUpdateRequest(id=VARIANT), quantity=2
        )
        changed = CartUpdateRequest(line_items=[known], discounts={"codes": ["WELCOME10", "no such code"]})
        assert cart_of(shop.call("update_cart", changed, kept.id)).line_items[0].quantity == 2

        begun = checkout_of(shop.call("create_checkout", CheckoutOfCartRequest(line_items=[], cart_id=kept.id)))
        assert (begun.status, begun.line_items[0].quantity) == ("incomplete", 2)
        assert checkout_of(shop.call("get_checkout", id=begun.id)) == begun
        delivery = {
            "methods": [
                fulfillment_method_update_request.FulfillmentMethodUpdateRequest(
                    type="shipping",
                    line_item_ids=[line.id for line in begun.line_items],
                    destinations=[shipping_destination_create_request.ShippingDestinationCreateRequest(type="shipping_address", **ADDRESS)],
                )
            ]
        }
        update = CheckoutUpdateRequest(
            line_items=[known],
            buyer=buyer_update_request.BuyerUpdateRequest(email="buyer@example.com", first_name="Bea", last_name="Buyer"),
            fulfillment=fulfillment_update_request.FulfillmentUpdateRequest(**delivery),
        )
        ready = checkout_of(shop.call("update_checkout", update, begun.id))
        [method] = ready.fulfillment.methods
        [group] = method.groups
        express = group.options[-1].id
        chosen = fulfillment_method_update_request.FulfillmentMethodUpdateRequest(
            id=method.id,
            line_item_ids=method.line_item_ids,
            selected_destination_id=method.selected_destination_id,
            groups=[fulfillment_group_update_request.FulfillmentGroupUpdateRequest(id=group.id, selected_option_id=express)],
        )
        update.fulfillment = fulfillment_update_request.FulfillmentUpdateRequest(methods=[chosen])
        ready = checkout_of(shop.call("update_checkout", update, begun.id))
        assert (ready.status, ready.fulfillment.methods[0].groups[0].selected_option_id) == ("ready_for_complete", express)
        done = checkout_of(shop.call("complete_checkout", paying(ready), begun.id))
        assert done.status == "completed"
        placed = parsed(Order, shop.call("get_order", id=done.order.id))
        assert placed.checkout_id == begun.id

        cart_of(shop.call("cancel_cart", id=kept.id))
        parsed(ErrorResponse, shop.call("get_cart", id=kept.id))
        pickup = fulfillment_method_create_request.FulfillmentMethodCreateRequest(
            type="pickup", selected_destination_id="store-springfield"
        )
        other = CheckoutCreateRequest(
            line_items=lines(1),
            buyer=buyer_create_request.BuyerCreateRequest(email="buyer@example.com"),
            fulfillment=fulfillment_create_request.FulfillmentCreateRequest(methods=[pickup]),
        )
        fetched = checkout_of(shop.call("create_checkout", other))
        assert fetched.fulfillment.methods[0].destinations[0].type == "business_location"
        assert checkout_of(shop.call("cancel_checkout", id=fetched.id)).status == "canceled"
        for operation, id in [("get_checkout", "chk_unknown"), ("get_order", "ord_unknown")]:
            parsed(ErrorResponse, shop.call(operation, id=id))

        near = LocationDistance(center=Geo(latitude=37.79, longitude=-122.41), max=5000)
        search = location_search.SearchRequest(distance=near)
        around = parsed(location_search.SearchResponse, shop.call("search_locations", search)).locations
        assert around
        # Not validated: the SDK holds the pattern of the text against the time that it has read from it.
        filters = LocationFilter.model_construct(hours=Hours.model_construct(open_at="2026-11-20T18:30:00-08:00"))
        search = location_search.SearchRequest(query="pizza", filters=filters)
        assert parsed(location_search.SearchResponse, shop.call("search_locations", search)).locations
        lookup = location_lookup.LookupRequest(ids=[around[0].id, "loc_unknown", around[0].id])
        [found] = parsed(location_lookup.LookupResponse, shop.call("lookup_locations", lookup)).locations
        assert [each.id for each in found.inputs] == [around[0].id]

        assert shop.called == REST.keys()

    def test_a_filter_that_the_directory_cannot_evaluate_is_refused(self, shop, transport):
        for wanted in [
            {"serves": LocationServes(point=Geo(latitude=37.79, longitude=-122.41))},
            {"serves": LocationServes(address=Address(address_country="US"))},
            {"filters": LocationFilter(items=["prod_abc123"])},
        ]:
            if transport is Rest:
                with pytest.raises(AssertionError, match="invalid_request"):
                    shop.call("search_locations", location_search.SearchRequest(**wanted))
            else:
                with pytest.raises((AssertionError, ValueError)):
                    shop.call("search_locations", location_search.SearchRequest(**wanted))


def test_every_tool_of_the_release_is_called_above():
    _, listed = fetch("/ucp/2026-08-25/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    tools = {tool["name"] for tool in listed["result"]["tools"]}
    # The draft of merchants belongs to no release.
    assert tools - {"search_merchants", "get_merchant"} == REST.keys()


@pytest.mark.parametrize("path", ["/.well-known/ucp", "/ucp/2026-08-25/.well-known/ucp"])
def test_the_profile_has_no_member_that_the_release_does_not_name(path):
    # For readers of older releases.
    profile = parsed(BusinessSchema, published_profile(path), "$.signing_keys")
    [[handler]] = profile.ucp.payment_handlers.values()
    assert handler.id
    assert "dev.ucp.common.payment.ap2_mandate" in profile.ucp.capabilities


def test_an_agreement_is_asked_for_and_signed_as_the_models_say():
    data, host = RUNS / "mandates", Host()
    run("keys", "generate", "--data-dir", data)
    names = ["shopping.checkout", "shopping.fulfillment", "common.payment.ap2_mandate"]
    declared = {f"dev.ucp.{name}": [{"version": "2026-08-25"}] for name in names}
    agent = host.put("/agent", {"ucp": {"version": "2026-08-25", "capabilities": declared}, "keys": []})
    with serving(data, orders.CONFIG) as url:
        shop = Rest(url, "/ucp/2026-08-25", agent)
        shipped = fulfillment_method_create_request.FulfillmentMethodCreateRequest(type="shipping", destinations=[ADDRESS])
        wanted = CheckoutCreateRequest(
            line_items=lines(1),
            buyer=buyer_create_request.BuyerCreateRequest(email="buyer@example.com"),
            fulfillment=fulfillment_create_request.FulfillmentCreateRequest(methods=[shipped]),
        )
        document = shop.call("create_checkout", wanted)
        ready = checkout_of(document)
        signed = parsed(payment_ap2_mandate.Checkout, document, *EXTENDED)
        assert (ready.status, signed.ap2.checkout_mandate) == ("ready_for_complete", None)
        assert signed.ap2.merchant_authorization
        refused = shop.call("complete_checkout", paying(ready), ready.id)
        codes = [message["code"] for message in refused["messages"] if message["type"] == "error"]
        assert [TypeAdapter(payment_ap2_mandate.ErrorCode).validate_python(code) for code in codes] == ["mandate_required"]
        checkout_of(refused)
    host.server.shutdown()

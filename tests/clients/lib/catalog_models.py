"""What a release of PyPI `ucp-sdk` that has a catalog does with the gateway: its models parse every answer about every product.

A lane gives the `models` of its release, and the paths below which the gateway speaks it.
"""

import itertools
from fractions import Fraction

import pytest
from pydantic import TypeAdapter

from lib.shop import fetch

CONTEXTS = [
    {},
    {"address_country": "US", "language": "en-US", "currency": "USD"},
    {"address_country": "ES", "language": "es", "currency": "EUR"},
    {"address_country": "JP", "language": "ja", "currency": "JPY"},
    {"address_country": "KW", "currency": "KWD"},
    # Nothing a shop must have: the answer is in what it has.
    {"address_country": "XX", "language": "tlh", "currency": "XTS", "eligibility": ["com.example.unheard_of"]},
]
# A title, a typing error, Spanish, a SKU, and something that no shop has.
QUERIES = ["runner pro", "runing shoes", "zapatillas", "RP-BLU-10", "xyzzyplugh"]


def suite(release, *, bases, models, unit_price):
    """Declares the tests. `unit_price` checks one of the SDK's, and gives how much of its reference a package holds."""

    class Suite:
        @pytest.fixture(scope="class", params=bases, ids=lambda base: base or "root")
        def base(self, request):
            return request.param

        @pytest.fixture(scope="class")
        def parse(self, base):
            """Sends a body and returns the answer as the SDK's model."""

            def send(model, path, body):
                status, answer = fetch(base + path, body)
                assert status == 200, answer
                assert answer["ucp"]["version"] == release
                return TypeAdapter(model).validate_python(answer)

            return send

        @pytest.fixture(scope="class")
        def products(self, parse):
            """Every product of the shop, page by page."""
            body = {"filters": {"price": {"min": 0}}, "context": {"currency": "USD"}, "pagination": {"limit": 50}}
            found = []
            while True:
                page = parse(models.SearchResponse, "/catalog/search", body)
                found += page.products
                if not page.pagination.has_next_page:
                    return found
                body["pagination"]["cursor"] = page.pagination.cursor

        def test_discovery_profile(self, base):
            status, document = fetch(f"{base}/.well-known/ucp")
            assert status == 200
            profile = models.profile(document)
            # Some releases wrap what others give as text.
            assert str(getattr(profile.version, "root", profile.version)) == release
            assert {"rest", "mcp"} <= {service.transport for service in profile.services["dev.ucp.shopping"]}
            assert {"dev.ucp.shopping.catalog.search", "dev.ucp.shopping.catalog.lookup"} <= profile.capabilities.keys()

        @pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: context.get("address_country", "none"))
        @pytest.mark.parametrize("query", QUERIES)
        def test_search(self, parse, query, context):
            answer = parse(models.SearchResponse, "/catalog/search", {"query": query, "context": context})
            assert bool(answer.products) == (query != "xyzzyplugh")

        def test_browsing_gives_every_product_once(self, base, products):
            ids = [product.id for product in products]
            assert len(ids) == len(set(ids))
            assert len(ids) >= 150
            _, answer = fetch(f"{base}/catalog/search", {"filters": {"price": {"min": 0}}, "context": {"currency": "USD"}})
            assert answer["pagination"]["total_count"] == len(ids)

        def test_lookup_of_every_product(self, parse, products):
            ids = [product.id for product in products]
            for start in range(0, len(ids), 50):
                batch = ids[start : start + 50]
                answer = parse(models.LookupResponse, "/catalog/lookup", {"ids": batch})
                assert {product.id for product in answer.products} == set(batch)
                for product in answer.products:
                    assert [(entry.id, entry.match) for entry in product.variants[0].inputs] == [(product.id, "featured")]

        def test_the_page_of_every_product(self, parse, products):
            for product, context in zip(products, itertools.cycle(CONTEXTS)):
                answer = parse(models.GetProductResponse, "/catalog/product", {"id": product.id, "context": context})
                assert answer.product.id == product.id
                assert answer.product.variants

        def test_unit_prices(self, parse, products):
            priced = 0
            for product in products:
                answer = parse(models.GetProductResponse, "/catalog/product", {"id": product.id, "context": {"currency": "USD"}})
                for variant in answer.product.variants:
                    unit, price = variant.unit_price, variant.price
                    if unit is None:
                        continue
                    priced += 1
                    held = unit_price(unit)
                    assert unit.currency == price.currency
                    # Rounded once, whichever way.
                    assert abs(amount(unit) - Fraction(amount(price)) / held) < 1, (variant.id, unit)
            assert priced >= 15, "the sample shop has them"

        def test_a_product_that_is_not_there(self, parse):
            answer = parse(models.ErrorResponse, "/catalog/product", {"id": "prod_unknown"})
            [message] = answer.messages
            assert (message.type, message.code, message.severity) == ("error", "not_found", "unrecoverable")

        def test_lookup_of_ids_that_are_not_there(self, parse):
            answer = parse(models.LookupResponse, "/catalog/lookup", {"ids": ["prod_unknown", "prod_abc123"]})
            assert [product.id for product in answer.products] == ["prod_abc123"]
            [message] = answer.messages
            assert (message.type, message.code, message.content) == ("info", "not_found", "prod_unknown")

    return Suite


def amount(price):
    """The amount in minor units; the SDK wraps it."""
    return getattr(price.amount, "root", price.amount)

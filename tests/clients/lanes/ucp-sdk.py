"""PyPI `ucp-sdk`, the protocol's own Python models, parses every answer about every product of the sample shop."""

import itertools

import pytest
from pydantic import TypeAdapter
from ucp_sdk.models.schemas.shopping.catalog_lookup import GetProductResponse, LookupResponse
from ucp_sdk.models.schemas.shopping.catalog_search import SearchResponse
from ucp_sdk.models.schemas.shopping.types.error_response import ErrorResponse
from ucp_sdk.models.schemas.ucp import BusinessSchema

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


def parse(model, path, body):
    """Sends `body` and returns the answer as the SDK's `model`."""
    status, answer = fetch(path, body)
    assert status == 200, answer
    return TypeAdapter(model).validate_python(answer)


def browse(context):
    """Every product of the shop, page by page."""
    body = {"filters": {"price": {"min": 0}}, "context": context, "pagination": {"limit": 50}}
    while True:
        page = parse(SearchResponse, "/catalog/search", body)
        yield from page.products
        if not page.pagination.has_next_page:
            return
        body["pagination"]["cursor"] = page.pagination.cursor


@pytest.fixture(scope="module")
def products():
    return list(browse({"currency": "USD"}))


def test_discovery_profile():
    status, document = fetch("/.well-known/ucp")
    assert status == 200
    profile = BusinessSchema.model_validate(document["ucp"])
    assert profile.version == "2026-04-08"
    assert {"rest", "mcp"} <= {service.transport for service in profile.services["dev.ucp.shopping"]}
    assert {"dev.ucp.shopping.catalog.search", "dev.ucp.shopping.catalog.lookup"} <= profile.capabilities.keys()


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: context.get("address_country", "none"))
@pytest.mark.parametrize("query", QUERIES)
def test_search(query, context):
    answer = parse(SearchResponse, "/catalog/search", {"query": query, "context": context})
    assert bool(answer.products) == (query != "xyzzyplugh")


def test_browsing_gives_every_product_once(products):
    ids = [product.id for product in products]
    assert len(ids) == len(set(ids))
    assert len(ids) >= 150
    _, answer = fetch("/catalog/search", {"filters": {"price": {"min": 0}}, "context": {"currency": "USD"}})
    assert answer["pagination"]["total_count"] == len(ids)


def test_lookup_of_every_product(products):
    ids = [product.id for product in products]
    for start in range(0, len(ids), 50):
        batch = ids[start : start + 50]
        answer = parse(LookupResponse, "/catalog/lookup", {"ids": batch})
        assert {product.id for product in answer.products} == set(batch)
        for product in answer.products:
            assert [(entry.id, entry.match) for entry in product.variants[0].inputs] == [(product.id, "featured")]


def test_the_page_of_every_product(products):
    for product, context in zip(products, itertools.cycle(CONTEXTS)):
        answer = parse(GetProductResponse, "/catalog/product", {"id": product.id, "context": context})
        assert answer.product.id == product.id
        assert answer.product.variants


def test_a_product_that_is_not_there():
    answer = parse(ErrorResponse, "/catalog/product", {"id": "prod_unknown"})
    [message] = answer.messages
    assert (message.type, message.code, message.severity) == ("error", "not_found", "unrecoverable")


def test_lookup_of_ids_that_are_not_there():
    answer = parse(LookupResponse, "/catalog/lookup", {"ids": ["prod_unknown", "prod_abc123"]})
    assert [product.id for product in answer.products] == ["prod_abc123"]
    [message] = answer.messages
    assert (message.type, message.code, message.content) == ("info", "not_found", "prod_unknown")

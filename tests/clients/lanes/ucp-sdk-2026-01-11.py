"""PyPI `ucp-sdk` 0.1, the protocol's own Python models of 2026-01-11."""

from ucp_sdk.models.discovery.profile_schema import UcpDiscoveryProfile
from ucp_sdk.models.schemas.shopping.types.message import Message

from lib.founding_models import suite
from lib.gateway import published_profile


def profile(document):
    parsed = UcpDiscoveryProfile.model_validate(document)
    service = parsed.ucp.services.root["dev.ucp.shopping"]
    assert parsed.ucp.capabilities == [], "what this release has is not served yet"
    assert parsed.payment.handlers == []
    endpoints = {name: getattr(service, name) for name in ("rest", "mcp", "a2a", "embedded")}
    return parsed.ucp.version.root, {name: str(way.endpoint) for name, way in endpoints.items() if way}


TestFounding = suite("2026-01-11", profile=profile, message=lambda message: Message.model_validate(message).root)


def test_the_profile_publishes_the_public_key():
    document = published_profile("/ucp/2026-01-11/.well-known/ucp")
    [key] = UcpDiscoveryProfile.model_validate(document).signing_keys
    assert (key.kty, key.crv, key.alg) == ("EC", "P-256", "ES256")
    assert key.kid
    assert not hasattr(key, "d")

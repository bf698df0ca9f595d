"""What a release of PyPI `ucp-sdk` from before there was a catalog knows of the gateway: its profile, and how it says no.

A lane gives what its release has models of.
"""

import pytest

from lib.shop import BROWSE, REFUSED, fetch


def suite(release, *, profile, message):
    """Declares the tests. `profile` and `message` parse what they are given."""

    class Suite:
        def test_discovery_profile(self):
            status, document = fetch(f"/ucp/{release}/.well-known/ucp")
            assert status == 200
            version, endpoints = profile(document)
            assert version == release
            assert endpoints.keys() == {"rest", "mcp"}
            for transport, path in (("rest", ""), ("mcp", "/mcp")):
                assert endpoints[transport].endswith(f"/ucp/{release}{path}")

        @pytest.mark.parametrize(
            ("path", "body", "expected", "code", "severity"),
            [
                ("/catalog/search", REFUSED[1], 400, REFUSED[2], "recoverable"),
                ("/catalog/search", {}, 400, "invalid_request", "recoverable"),
                ("/catalog/lookup", {"ids": "prod_abc123"}, 400, "invalid_request", "recoverable"),
                ("/catalog/product", {"id": "prod_unknown"}, 404, "not_found", "requires_buyer_input"),
            ],
        )
        def test_a_refusal(self, path, body, expected, code, severity):
            status, answer = fetch(f"/ucp/{release}{path}", body)
            assert (status, answer["status"]) == (expected, "requires_escalation")
            [told] = [message(each) for each in answer["messages"]]
            assert (told.type, told.code, told.severity) == ("error", code, severity)
            assert told.content

        def test_notes_in_answers(self):
            body = {"ids": ["prod_abc123", "prod_unknown"]}
            status, answer = fetch(f"/ucp/{release}/catalog/lookup", body)
            assert status == 200
            [told] = [message(each) for each in answer["messages"]]
            assert (told.type, told.code, told.content) == ("info", "not_found", "prod_unknown")

        def test_the_envelope_of_answers(self):
            status, answer = fetch(f"/ucp/{release}/catalog/search", BROWSE)
            assert status == 200
            assert answer["ucp"].keys() == {"version", "capabilities"}
            assert answer["ucp"]["version"] == release

    return Suite

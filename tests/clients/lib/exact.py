"""What a release of PyPI `ucp-sdk` builds, the gateway takes, and what the gateway answers has no member that the SDK's
models do not name: every operation, over both transports.
"""

import json
import urllib.error
import urllib.request
import uuid

from pydantic import BaseModel, TypeAdapter

# The operations of the release, as REST has them.
REST = {
    "search_catalog": ("POST", "/catalog/search"),
    "lookup_catalog": ("POST", "/catalog/lookup"),
    "get_product": ("POST", "/catalog/product"),
    "create_cart": ("POST", "/carts"),
    "get_cart": ("GET", "/carts/{id}"),
    "update_cart": ("PUT", "/carts/{id}"),
    "cancel_cart": ("POST", "/carts/{id}/cancel"),
    "create_checkout": ("POST", "/checkout-sessions"),
    "get_checkout": ("GET", "/checkout-sessions/{id}"),
    "update_checkout": ("PUT", "/checkout-sessions/{id}"),
    "complete_checkout": ("POST", "/checkout-sessions/{id}/complete"),
    "cancel_checkout": ("POST", "/checkout-sessions/{id}/cancel"),
    "get_order": ("GET", "/orders/{id}"),
    "search_locations": ("POST", "/locations/search"),
    "lookup_locations": ("POST", "/locations/lookup"),
}


def stated(request):
    """A request as JSON: what was set, under the names that the protocol has for it."""
    return request.model_dump(mode="json", by_alias=True, exclude_unset=True)


def strange(value, path="$"):
    """The paths of all members that the model of their object does not name."""
    if isinstance(value, BaseModel):
        found = {f"{path}.{name}" for name in value.model_extra or {}}
        return found.union(*(strange(getattr(value, name), f"{path}.{name}") for name in type(value).model_fields))
    if isinstance(value, dict):
        return set().union(*(strange(each, f"{path}.*") for each in value.values()))
    if isinstance(value, list):
        return set().union(*(strange(each, f"{path}[]") for each in value))
    return set()


def parsed(model, document, *known):
    """A document as a model has it. `known` are the members that another model of the release names."""
    value = TypeAdapter(model).validate_python(document)
    assert strange(value) <= set(known)
    return value


class Rest:
    """Calls over REST; `called` are the operations that there were."""

    def __init__(self, url, base, profile):
        self.url, self.profile, self.called = url + base, profile, set()

    def call(self, operation, request=None, id=None):
        self.called.add(operation)
        method, path = REST[operation]
        headers = {"UCP-Agent": f'profile="{self.profile}"', "Idempotency-Key": str(uuid.uuid4())}
        return self.send(method, path.format(id=id), headers, None if request is None else stated(request))

    def send(self, method, path, headers, body):
        data = None if body is None else json.dumps(body).encode()
        headers = headers | {"Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(self.url + path, data, headers, method=method), timeout=30
            ) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error


class Tools(Rest):
    """The same over MCP, with the envelopes of the SDK's module `envelope`."""

    # Which argument holds the request.
    ARGUMENTS = {"catalog": "catalog", "product": "catalog", "cart": "cart", "checkout": "checkout", "locations": "location"}

    def __init__(self, url, base, profile, envelope):
        super().__init__(url, base, profile)
        self.envelope = envelope

    def call(self, operation, request=None, id=None):
        self.called.add(operation)
        arguments = {"meta": {"ucp-agent": {"profile": self.profile}, "idempotency-key": str(uuid.uuid4())}}
        if id is not None:
            arguments["id"] = id
        if request is not None:
            arguments[self.ARGUMENTS[operation.rpartition("_")[2]]] = stated(request)
        message = self.envelope.Request(
            jsonrpc="2.0", id="1", method="tools/call", params={"name": operation, "arguments": arguments}
        )
        answer = self.send("POST", "/mcp", {}, stated(message))
        return self.envelope.Response.model_validate(answer).result.structuredContent

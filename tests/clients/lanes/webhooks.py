"""PyPI `http-message-signatures`, `jwcrypto` and `jsonschema`, which know nothing of this gateway: every webhook of every
step of an order is signed so that they accept it, as it is and not altered, and is what the release says an order is."""

import json
import os
import sys
import time
import urllib.request
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from copy import deepcopy
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from http_message_signatures import HTTPMessageVerifier, InvalidSignature, MappingKeyResolver
from http_message_signatures.algorithms import ECDSA_P256_SHA256, ECDSA_P384_SHA384
from jsonschema import Draft202012Validator
from jwcrypto.common import JWException
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS
from referencing import Registry, Resource

from lib import orders
from lib.gateway import run
from lib.shop import RELEASES

sys.path.append(str(Path(os.environ["REPOSITORY"], "crates/ucp-trust/tests/vectors")))

import make  # noqa: E402

# Those that sign messages (RFC 9421); the others sign bodies.
MESSAGES = RELEASES[2:]
BODIES = RELEASES[:2]
COVERED = [*make.TARGET, "@query", "ucp-agent", "webhook-id", "webhook-timestamp", *make.BODY]
ALGORITHMS = {"P-256": ECDSA_P256_SHA256, "P-384": ECDSA_P384_SHA384}
KINDS = [*orders.KINDS, "not sent", "picked up"]


@pytest.fixture(scope="module", params=["es256", "es384"])
def shop(request):
    with orders.shops(algorithm=request.param, name="signing") as shop:
        yield shop


@pytest.fixture(scope="module")
def told(shop):
    """By release: the platform, and its webhooks by kind."""
    told = {}
    for release in RELEASES:
        receiver = orders.Receiver()
        platform = shop.platform(release, receiver)
        _, webhooks = orders.journey(platform, receiver)
        told[release] = platform, webhooks | orders.others(platform, receiver)
        receiver.server.shutdown()
    return told


def published(webhook):
    """The keys of the profile that a webhook says it is from."""
    url = webhook.header("UCP-Agent").removeprefix('profile="').removesuffix('"')
    with urllib.request.urlopen(url, timeout=30) as response:
        return {jwk["kid"]: jwk for jwk in json.load(response)["keys"]}


def message(webhook):
    """The webhook as the library takes it."""
    start = f"{webhook.method} {webhook.target} HTTP/1.1"
    return make.Message(start, webhook.headers, webhook.body, url=f"http://{webhook.header('Host')}{webhook.target}")


def verified(webhook, keys):
    """What the signature of a webhook says, if it holds."""
    curve = next(iter(keys.values()))["crv"]
    numbers = {kid: [int.from_bytes(urlsafe_b64decode(jwk[name] + "==")) for name in ("x", "y")] for kid, jwk in keys.items()}
    curves = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1()}
    public = {kid: ec.EllipticCurvePublicNumbers(*xy, curves[curve]).public_key() for kid, xy in numbers.items()}
    resolver = MappingKeyResolver(public_keys=public, private_keys={})
    verifier = HTTPMessageVerifier(signature_algorithm=ALGORITHMS[curve], key_resolver=resolver)
    [result] = verifier.verify(message(webhook), require_components=COVERED, body=webhook.body)
    return result


def detached(webhook, keys):
    """The head of the signature over the body of a webhook, if it holds (RFC 7797)."""
    head, signature = webhook.header("Request-Signature").split("..")
    stated = json.loads(urlsafe_b64decode(head + "=="))
    jws = JWS(webhook.body)
    jws.deserialize(json.dumps({"protected": head, "payload": webhook.body.decode(), "signature": signature}))
    jws.verify(JWK(**keys[stated["kid"]]))
    return stated


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("release", MESSAGES)
def test_every_webhook_is_signed(shop, told, release, kind):
    webhook = told[release][1][kind]
    assert webhook.header("UCP-Agent") == f'profile="{shop.url}/.well-known/ucp"'
    result = verified(webhook, published(webhook))
    assert set(result.parameters) == {"created", "keyid"}
    assert abs(result.parameters["created"] - time.time()) < 600
    assert "request-signature" not in {name.lower() for name, _ in webhook.headers}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("release", BODIES)
def test_every_webhook_of_older_releases_has_a_signed_body(told, release, kind):
    webhook = told[release][1][kind]
    stated = detached(webhook, published(webhook))
    assert set(stated) == {"alg", "kid", "b64", "crit"}
    assert (stated["b64"], stated["crit"]) == (False, ["b64"])
    body = webhook.json()
    assert body["event_id"] == webhook.header("Webhook-Id")
    assert body["created_time"]


@pytest.mark.parametrize("release", RELEASES)
def test_every_webhook_says_what_it_is(told, release):
    platform, webhooks = told[release]
    ids = [webhook.header("Webhook-Id") for webhook in webhooks.values()]
    assert len({uuid.UUID(each) for each in ids}) == len(KINDS)
    times = [int(webhook.header("Webhook-Timestamp")) for webhook in webhooks.values()]
    assert times == sorted(times)
    assert abs(times[0] - time.time()) < 600
    for webhook in webhooks.values():
        assert webhook.header("Content-Type") == "application/json"
        body = webhook.json()
        assert body["ucp"]["version"] == release
        if release in MESSAGES:
            assert "event_id" not in body and "created_time" not in body


def changed(webhook, **members):
    """The webhook with other members."""
    copy = deepcopy(webhook)
    for name, value in members.items():
        setattr(copy, name, value)
    return copy


def altered(webhook, other):
    """By what was altered: a webhook that nobody may take for what it was."""

    def headers(name, value):
        """All of them, of which one says something else, or is not there."""
        lines = [(own, value if own.lower() == name.lower() else old) for own, old in webhook.headers]
        return [line for line in lines if line[1] is not None]

    signed = ["Webhook-Id", "Webhook-Timestamp", "UCP-Agent", "Content-Type", "Content-Digest", "Signature-Input", "Signature"]
    for name in signed:
        yield f"{name}, left out", changed(webhook, headers=headers(name, None))
        if other.header(name) != webhook.header(name):
            yield f"{name}, of another webhook", changed(webhook, headers=headers(name, other.header(name)))
    for name, value in [
        ("Webhook-Id", str(uuid.uuid4())),
        ("Webhook-Timestamp", str(int(webhook.header("Webhook-Timestamp")) + 1)),
        ("UCP-Agent", 'profile="https://shop.example/.well-known/ucp"'),
        ("Host", "platform.example"),
        ("Content-Type", "application/json; charset=utf-8"),
    ]:
        yield name, changed(webhook, headers=headers(name, value))
    yield "the path", changed(webhook, target=webhook.target.replace("/hooks/orders", "/hooks/other"))
    yield "the query", changed(webhook, target=webhook.target.replace("of=ucp", "of=ucq"))
    yield "the method", changed(webhook, method="PUT")
    for what, body in [
        ("the body", webhook.body.replace(b'"USD"', b'"EUR"')),
        ("a space", webhook.body + b" "),
        ("the body of another webhook", other.body),
        ("no body", b""),
    ]:
        assert body != webhook.body
        yield what, changed(webhook, body=body)


@pytest.mark.parametrize("release", MESSAGES)
def test_an_altered_webhook_is_refused(told, release):
    webhooks = told[release][1]
    webhook, other = webhooks["placed"], webhooks["shipped"]
    keys = published(webhook)
    verified(webhook, keys)
    wrong = list(altered(webhook, other))
    assert len(wrong) >= 20
    for what, each in wrong:
        with pytest.raises((InvalidSignature, KeyError)):
            verified(each, keys)
            pytest.fail(f"{what} was altered, and it was not noticed")


@pytest.mark.parametrize("release", BODIES)
def test_an_altered_body_is_refused(told, release):
    webhooks = told[release][1]
    webhook, other = webhooks["placed"], webhooks["shipped"]
    keys = published(webhook)
    detached(webhook, keys)
    for body in [webhook.body.replace(b'"type"', b'"Type"'), webhook.body + b" ", other.body]:
        assert body != webhook.body
        with pytest.raises(JWException):
            detached(changed(webhook, body=body), keys)
    head, signature = webhook.header("Request-Signature").split("..")
    stated = json.loads(urlsafe_b64decode(head + "==")) | {"alg": "none"}
    forged = urlsafe_b64encode(json.dumps(stated).encode()).rstrip(b"=").decode()
    headers = [(own, f"{forged}..{signature}" if own.lower() == "request-signature" else old) for own, old in webhook.headers]
    with pytest.raises(JWException):
        detached(changed(webhook, headers=headers), keys)


def test_a_webhook_that_is_sent_again_is_the_same():
    """What was sent first is sent again: only who signs it, and when, may be new."""
    with orders.shops(name="again") as shop:
        receiver = orders.Receiver(unsteady=True)
        platform = shop.platform("2026-08-25", receiver)
        order, _ = platform.buy(orders.WANTED)
        first, second = receiver.after(2)
        for name in ["Webhook-Id", "Webhook-Timestamp", "Content-Digest", "Content-Type"]:
            assert first.header(name) == second.header(name)
        assert first.body == second.body
        run("keys", "rotate", "--data-dir", shop.data)
        until = time.monotonic() + 60
        while len(published(first)) < 2:
            assert time.monotonic() < until, "a new key is used within a minute"
            time.sleep(0.5)
        shop.move(order, "ship")
        for webhook in receiver.after(4):
            verified(webhook, published(webhook))
        kids = [verified(webhook, published(webhook)).parameters["keyid"] for webhook in receiver.webhooks]
        assert kids[0] == kids[1] and kids[2] == kids[3] and kids[1] != kids[2]


# The official schemas, where they are at hand; without them there is nothing to hold a body against.


def official(release):
    """What validates the orders of a release, by its published files."""
    # The newest release has no published files; the nearest are those of its branch three days earlier.
    folder = Path(os.environ["REPOSITORY"], os.environ["UCP_SPEC_DIR"], "2026-08-22-main" if release == "2026-08-25" else release)
    # The first two releases publish what a response is as files of its own.
    folder = next(each for each in (folder / "spec", folder / "source") if each.is_dir())

    def retrieve(uri):
        return Resource.from_contents(json.loads((folder / uri.removeprefix("https://ucp.dev/")).read_text()))

    schema = json.loads((folder / "schemas/shopping/order.json").read_text())
    checker = Draft202012Validator.FORMAT_CHECKER
    return Draft202012Validator(schema, registry=Registry(retrieve=retrieve), format_checker=checker)


if "UCP_SPEC_DIR" in os.environ:

    @pytest.mark.parametrize("release", RELEASES)
    def test_every_webhook_is_an_order_by_the_official_schema(told, release):
        validator = official(release)
        for kind, webhook in told[release][1].items():
            problems = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(webhook.json())]
            assert problems == [], kind

    @pytest.mark.parametrize("release", RELEASES)
    def test_the_official_schema_tells_an_order_from_something_else(told, release):
        validator = official(release)
        body = told[release][1]["delivered"].json()
        for path, wrong in [
            (["ucp"], {}),
            (["line_items", 0, "status"], "unheard of"),
            (["line_items", 0, "quantity"], 3),
            (["permalink_url"], "no address"),
            (["totals", 0, "amount"], 1.5),
            (["fulfillment", "events", 0, "occurred_at"], "yesterday"),
            (["adjustments", 0, "status"], "unheard of"),
        ]:
            broken = deepcopy(body)
            place = broken
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = wrong
            assert not validator.is_valid(broken), path

else:
    print("UCP_SPEC_DIR does not point to the official schemas: no webhook is held against them")

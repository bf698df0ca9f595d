"""Shops that speak UCP and that nobody here wrote, with a gateway in front: a platform of every release buys there on every
transport, what the gateway asks is what the shop's release demands, and a shop's refusals are told as what they are."""

import json
import os
import subprocess
import urllib.request
import uuid
from base64 import urlsafe_b64decode
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from lib import peers
from lib.agent import Platform
from lib.shop import RELEASES

SAMPLES = ["2026-01-11", "2026-01-23"]
# The shops that are there. `run` says which are not, and why.
SHOPS = {
    f"sample-{release}": (peers.sample, release)
    for release in SAMPLES
    if os.environ.get(f"UCP_SAMPLES_{release.replace('-', '_')}_DIR")
} | {"ucpify": (peers.ucpify, "2026-01-11")}
PLATFORMS = [(release, transport) for release in RELEASES for transport in ("rest", "mcp")]


@pytest.fixture(scope="module", params=SHOPS)
def peer(request):
    opened, release = SHOPS[request.param]
    with opened(release) as shop, peers.fronted(shop) as peer:
        yield peer


def at(*shops):
    """Tests those of these shops that are there; where none is, nothing."""
    names = [name for name in SHOPS if name in shops]
    return lambda test: pytest.mark.parametrize("peer", names, indirect=True)(test) if names else None


# What the official sample servers can refuse.
official = at(*(f"sample-{release}" for release in SAMPLES))


@pytest.fixture(params=PLATFORMS, ids=lambda each: "-".join(each))
def platform(request, peer):
    return Platform(peer.gateway, *request.param)


@pytest.fixture
def newest(peer):
    return Platform(peer.gateway, RELEASES[-1], "rest")


def total(checkout, kind="total"):
    [amount] = [each["amount"] for each in checkout["totals"] if each["type"] == kind]
    return amount


def nulls(value, path="$"):
    """Where a document has `null`, except for the two choices that may be open."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if inner is None and name not in ("selected_destination_id", "selected_option_id"):
                yield f"{path}.{name}"
            yield from nulls(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from nulls(inner, f"{path}[{position}]")


def asked(peer, since=0):
    """The calls of the shop's checkouts."""
    return [call for call in peer.calls[since:] if "/checkout-sessions" in call.path]


def test_a_purchase(peer, platform):
    assert peer.handler in platform.handlers()
    ready = platform.ready(peer.item)
    assert total(ready, "subtotal") == peer.price
    answer = platform.ask("complete_checkout", ready["id"], platform.paying(peer.handler, "success_token"))
    completed = answer.document
    assert (answer.status, completed.get("status")) == (200, "completed"), str(answer)
    assert completed["order"]["id"] and completed["order"]["permalink_url"]
    assert completed["ucp"]["version"] == platform.release
    read = platform.ask("get_checkout", ready["id"])
    assert (read.status, read.document.get("status")) == (200, "completed"), str(read)
    there = peer.checkout(ready["id"])
    assert (there["status"], there["order"]["id"]) == ("completed", completed["order"]["id"])
    assert total(there) == total(completed)


def test_a_checkout_that_is_given_up(peer, platform):
    checkout = platform.begun(peer.item)
    answer = platform.ask("cancel_checkout", checkout["id"])
    assert (answer.status, answer.document.get("status")) == (200, "canceled"), str(answer)
    assert peer.checkout(checkout["id"])["status"] == "canceled"


def test_without_an_idempotency_key_where_none_is_needed(peer, newest):
    answer = newest.ask("create_checkout", payload=newest.lines(peer.item), key="")
    assert answer.status == 201, str(answer)


def test_no_answer_has_null_where_the_release_has_none(peer, platform):
    """Shops in Python write `null` for what is absent; no schema allows that."""
    assert not list(nulls(platform.begun(peer.item)))


def signed(call, keys):
    """Whether the body of a call is signed with one of these keys (RFC 7797)."""
    head, signature = call.header("Request-Signature").split("..")
    jws = JWS(call.body)
    jws.deserialize(json.dumps({"protected": head, "payload": call.body.decode(), "signature": signature}))
    jws.verify(JWK(**keys[json.loads(urlsafe_b64decode(head + "=="))["kid"]]))
    return True


def test_what_the_shop_is_asked_is_valid_in_its_release(peer, platform):
    """The gateway calls every operation once; the release's OpenAPI document says what has to be there."""
    since = len(peer.calls)
    # What was sent until something fails is looked at all the same.
    with suppress(AssertionError):
        ready = platform.ready(peer.item)
        platform.ask("complete_checkout", ready["id"], platform.paying(peer.handler, "success_token"))
        platform.ask("get_checkout", ready["id"])
        platform.ask("cancel_checkout", platform.begun(peer.item)["id"])
    calls = asked(peer, since)
    assert calls
    with urllib.request.urlopen(f"{peer.gateway}/upstream/{peer.release}/.well-known/ucp", timeout=30) as response:
        keys = {key["kid"]: key for key in json.load(response)["signing_keys"]}
    for call in calls:
        assert f'/upstream/{peer.release}/.well-known/ucp"' in call.header("UCP-Agent"), str(call)
        assert uuid.UUID(call.header("Request-Id")), str(call)
        assert signed(call, keys), str(call)
        if call.method == "GET":
            continue
        assert uuid.UUID(call.header("Idempotency-Key")), str(call)
        body = call.json()
        if call.path.endswith("/complete"):
            assert isinstance(body["risk_signals"], dict), str(call)
            if peer.release == "2026-01-11":
                paid = body["payment_data"]
                assert (paid["handler_id"], paid["brand"], paid["last_digits"]) == (peer.handler, "visa", "1111"), str(call)
                assert "payment" not in body, str(call)
            else:
                [paid] = body["payment"]["instruments"]
                assert (paid["handler_id"], paid["selected"]) == (peer.handler, True), str(call)
                assert paid["display"] == {"brand": "visa", "last_digits": "1111"}, str(call)
            assert paid["credential"] == {"type": "token", "token": "success_token"}, str(call)
        elif not call.path.endswith("/cancel"):
            assert body["currency"] == "USD", str(call)
            assert peer.release != "2026-01-11" or isinstance(body["payment"], dict), str(call)
            if call.method == "PUT":
                assert body["id"] == call.path.rsplit("/", 1)[1], str(call)


@official
def test_a_declined_payment(peer, platform):
    ready = platform.ready(peer.item)
    answer = platform.ask("complete_checkout", ready["id"], platform.paying(peer.declining, "fail_token"))
    assert "payment_failed" in answer.codes, str(answer)
    assert answer.status < 500, str(answer)
    # It stays open, and another card pays.
    answer = platform.ask("complete_checkout", ready["id"], platform.paying(peer.handler, "success_token"))
    assert answer.document.get("status") == "completed", str(answer)


@official
def test_more_than_there_is(peer, platform):
    answer = platform.ask("create_checkout", payload=platform.lines(peer.item, quantity=100_000))
    assert "out_of_stock" in answer.codes, str(answer)
    assert answer.status < 500, str(answer)


@official
def test_what_the_shop_does_not_have(peer, platform):
    """A shop that says 400 has found a mistake of the caller's: it is no outage."""
    answer = platform.ask("create_checkout", payload=platform.lines("no_such_thing"))
    assert answer.codes & {"invalid_request", "item_unavailable", "not_found"}, str(answer)
    assert answer.status < 500, str(answer)
    assert "no_such_thing" in answer.text.decode(), "the shop's own words"


def test_a_checkout_without_a_delivery_cannot_be_completed(peer, platform):
    checkout = platform.begun(peer.item)
    answer = platform.ask("complete_checkout", checkout["id"], platform.paying(peer.handler, "success_token"))
    assert answer.codes, str(answer)
    assert not answer.codes & {"unavailable", "internal_error"}, str(answer)
    assert answer.document.get("status") != "completed", str(answer)


@official
def test_what_is_over_stays_over(peer, platform):
    """A conflict with the state of a checkout is none with an earlier use of an idempotency key."""
    ready = platform.ready(peer.item)
    paying = platform.paying(peer.handler, "success_token")
    assert platform.ask("complete_checkout", ready["id"], paying).document.get("status") == "completed"
    for operation, payload in [
        ("update_checkout", platform.change(ready, peer.item)),
        ("complete_checkout", paying),
        ("cancel_checkout", None),
    ]:
        answer = platform.ask(operation, ready["id"], payload)
        assert answer.codes & {"checkout_completed", "checkout_not_modifiable"}, (operation, str(answer))
        assert "idempotency_conflict" not in answer.codes, (operation, str(answer))


@official
def test_one_key_for_two_things(peer, newest):
    key = str(uuid.uuid4())
    assert newest.ask("create_checkout", payload=newest.lines(peer.item), key=key).status == 201
    answer = newest.ask("create_checkout", payload=newest.lines(peer.item, quantity=2), key=key)
    assert (answer.status, answer.codes) == (409, {"idempotency_conflict"}), str(answer)


@official
def test_what_the_shop_has_forgotten(peer, newest):
    """The gateway knows whose it is; the shop says 404."""
    checkout = newest.begun(peer.item)
    peer.forget(checkout["id"])
    answer = newest.ask("get_checkout", checkout["id"])
    assert (answer.status, answer.codes) == (200, {"not_found"}), str(answer)


@pytest.mark.parametrize(
    "lie",
    [
        {"order.permalink_url": "https://elsewhere.example/orders/1"},
        {"order.permalink_url": "javascript:alert(1)"},
        {"links": [{"type": "terms_of_service", "url": "javascript:alert(1)"}]},
        {"totals.*.amount": -5},
        {"line_items.*.quantity": 0},
    ],
    ids=json.dumps,
)
def test_a_purchase_that_the_shop_completed_is_told_whatever_else_is_wrong(peer, newest, lie):
    ready, paying = newest.ready(peer.item), newest.paying(peer.handler, "success_token")
    with peer.proxy.misbehaves({"about": "/checkout-sessions/", "lie": lie}):
        answer = newest.ask("complete_checkout", ready["id"], paying)
        assert (answer.status, answer.document.get("status")) == (200, "completed"), str(answer)
        assert b"javascript:" not in answer.text
        again = newest.ask("complete_checkout", ready["id"], paying)
        assert again.status < 500 and "unavailable" not in again.codes, str(again)
        # A shop without keys would charge again.
        completions = [call for call in peer.calls if call.method == "POST" and call.path.endswith("/complete")]
        assert len(completions) == 1, [str(call) for call in completions]
    read = newest.ask("get_checkout", ready["id"])
    assert read.document.get("status") == "completed", str(read)
    assert peer.checkout(ready["id"])["order"]["id"] == answer.document["order"]["id"]


def test_links_on_the_domain_of_a_brand_are_told(peer, newest):
    links = [{"type": "terms_of_service", "url": "https://brand.example/terms"}, {"type": "faq", "url": "javascript:alert(1)"}]
    with peer.proxy.misbehaves({"lie": {"links": links}}):
        answer = newest.ask("create_checkout", payload=newest.lines(peer.item))
    assert answer.status == 201, str(answer)
    assert [link["url"] for link in answer.document["links"]] == ["https://brand.example/terms"]


@pytest.mark.parametrize(
    "rule",
    [{"lie": {"status": "whatever"}}, {"lie": {"line_items.*.quantity": 0}}, {"lie": {"totals.0.amount": 1}}, {"twice": "status"}],
    ids=json.dumps,
)
def test_what_is_no_checkout_is_not_handed_on(peer, newest, rule):
    with peer.proxy.misbehaves({"about": "POST .*/checkout-sessions", **rule}):
        answer = newest.ask("create_checkout", payload=newest.lines(peer.item))
        assert (answer.status, answer.codes) == (502, {"upstream_invalid"}), str(answer)
    newest.ready(peer.item)


def test_texts_that_nothing_can_hold_are_cleaned(peer, newest):
    with peer.proxy.misbehaves({"lie": {"line_items.*.item.title": "Red\u0000 \u202egnp.exe\u200b", "expires_at": "1999-01-01T00:00:00Z"}}):
        answer = newest.ask("create_checkout", payload=newest.lines(peer.item))
    assert answer.status == 201, str(answer)
    assert answer.document["line_items"][0]["item"]["title"] == "Red gnp.exe"
    assert "1999" not in answer.document.get("expires_at", "")


@pytest.mark.parametrize("fault", [{"hang": 20}, {"answer": {"status": 403}}, {"answer": {"status": 500}}], ids=json.dumps)
def test_one_question_that_fails_says_nothing_about_others(peer, newest, fault):
    strange = newest.lines(peer.item, quantity=7)
    stranger = Platform(peer.gateway, RELEASES[-1], "rest", "https://stranger.example/profile.json", "127.0.0.2")
    with ThreadPoolExecutor(8) as callers, peer.proxy.misbehaves({"about": '"quantity": ?7', **fault}):
        asked = [callers.submit(stranger.ask, "create_checkout", payload=strange) for _ in range(8)]
        for _ in range(4):
            test_a_purchase(peer, newest)
        for answer in asked:
            assert answer.result(120).status != 201
    assert newest.ask("create_checkout", payload=strange).status == 201, "it works at once"
    test_a_purchase(peer, newest)


def test_a_completion_whose_answer_is_lost(peer, newest):
    ready, paying = newest.ready(peer.item), newest.paying(peer.handler, "success_token")
    with peer.proxy.misbehaves({"about": "/complete", "lost": True}):
        answer = newest.ask("complete_checkout", ready["id"], paying)
        # The shop has completed it, and says so when it is read.
        assert answer.document.get("status") in ("completed", "complete_in_progress"), str(answer)
        assert len([call for call in peer.calls if call.path.endswith("/complete")]) == 1
    read = newest.ask("get_checkout", ready["id"])
    assert read.document.get("status") == "completed", str(read)


def test_payment_handlers_in_the_profile_are_what_the_shop_has(peer):
    with urllib.request.urlopen(f"{peer.gateway}/ucp/{SAMPLES[0]}/.well-known/ucp", timeout=30) as response:
        first = json.load(response)
    for handler in first["payment"]["handlers"]:
        # Required there as addresses: left out rather than empty.
        for name in ("spec", "config_schema"):
            assert handler.get(name) != "", handler


@at(f"sample-{SAMPLES[0]}")
def test_the_doctor_and_a_rehearsal_at_the_shop_itself(peer):
    """What docs/test-an-endpoint.md says of the official server of the first release."""

    def run(*arguments):
        command = [os.environ["UCP_GATEWAY_BIN"], *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    report = json.loads(run("doctor", peer.shop, "--allow-writes", "--item", peer.item, "--json").stdout)
    broken = {finding["rule"] for finding in report["findings"]}
    assert report["release"] == peer.release, report
    assert {"answers.schema", "profile.caching", "purchase.private"} <= broken, report["findings"]
    assert {"purchase.totals", "purchase.idempotency", "purchase.conflict", "purchase.cancel"} <= set(report["kept"]), report
    paying = ["--pay", f"{peer.handler}=success_token", "--item", peer.item]
    rehearsed = run("rehearse", peer.shop, "--sessions", "9", *paying)
    assert "9 ordered" in rehearsed.stdout, rehearsed.stdout + rehearsed.stderr
    assert "complete_checkout: INVALID_REQUEST" in rehearsed.stdout, rehearsed.stdout

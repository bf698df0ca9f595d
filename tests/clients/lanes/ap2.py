"""PyPI `sd-jwt`, `jwcrypto` and `rfc8785`, which know nothing of this gateway: every answer about a checkout is signed so
that they accept it, and nothing is sold without a mandate that they made about exactly these terms."""

import json
import time
import urllib.error
import urllib.request
import uuid
from base64 import urlsafe_b64encode
from copy import deepcopy

import pytest
import rfc8785
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS
from lib.gateway import RUNS, Host, run, serving
from sd_jwt.common import SDObj
from sd_jwt.holder import SDJWTHolder
from sd_jwt.issuer import SDJWTIssuer
from sd_jwt.verifier import SDJWTVerifier

RELEASES = ["2026-01-11", "2026-01-23", "2026-04-08", "2026-08-25"]
CONFIG = """
[callers]
policy = "development"

[profiles]
loopback = true
# All platforms share one address here, and so one share of the fetches.
fetches = { per_second = 1000, burst = 1000 }

[data]
sample = "flower-shop"
"""
PLATFORM = {name: JWK.generate(kty="EC", crv=name, kid=f"platform-{name}") for name in ("P-256", "P-384", "P-521")}
HOLDER, STRANGER = (JWK.generate(kty="EC", crv="P-256", kid=kid) for kid in ("holder", "stranger"))
ALGORITHMS = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}


def name_of(release):
    """What a release calls mandates."""
    return "dev.ucp.common.payment.ap2_mandate" if release == "2026-08-25" else "dev.ucp.shopping.ap2_mandate"


def profile(release, mandates=True):
    names = ["dev.ucp.shopping.checkout", "dev.ucp.shopping.fulfillment", *([name_of(release)] if mandates else [])]
    if release == "2026-01-11":
        capabilities = [{"name": name, "version": release} for name in names]
    else:
        capabilities = {name: [{"version": release}] for name in names}
    keys = [{**jwk.export_public(as_dict=True), "use": "sig"} for jwk in PLATFORM.values()]
    member = "keys" if release == "2026-08-25" else "signing_keys"
    return {"ucp": {"version": release, "capabilities": capabilities}, member: keys}


@pytest.fixture(scope="module")
def host():
    host = Host()
    yield host
    host.server.shutdown()


@pytest.fixture(scope="module")
def shop():
    """A gateway that had other keys before, which it still publishes."""
    data = RUNS / "shop"
    run("keys", "generate", "--data-dir", data)
    with serving(data, CONFIG) as url:
        yield url, data


class Session:
    """A platform that buys at a shop, and trusts only what it can verify."""

    def __init__(self, shop, host, release, name=None, mandates=True):
        self.url, self.release, self.host = shop, release, host
        self.path = f"/{name or uuid.uuid4()}"
        self.agent = host.put(self.path, profile(release, mandates))
        self.key = None

    def call(self, method, path, body=None, key=None):
        self.key = key or str(uuid.uuid4())
        headers = {
            "Content-Type": "application/json",
            "UCP-Agent": f'profile="{self.agent}"',
            "Idempotency-Key": self.key,
        }
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/ucp/{self.release}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                self.text = response.read().decode()
        except urllib.error.HTTPError as error:
            self.text = error.read().decode()
        return json.loads(self.text)

    def keys(self):
        with urllib.request.urlopen(f"{self.url}/ucp/{self.release}/.well-known/ucp", timeout=30) as response:
            published = json.load(response)
        capabilities = published["ucp"]["capabilities"]
        if self.release == "2026-01-11":
            [entry] = [entry for entry in capabilities if entry["name"] == name_of(self.release)]
        else:
            [entry] = capabilities[name_of(self.release)]
        assert entry["config"] == {"vp_formats_supported": {"dc+sd-jwt": {}}}
        assert entry["extends"] == "dev.ucp.shopping.checkout"
        return {jwk["kid"]: JWK(**jwk) for jwk in published["signing_keys"]}

    def verified(self, answer):
        """An answer whose signature is good."""
        header, payload, signature = answer["ap2"]["merchant_authorization"].split(".")
        assert payload == ""
        signed = b64(rfc8785.dumps(unsigned(answer)))
        jws = JWS()
        jws.deserialize(f"{header}.{signed}.{signature}")
        assert set(jws.jose_header) == {"alg", "kid"}
        jws.verify(self.keys()[jws.jose_header["kid"]])
        return answer

    def create(self, quantity=2):
        created = self.call("POST", "/checkout-sessions", contents(quantity))
        assert "id" in created, created
        return created

    def update(self, checkout, quantity=2, street="1 Main St"):
        body = contents(quantity, street)
        for method, known in zip(body["fulfillment"]["methods"], checkout["fulfillment"]["methods"], strict=True):
            method["id"] = known["id"]
        return self.call("PUT", f"/checkout-sessions/{checkout['id']}", body)

    def complete(self, checkout, mandate, key=None, token="success_token"):
        body = {"payment": {"instruments": [{
            "id": "i1", "handler_id": "mock_payment_handler", "type": "card", "selected": True,
            "display": {"brand": "visa", "last_digits": "1111"},
            "credential": {"type": "token", "token": token},
        }]}}
        if mandate is not None:
            body["ap2"] = {"checkout_mandate": mandate}
        return self.call("POST", f"/checkout-sessions/{checkout['id']}/complete", body, key)

    def look(self, checkout):
        return self.call("GET", f"/checkout-sessions/{checkout['id']}")


def contents(quantity, street="1 Main St"):
    address = {
        "street_address": street, "address_locality": "Springfield", "address_region": "OR",
        "postal_code": "97477", "address_country": "US",
    }
    return {
        "line_items": [{"item": {"id": "bouquet_roses"}, "quantity": quantity}],
        "buyer": {"email": "buyer@example.com", "first_name": "Bea"},
        "fulfillment": {"methods": [{"type": "shipping", "destinations": [address]}]},
    }


def unsigned(answer):
    """What a signature is about; no two signatures are the same."""
    return {name: value for name, value in answer.items() if name != "ap2"}


def b64(data):
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def mandate(checkout, url, issuer=PLATFORM["P-256"], holder=HOLDER, disclosed=False, **change):
    """The buyer's agreement to an answer. `change` says what is unlike it should be."""
    now = int(time.time())
    claims = {"vct": "mandate.checkout.1", "iat": now, "exp": now + change.get("life", 600)}
    claims |= {SDObj("checkout"): checkout} if disclosed else {"checkout": checkout}
    issued = SDJWTIssuer(
        claims,
        issuer,
        holder_key=HOLDER,
        sign_alg=ALGORITHMS[issuer["crv"]],
        extra_header_parameters={"kid": change.get("kid", issuer["kid"]), "typ": "dc+sd-jwt"},
    ).sd_jwt_issuance
    presented = SDJWTHolder(issued)
    nonce = change.get("nonce", checkout["id"])
    presented.create_presentation({"checkout": True} if disclosed else {}, nonce, change.get("aud", url), holder, "ES256")
    return presented.sd_jwt_presentation


def refused(answer):
    """The code of the one error at the mandate, of an answer that sold nothing."""
    assert answer["status"] == "incomplete" and "order" not in answer, answer
    errors = [message for message in answer["messages"] if message["type"] == "error"]
    assert [error["path"] for error in errors] == ["$.ap2.checkout_mandate"], answer
    assert all(error["content"] and error["severity"] == "recoverable" for error in errors)
    return errors[0]["code"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_purchase_from_its_first_answer_to_its_last(shop, host, release):
    url, _ = shop
    session = Session(url, host, release)
    created = session.verified(session.create(1))
    updated = session.verified(session.update(created))
    assert updated["status"] == "ready_for_complete", updated
    assert unsigned(session.verified(session.look(updated))) == unsigned(updated)
    assert refused(session.verified(session.complete(updated, None))) == "mandate_required"
    ready = session.verified(session.update(updated))
    good = mandate(ready, url)
    done = session.verified(session.complete(ready, good))
    assert done["status"] == "completed" and done["order"]["id"], done
    first, key = session.text, session.key
    session.complete(ready, good, key)
    assert session.text == first, "a retry gets the same bytes"
    assert session.verified(session.look(done))["order"]["id"] == done["order"]["id"]
    canceled = session.create()
    assert session.verified(session.call("POST", f"/checkout-sessions/{canceled['id']}/cancel"))["status"] == "canceled"


@pytest.mark.parametrize("curve", PLATFORM)
@pytest.mark.parametrize("disclosed", [False, True])
@pytest.mark.parametrize("audience", ["", "/.well-known/ucp"])
def test_every_key_form_and_name_will_do(shop, host, curve, disclosed, audience):
    url, _ = shop
    session = Session(url, host, "2026-04-08")
    ready = session.create()
    nonce = ready["ap2"]["merchant_authorization"]
    good = mandate(ready, url, PLATFORM[curve], disclosed=disclosed, aud=url + audience, nonce=nonce)
    assert session.complete(ready, good)["status"] == "completed"


def test_nothing_is_sold_without_a_good_mandate(shop, host):
    url, _ = shop
    session = Session(url, host, "2026-04-08")
    ready = session.create()
    other = Session(url, host, "2026-04-08").create()
    cheaper = deepcopy(ready)
    cheaper["totals"][-1]["amount"] = 1
    good = mandate(ready, url)
    head, claims, seal = good.split("~")[0].split(".")
    for code, wrong in [
        ("mandate_required", None),
        ("mandate_required", ""),
        ("mandate_invalid_signature", "mandate"),
        ("mandate_invalid_signature", good.rsplit("~", 1)[0] + "~"),
        ("mandate_invalid_signature", good.replace(claims, claims[:-6] + "AAAAAA")),
        ("mandate_invalid_signature", mandate(ready, url, holder=STRANGER)),
        ("mandate_invalid_signature", mandate(ready, url, issuer=STRANGER, kid=PLATFORM["P-256"]["kid"])),
        ("agent_missing_key", mandate(ready, url, issuer=STRANGER)),
        ("mandate_expired", mandate(ready, url, life=-120)),
        ("mandate_scope_mismatch", mandate(ready, "https://another.example")),
        ("mandate_scope_mismatch", mandate(ready, url, nonce="chk_other")),
        ("mandate_scope_mismatch", mandate(other, url)),
        ("merchant_authorization_invalid", mandate(cheaper, url)),
        ("merchant_authorization_missing", mandate(unsigned(ready), url)),
    ]:
        assert refused(session.verified(session.complete(ready, wrong))) == code, (code, wrong)
    # The terms are still those that were agreed to.
    assert session.complete(ready, good)["status"] == "completed"


def test_what_is_kept_proves_what_was_agreed_to(shop, host):
    url, data = shop
    session = Session(url, host, "2026-04-08")
    ready = session.create()
    good = mandate(ready, url)
    order = session.complete(ready, good)["order"]["id"]
    assert run("orders", "show", order, "--mandate", "--data-dir", data) == (0, f"{good}\n".encode())
    evidence = json.loads(run("orders", "show", order, "--json", "--data-dir", data)[1])["payment"]["mandate"]
    assert evidence["kept"] is True
    # Later, with nothing but what was kept, whatever became of the platform's profile.
    kept = SDJWTVerifier(good, lambda *_: JWK(**evidence["key"]), expected_aud=url, expected_nonce=ready["id"])
    agreed = kept.get_verified_payload()["checkout"]
    assert agreed == ready
    session.verified(agreed)


def test_an_agreement_is_about_these_terms_and_this_delivery(shop, host):
    url, _ = shop
    session = Session(url, host, "2026-08-25")
    ready = session.create()
    good = mandate(ready, url)
    session.update(ready, quantity=3)
    assert refused(session.complete(ready, good)) == "mandate_scope_mismatch"
    session.update(ready, street="2 Main St")
    assert refused(session.complete(ready, good)) == "mandate_scope_mismatch"
    # What failed for another reason can be tried again with the same agreement.
    ready = session.update(ready)
    good = mandate(ready, url)
    declined = session.complete(ready, good, token="fail_token")
    assert [message["code"] for message in declined["messages"]] == ["payment_failed"], declined
    assert session.complete(ready, good)["status"] == "completed"


def test_once_negotiated_it_is_so_for_good(host):
    """Profiles are looked at again after a minute at the earliest; a restart does it at once."""
    data = RUNS / "locked"
    run("keys", "generate", "--data-dir", data)
    with serving(data, CONFIG) as url:
        session = Session(url, host, "2026-08-25", "dropping")
        ready = session.verified(session.create())
        unlocked = Session(url, host, "2026-08-25", mandates=False)
        plain = unlocked.create()
        assert "ap2" not in plain and name_of("2026-08-25") not in plain["ucp"]["capabilities"]
    run("keys", "rotate", "--data-dir", data)
    host.put("/dropping", profile("2026-08-25", mandates=False))
    with serving(data, CONFIG) as url:
        session.url = unlocked.url = url
        again = session.verified(session.look(ready))
        assert name_of("2026-08-25") not in again["ucp"]["capabilities"]
        assert refused(session.verified(session.complete(ready, None))) == "mandate_required"
        # Signed with a key that signs nothing more and is still published, at an address that was another then.
        completed = session.complete(ready, mandate(ready, url))
        assert completed["status"] == "completed", completed["messages"]
        assert unlocked.complete(plain, None)["status"] == "completed"


def test_a_new_key_of_a_platform_is_looked_for(shop):
    """Once in a while per host, so that this one is its own."""
    url, _ = shop
    host = Host()
    session = Session(url, host, "2026-08-25")
    ready = session.create()
    newer = JWK.generate(kty="EC", crv="P-256", kid="newer")
    page = profile("2026-08-25")
    page["keys"].append({**newer.export_public(as_dict=True), "use": "sig"})
    host.put(session.path, page)
    assert session.complete(ready, mandate(ready, url, newer))["status"] == "completed"
    host.server.shutdown()


def test_without_a_key_it_is_not_offered_and_with_one_it_is(host):
    data = RUNS / "keyless"
    with serving(data, CONFIG) as url:
        session = Session(url, host, "2026-04-08", "keyless")
        with urllib.request.urlopen(f"{url}/ucp/2026-04-08/.well-known/ucp", timeout=30) as response:
            assert name_of("2026-04-08") not in json.load(response)["ucp"]["capabilities"]
        plain = session.create()
        assert "ap2" not in plain
        assert session.complete(plain, None)["status"] == "completed"
        run("keys", "generate", "--data-dir", data)
        until = time.monotonic() + 60
        while "ap2" not in (created := session.create(1)):
            assert time.monotonic() < until, "a new key is used within a minute"
            time.sleep(0.5)
        session.verified(created)
        assert refused(session.complete(created, None)) == "mandate_required"

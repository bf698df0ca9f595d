"""PyPI `http-message-signatures`, which knows nothing of this gateway: what either side signs, the other side judges right."""

import http.client
import ipaddress
import json
import os
import ssl
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, InvalidSignature, MappingKeyResolver
from http_message_signatures.algorithms import ECDSA_P256_SHA256, ECDSA_P384_SHA384, ED25519

from lib.gateway import FETCHING, RUNS, Host, platform_profile, serving
from lib.gateway import run as gateway

VECTORS = Path(os.environ["REPOSITORY"], "crates/ucp-trust/tests/vectors")
sys.path.append(str(VECTORS))

import make  # noqa: E402

CASES = dict(make.cases(datetime.now(UTC).replace(microsecond=0)))


def test_the_checked_in_vectors_are_these():
    made = [{"name": name, "message": message.text(), "refused": code} for name, (message, code) in make.cases()]
    vectors = json.loads((VECTORS / "vectors.json").read_text())
    assert vectors == {"created": int(make.CREATED.timestamp()), "keys": make.PUBLIC, "cases": made}


@pytest.fixture(scope="module", params=["signing_keys", "keys"])
def profile(request):
    """The platform's profile, as releases before and after 2026-08-25 have it."""
    file = RUNS / f"{request.param}.json"
    file.write_text(json.dumps({"ucp": {"version": "2026-04-08"}, request.param: make.PUBLIC}))
    return file


@pytest.mark.parametrize("name", CASES)
def test_the_gateway_judges_what_python_signed(profile, name):
    message, refused = CASES[name]
    code, printed = gateway("verify", "--keys", profile, "-", message=message.text().encode())
    verdict = printed.decode().splitlines()[-1]
    assert verdict.startswith(f"{refused}: " if refused else "valid: "), printed.decode()
    assert code == (2 if refused else 0)


def public_key(jwk):
    if jwk["crv"] == "Ed25519":
        return ed25519.Ed25519PublicKey.from_public_bytes(urlsafe_b64decode(jwk["x"] + "=="))
    numbers = [int.from_bytes(urlsafe_b64decode(jwk[name] + "==")) for name in ("x", "y")]
    curve = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1()}[jwk["crv"]]
    return ec.EllipticCurvePublicNumbers(*numbers, curve).public_key()


@pytest.fixture(scope="module", params=["es256", "es384", "ed25519"])
def keys(request):
    """A data directory whose key is of this algorithm, and the other side's verifier that knows what is published."""
    data = RUNS / f"keys-{request.param}"
    gateway("keys", "generate", "--algorithm", request.param, "--data-dir", data)
    published = json.loads(gateway("keys", "list", "--json", "--data-dir", data)[1])["keys"]
    assert [jwk["kid"] for jwk in published] == [make.thumbprint(jwk) for jwk in published]
    resolver = MappingKeyResolver(public_keys={jwk["kid"]: public_key(jwk) for jwk in published}, private_keys={})
    algorithm = {"es256": ECDSA_P256_SHA256, "es384": ECDSA_P384_SHA384, "ed25519": ED25519}[request.param]
    return data, HTTPMessageVerifier(signature_algorithm=algorithm, key_resolver=resolver)


def unsigned():
    webhook = make.post()
    webhook.headers["Webhook-Id"] = "5a1e"
    webhook.headers["Webhook-Timestamp"] = "1767225600"
    return {
        "a request with a body": (make.post(), [], [*make.TARGET, "ucp-agent", "idempotency-key", *make.BODY]),
        "a request with a query": (make.get("/a?b=%20c&d"), [], [*make.TARGET, "@query", "ucp-agent"]),
        "a host with the default port": (make.get("/", host="SHOP.example:443"), [], [*make.TARGET, "ucp-agent"]),
        "a field on two lines": (
            make.get("/", extra=[("X-List", "a, b"), ("X-List", "  c\t")]),
            ["x-list"],
            [*make.TARGET, "ucp-agent", "x-list"],
        ),
        "a webhook": (
            webhook,
            ["webhook-id", "webhook-timestamp"],
            [*make.TARGET, "ucp-agent", "webhook-id", "webhook-timestamp", *make.BODY],
        ),
        "a response": (make.response(), [], ["@status", *make.BODY]),
        "a response without a body": (make.Message("HTTP/1.1 204 No Content", []), [], ["@status"]),
    }


def sign(data, message, cover=()):
    """The message as the gateway signs it."""
    cover = ["--cover", ",".join(cover)] if cover else []
    printed = gateway("sign", "--data-dir", data, *cover, "-", message=message.text().encode())[1]
    head, _, body = printed.partition(b"\r\n\r\n")
    start, *lines = head.decode().split("\r\n")
    assert body == message.body
    return make.Message(start, [tuple(line.split(": ", 1)) for line in lines], body)


@pytest.mark.parametrize("name", unsigned())
def test_python_accepts_what_the_gateway_signed(keys, name):
    data, verifier = keys
    message, cover, required = unsigned()[name]
    signed = sign(data, message, cover)
    [result] = verifier.verify(signed, require_components=required, body=signed.body or None)
    assert set(result.parameters) == {"created", "keyid"}


def test_python_refuses_it_altered(keys):
    data, verifier = keys
    for what, alter in make.ALTERATIONS.items():
        signed = sign(data, make.post())
        alter(signed)
        altered = make.Message(signed.start, signed.headers.items(), signed.body)
        with pytest.raises(InvalidSignature):
            verifier.verify(altered, body=altered.body)
            pytest.fail(f"{what} was altered, and it was not noticed")


def test_retired_keys_still_verify(keys):
    data, verifier = keys
    signed = sign(data, make.post())
    gateway("keys", "rotate", "--data-dir", data)
    published = gateway("keys", "list", "--json", "--data-dir", data)[1]
    profile = RUNS / "rotated.json"
    profile.write_bytes(published)
    assert gateway("verify", "--keys", profile, "-", message=signed.text().encode())[0] == 0
    gateway("keys", "rotate", "--grace-days", "0", "--data-dir", data)
    profile.write_bytes(gateway("keys", "list", "--json", "--data-dir", data)[1])
    code, printed = gateway("verify", "--keys", profile, "-", message=signed.text().encode())
    assert (code, printed.decode().splitlines()[-1].split(":")[0]) == (2, "key_not_found")


# Over the wire.

ENFORCED = f"""
{FETCHING}
[signatures]
browsing = "enforce"
responses = "all"
"""
PLATFORM = [*make.TARGET, "ucp-agent", *make.BODY]
SEARCH = json.dumps({"query": "runner pro"}).encode()


@pytest.fixture(scope="module")
def host():
    host = Host()
    yield host
    host.server.shutdown()


@pytest.fixture(scope="module", params=["es256", "es384"])
def shop(request):
    """A gateway that wants signed requests and signs all its answers, with a key of this algorithm."""
    data = RUNS / f"shop-{request.param}"
    gateway("keys", "generate", "--algorithm", request.param, "--data-dir", data)
    with serving(data, ENFORCED) as url:
        yield request.param, url


def platform(host, name, keys=make.PUBLIC, release="2026-08-25"):
    """A platform whose profile publishes `keys`; gives the `UCP-Agent` of its calls."""
    member = "keys" if release == "2026-08-25" else "signing_keys"
    profile = host.put(f"/{name}", platform_profile(release, **{member: keys}))
    return f'profile="{profile}"'


def request(url, path, agent, body=SEARCH):
    lines = [("Host", url.removeprefix("http://")), ("Content-Type", "application/json"), ("UCP-Agent", agent)]
    return make.Message(f"POST {path} HTTP/1.1", lines, body, url=url + path)


def now():
    return datetime.now(UTC).replace(microsecond=0)


def send(url, message):
    """Sends a message as it is, and returns the answer."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    method, path, _ = message.start.split()
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in message.headers.items():
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(message.body)))
    connection.endheaders(message.body)
    response = connection.getresponse()
    answer = make.Message(f"HTTP/1.1 {response.status} {response.reason}", response.getheaders(), response.read())
    connection.close()
    return answer


def verified(algorithm, url, answer):
    """Holds a signed answer against the keys that the gateway publishes, and gives what it says."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    connection.request("GET", "/.well-known/ucp")
    published = json.load(connection.getresponse())
    connection.close()
    assert published["keys"] == published["signing_keys"]
    resolver = MappingKeyResolver(public_keys={jwk["kid"]: public_key(jwk) for jwk in published["keys"]}, private_keys={})
    algorithm = {"es256": ECDSA_P256_SHA256, "es384": ECDSA_P384_SHA384}[algorithm]
    verifier = HTTPMessageVerifier(signature_algorithm=algorithm, key_resolver=resolver)
    verifier.verify(answer, require_components=["@status", *make.BODY], body=answer.body)
    return json.loads(answer.body)


@pytest.mark.parametrize("release", ["2026-04-08", "2026-08-25"])
@pytest.mark.parametrize("kid", ["es256", "es384"])
def test_a_signed_call_gets_a_signed_answer(shop, host, kid, release):
    algorithm, url = shop
    agent = platform(host, f"signing-{algorithm}-{kid}-{release}", release=release)
    answer = send(url, request(url, "/catalog/search", agent).sign(kid, PLATFORM, created=now()))
    told = verified(algorithm, url, answer)
    assert (answer.status_code, told["ucp"]["version"]) == (200, release)
    assert told["products"][0]["id"] == "prod_abc123"


@pytest.mark.parametrize("kid", ["es256", "es384"])
def test_a_signed_call_over_mcp(shop, host, kid):
    algorithm, url = shop
    agent = platform(host, f"mcp-{algorithm}-{kid}")
    profile = agent.split('"')[1]
    arguments = {"meta": {"ucp-agent": {"profile": profile}}, "catalog": {"query": "runner pro"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_catalog", "arguments": arguments}}
    answer = send(url, request(url, "/mcp", agent, json.dumps(call).encode()).sign(kid, PLATFORM, created=now()))
    told = verified(algorithm, url, answer)
    assert told["result"]["structuredContent"]["products"][0]["id"] == "prod_abc123"


def refusals(url, agent):
    """By what is wrong: a message, and the code it is refused with."""
    message = request(url, "/catalog/search", agent)
    yield "nothing is signed", message, "signature_missing"
    message = request(url, "/catalog/search", agent).sign("es256", PLATFORM, created=now())
    message.body = message.body.replace(b"runner", b"walker")
    yield "the body was altered", message, "digest_mismatch"
    message = request(url, "/catalog/search", agent).sign("es256", PLATFORM, created=now())
    message.headers["Content-Type"] = "application/json;charset=utf-8"
    yield "a field was altered", message, "signature_invalid"
    message = request(url, "/catalog/search", agent).sign("es256", PLATFORM, created=now())
    message.start = message.start.replace("search", "lookup")
    yield "the path was altered", message, "signature_invalid"
    yield "DER", request(url, "/catalog/search", agent).sign("es256", PLATFORM, der=True, created=now()), "signature_invalid"
    # The library covers any body that it knows of.
    message = request(url, "/catalog/search", agent, b"").sign("es256", [*make.TARGET, "ucp-agent", "content-type"], created=now())
    message.body = SEARCH
    yield "the body is not covered", message, "signature_invalid"
    message = request(url, "/catalog/search", agent).sign("es256", [*make.TARGET, *make.BODY], created=now())
    yield "the agent is not covered", message, "signature_invalid"
    message = request(url, "/catalog/search", agent).sign("not-published", PLATFORM, created=now())
    yield "the key is not in the profile", message, "key_not_found"


WRONG = [what for what, _, _ in refusals("http://127.0.0.1", 'profile="https://platform.example/"')]


@pytest.mark.parametrize("what", WRONG)
def test_a_call_that_is_not_signed_well(shop, host, what):
    algorithm, url = shop
    agent = platform(host, f"wrong-{algorithm}-{WRONG.index(what)}")
    message, code = {what: (message, code) for what, message, code in refusals(url, agent)}[what]
    answer = send(url, message)
    told = verified(algorithm, url, answer)
    expected = 400 if code == "digest_mismatch" else 401
    assert (answer.status_code, told["code"]) == (expected, code), told
    if expected == 401:
        assert answer.headers["WWW-Authenticate"]


def test_a_new_key_is_looked_for_once(shop):
    algorithm, url = shop
    # Looking again is limited by host, and other tests have unknown keys too.
    host = Host()
    name = f"rotating-{algorithm}"
    old, new = ([jwk for jwk in make.PUBLIC if jwk["kid"] == kid] for kid in ("es256", "es384"))
    agent = platform(host, name, keys=old)

    def send_with(kid):
        return send(url, request(url, "/catalog/search", agent).sign(kid, PLATFORM, created=now()))

    assert send_with("es256").status_code == 200
    assert host.visits.count(f"/{name}") == 1
    platform(host, name, keys=old + new)
    assert send_with("es384").status_code == 200, "the platform has a new key"
    assert host.visits.count(f"/{name}") == 2
    for _ in range(3):
        told = verified(algorithm, url, send_with("not-published"))
        assert told["code"] == "key_not_found"
    assert host.visits.count(f"/{name}") == 2, "not at every call with an unknown key"
    host.server.shutdown()


# The same over TLS and HTTP/2, which has `:authority` in the place of `Host`.


@pytest.fixture(scope="module")
def secured():
    """A gateway like `shop` with a certificate, and a client of HTTP/2 that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now() - timedelta(hours=1))
        .not_valid_after(now() + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = {"tls_certificate_file": RUNS / "tls.crt", "tls_key_file": RUNS / "tls.key"}
    files["tls_certificate_file"].write_bytes(certificate.public_bytes(Encoding.PEM))
    files["tls_key_file"].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    server = "".join(f'{name} = "{file}"\n' for name, file in files.items())
    trust = ssl.create_default_context(cafile=files["tls_certificate_file"])
    data = RUNS / "shop-http2"
    gateway("keys", "generate", "--algorithm", "es256", "--data-dir", data)
    with (
        serving(data, f"{ENFORCED}\n[server]\n{server}", tls=trust) as url,
        httpx.Client(http1=False, http2=True, verify=trust, timeout=30) as client,
    ):
        yield url, client


def send_over_http2(client, message):
    headers = [(name, value) for name, value in message.headers.items() if name != "Host"]
    response = client.request(message.method, message.url, headers=headers, content=message.body)
    assert response.http_version == "HTTP/2"
    # The library reads the status from a status line.
    return make.Message(f"HTTP/1.1 {response.status_code} -", response.headers.multi_items(), response.content)


def request_over_http2(url, agent):
    lines = [("Host", url.removeprefix("https://")), ("Content-Type", "application/json"), ("UCP-Agent", agent)]
    return make.Message("POST /catalog/search -", lines, SEARCH, url=f"{url}/catalog/search")


@pytest.mark.parametrize("kid", ["es256", "es384"])
def test_a_signed_call_over_http2_gets_a_signed_answer(secured, host, kid):
    url, client = secured
    agent = platform(host, f"http2-{kid}")
    published = client.get(f"{url}/.well-known/ucp").json()["keys"]
    keys = MappingKeyResolver(public_keys={jwk["kid"]: public_key(jwk) for jwk in published}, private_keys={})
    verifier = HTTPMessageVerifier(signature_algorithm=ECDSA_P256_SHA256, key_resolver=keys)
    answer = send_over_http2(client, request_over_http2(url, agent).sign(kid, PLATFORM, created=now()))
    verifier.verify(answer, require_components=["@status", *make.BODY], body=answer.body)
    assert json.loads(answer.body)["products"][0]["id"] == "prod_abc123"


def test_a_call_over_http2_that_was_altered_is_refused(secured, host):
    url, client = secured
    agent = platform(host, "http2-altered")
    body = request_over_http2(url, agent).sign("es256", PLATFORM, created=now())
    body.body = body.body.replace(b"runner", b"walker")
    authority = request_over_http2("https://elsewhere.example", agent).sign("es256", PLATFORM, created=now())
    authority.url = body.url
    for message, code in [(body, "digest_mismatch"), (authority, "signature_invalid")]:
        answer = send_over_http2(client, message)
        assert json.loads(answer.body)["code"] == code, answer.body


# Bots that sign the host alone (Web Bot Auth).

DIRECTORY = "/.well-known/http-message-signatures-directory"


@pytest.fixture(scope="module")
def bot(host):
    """A bot whose keys lie on this machine: its key, the name of the key, and the bot's address."""
    key = ed25519.Ed25519PrivateKey.generate()
    x = urlsafe_b64encode(key.public_key().public_bytes_raw()).decode().rstrip("=")
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": x}
    host.put(DIRECTORY, {"keys": [jwk]})
    return key, make.thumbprint(jwk), host.url


@pytest.fixture(scope="module")
def bots(host, bot):
    toml = f'{FETCHING}\n[[platform]]\nname = "Bot"\nsignature_agent = "{host.url}"\n'
    with serving(RUNS / "bots", toml) as url:
        yield url


def visit(url, bot, agent=None, lifetime=60, tag="web-bot-auth", covered=("@authority", "signature-agent")):
    """A search as the bot signs it; gives the status and what was said."""
    key, name, home = bot
    lines = [("Host", url.removeprefix("http://")), ("Content-Type", "application/json")]
    lines.append(("Signature-Agent", agent or f'"{home}"'))
    message = make.Message("POST /catalog/search HTTP/1.1", lines, SEARCH, url=url + "/catalog/search")
    resolver = MappingKeyResolver(public_keys={}, private_keys={name: key})
    signer = HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=resolver)
    times = {"created": now(), "expires": now() + timedelta(seconds=lifetime)}
    signer.sign(message, key_id=name, label="sig1", tag=tag, nonce="bm9uY2U=", covered_component_ids=covered, **times)
    answer = send(url, message)
    return answer.status_code, json.loads(answer.body)


def test_a_bot_that_python_signs_for_is_known(bots, bot):
    keyed = f'sig1="{bot[2]}"'
    for agent, covered in [(None, ("@authority", "signature-agent")), (keyed, ("@authority", make.AGENT))]:
        status, told = visit(bots, bot, agent=agent, covered=covered)
        assert (status, told["products"][0]["id"]) == (200, "prod_abc123"), told


def test_a_bot_that_says_something_else_is_not(bots, bot):
    other = ed25519.Ed25519PrivateKey.generate(), bot[1], bot[2]
    unknown = other[0], "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U", bot[2]
    for refused, code in [
        (visit(bots, other), "signature_invalid"),
        (visit(bots, unknown), "key_not_found"),
        (visit(bots, bot, lifetime=-100), "signature_invalid"),
        (visit(bots, bot, lifetime=90_000), "signature_invalid"),
        (visit(bots, bot, covered=("@authority",)), "signature_invalid"),
        (visit(bots, bot, covered=("signature-agent",)), "signature_invalid"),
    ]:
        assert (refused[0], refused[1]["code"]) == (401, code), refused
    assert visit(bots, bot, tag="crawler")[0] >= 400

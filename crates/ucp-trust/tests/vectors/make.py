"""Signed messages made by PyPI `http-message-signatures`, an implementation that is not ours.

`python make.py > vectors.json` writes the checked-in vectors; keys, times and signatures are always the same. The client
lane `signatures` imports `cases` and has the gateway itself judge them.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import MutableMapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver
from http_message_signatures.algorithms import ECDSA_P256_SHA256, ECDSA_P384_SHA384, ED25519

CREATED = datetime(2026, 1, 1, tzinfo=UTC)


class Es256(ECDSA_P256_SHA256):
    """Without randomness (RFC 6979), so that the vectors can be made again."""

    def __init__(self, **keys):
        super().__init__(**keys)
        self.signature_algorithm = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)


class Es384(ECDSA_P384_SHA384):
    def __init__(self, **keys):
        super().__init__(**keys)
        self.signature_algorithm = ec.ECDSA(hashes.SHA384(), deterministic_signing=True)


class Ed448(ED25519):
    """An algorithm that no registry has."""

    algorithm_id = "ed448"

    def __init__(self, public_key=None, private_key=None, password=None):
        self.public_key, self.private_key = public_key, private_key


def private(seed, curve):
    # 255 bits are below the order of either curve.
    return ec.derive_private_key(int.from_bytes(sha256(seed).digest()) >> 1, curve)


KEYS = {
    "es256": (private(b"es256", ec.SECP256R1()), Es256),
    "es384": (private(b"es384", ec.SECP384R1()), Es384),
    "ed25519": (ed25519.Ed25519PrivateKey.from_private_bytes(sha256(b"ed25519").digest()), ED25519),
    "ed448": (ed448.Ed448PrivateKey.from_private_bytes(sha256(b"ed448").digest() + bytes(25)), Ed448),
    "not-published": (private(b"not-published", ec.SECP256R1()), Es256),
}


def base64url(data):
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def jwk(kid, public_key):
    if isinstance(public_key, (ed25519.Ed25519PublicKey, ed448.Ed448PublicKey)):
        x = public_key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        curve = "Ed25519" if len(x) == 32 else "Ed448"
        return {"kid": kid, "kty": "OKP", "crv": curve, "x": base64url(x), "use": "sig", "alg": "EdDSA"}
    numbers, size = public_key.public_numbers(), public_key.key_size // 8
    coordinates = {name: base64url(getattr(numbers, name).to_bytes(size)) for name in ("x", "y")}
    return {"kid": kid, "kty": "EC", "crv": f"P-{public_key.key_size}", **coordinates, "use": "sig"}


def thumbprint(key):
    members = {name: key[name] for name in ("crv", "kty", "x", "y") if name in key}
    return base64url(sha256(json.dumps(members, sort_keys=True, separators=(",", ":")).encode()).digest())


BOTS = {kid: thumbprint(jwk("", KEYS[kid][0].public_key())) for kid in ("es256", "ed25519")}
KEYS |= {name: KEYS[kid] for kid, name in BOTS.items()}

PUBLIC = [jwk(kid, key.public_key()) for kid, (key, _) in KEYS.items() if kid != "not-published"]


class Headers(MutableMapping):
    """Field lines in order, a name as often as it comes."""

    def __init__(self, lines):
        self.lines = list(lines)

    def items(self):
        return self.lines

    def __getitem__(self, name):
        values = [value for own, value in self.lines if own.lower() == name.lower()]
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __setitem__(self, name, value):
        self.lines = [line for line in self.lines if line[0].lower() != name.lower()] + [(name, value)]

    def __delitem__(self, name):
        self[name]
        self.lines = [line for line in self.lines if line[0].lower() != name.lower()]

    def __iter__(self):
        return iter(name for name, _ in self.lines)

    def __len__(self):
        return len(self.lines)


class Message:
    """What the library asks of a request or a response."""

    def __init__(self, start, headers, body=b"", url=None):
        self.start, self.headers, self.body = start, Headers(headers), body
        if start.startswith("HTTP/"):
            self.status_code, self.request = int(start.split()[1]), None
        else:
            self.method = start.split()[0]
            self.url = url or "https://" + self.headers["Host"] + start.split()[1]

    def sign(self, kid, covered, label="sig1", der=False, **options):
        """Signs with the key of that name; `der` makes the mistake that most libraries invite to."""
        key, algorithm = KEYS[kid]
        signer = HTTPMessageSigner(
            signature_algorithm=algorithm, key_resolver=MappingKeyResolver(public_keys={}, private_keys={kid: key})
        )
        options = {"created": CREATED, "include_alg": False, **options}
        prepared = signer.prepare(
            self, key_id=kid, label=label, covered_component_ids=covered, body=self.body or None, **options
        )
        signature = algorithm(private_key=key).sign(prepared.signature_base)
        if der:
            signature = key.sign(prepared.signature_base, algorithm(private_key=key).signature_algorithm)
        signer.apply(self, prepared, signature, append_if_signature_exists="Signature" in self.headers)
        return self

    def text(self):
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        return f"{self.start}\r\n{head}\r\n{self.body.decode()}"


PROFILE = ("UCP-Agent", 'profile="https://platform.example/profile.json"')
TARGET = ["@method", "@authority", "@path"]
BODY = ["content-digest", "content-type"]
AGENT = '"signature-agent";key="sig1"'


def post():
    lines = [
        ("Host", "shop.example"),
        ("Content-Type", "application/json"),
        PROFILE,
        ("Idempotency-Key", "550e8400-e29b-41d4-a716-446655440000"),
    ]
    return Message("POST /checkout-sessions HTTP/1.1", lines, b'{"line_items":[{"item":{"id":"item_1"},"quantity":2}]}')


def get(target, host="shop.example", extra=()):
    return Message(f"GET {target} HTTP/1.1", [("Host", host), PROFILE, *extra])


def response():
    return Message("HTTP/1.1 200 OK", [("Content-Type", "application/json")], '{"id":"chk_1","name":"Zürich"}'.encode())


def cases(created=CREATED):
    """Pairs of what they show and (message, the code of the refusal or None)."""
    at = {"created": created}
    all_of_post = [*TARGET, "ucp-agent", "idempotency-key", *BODY]
    for kid in ("es256", "es384", "ed25519"):
        yield f"{kid}: a request with a body", (post().sign(kid, all_of_post, **at), None)
        yield f"{kid}: parts in another order", (post().sign(kid, all_of_post[::-1], **at), None)
        yield f"{kid}: a request with a query", (
            get("/checkout-sessions/chk_1?fields=a%20b&x=").sign(kid, [*TARGET, "@query", "ucp-agent"], **at),
            None,
        )
        yield f"{kid}: a host in capitals with the default port", (
            get("/", host="SHOP.example:443").sign(kid, [*TARGET, "ucp-agent"], **at),
            None,
        )
        yield f"{kid}: another port", (
            get("/", host="shop.example:8443").sign(kid, [*TARGET, "ucp-agent"], **at),
            None,
        )
        lines = [("X-List", "a, b"), ("X-List", "  c\t")]
        yield f"{kid}: a field on two lines", (
            get("/", extra=lines).sign(kid, [*TARGET, "ucp-agent", "x-list"], **at),
            None,
        )
        yield f"{kid}: the address in every form", (
            get("/a?b=%20c&d").sign(
                kid,
                [
                    *TARGET,
                    "@query",
                    "ucp-agent",
                    "@target-uri",
                    "@scheme",
                    "@request-target",
                    '"@query-param";name="b"',
                    '"@query-param";name="d"',
                ],
                **at,
            ),
            None,
        )
        lines = [("Priority", "u=1,   i"), ("X-List", "a,  b"), ("X-List", "  c\t")]
        yield f"{kid}: fields in every form", (
            get("/", extra=lines).sign(
                kid,
                [
                    *TARGET,
                    "ucp-agent",
                    '"priority";sf',
                    '"x-list";bs',
                    '"priority";key="u"',
                    '"ucp-agent";key="profile";sf',
                ],
                **at,
            ),
            None,
        )
        yield f"{kid}: every parameter", (
            get("/").sign(
                kid,
                [*TARGET, "ucp-agent"],
                **at,
                expires=created + timedelta(hours=1),
                nonce='a"b\\c',
                include_alg=True,
            ),
            None,
        )
        yield f"{kid}: a response", (response().sign(kid, ["@status", *BODY], **at), None)
        yield f"{kid}: a response without a body", (Message("HTTP/1.1 204 No Content", []).sign(kid, ["@status"], **at), None)
        if kid != "ed25519":
            yield f"{kid}: DER instead of r||s", (post().sign(kid, all_of_post, der=True, **at), "signature_invalid")
        for what, change in ALTERATIONS.items():
            altered = post().sign(kid, all_of_post, **at)
            code = change(altered)
            yield f"{kid}: {what} altered", (altered, code)

    agent = [("Signature-Agent", 'sig1="https://platform.example/profile.json";type=jwks_uri')]
    shared = {**at, "expires": created + timedelta(hours=1), "tag": "web-bot-auth"}
    for kid, name in BOTS.items():
        yield f"{kid}: shared with Web Bot Auth", (
            get("/", extra=agent).sign(name, [*TARGET, "ucp-agent", AGENT], **shared),
            None,
        )
        yield f"{kid}: shared with Web Bot Auth under a kid that is no thumbprint", (
            get("/", extra=agent).sign(kid, [*TARGET, "ucp-agent", AGENT], **shared),
            "signature_invalid",
        )
        yield f"{kid}: Web Bot Auth's own minimum", (
            get("/", extra=agent).sign(name, ["@authority", AGENT], **shared),
            "signature_invalid",
        )
    yield "for another purpose", (
        get("/").sign("es256", [*TARGET, "ucp-agent"], tag="other", **at),
        "signature_invalid",
    )
    yield "without the agent", (get("/").sign("es256", TARGET, **at), "signature_invalid")
    yield "without the query", (get("/?a").sign("es256", [*TARGET, "ucp-agent"], **at), "signature_invalid")
    yield "without the idempotency key", (
        post().sign("es256", [*TARGET, "ucp-agent", *BODY], **at),
        "signature_invalid",
    )
    yield "expired", (
        get("/").sign("es256", [*TARGET, "ucp-agent"], created=created - timedelta(hours=2), expires=created - timedelta(hours=1)),
        "signature_invalid",
    )
    yield "from the future", (
        get("/").sign("es256", [*TARGET, "ucp-agent"], created=created + timedelta(hours=1)),
        "signature_invalid",
    )
    yield "with a key that is not published", (
        get("/").sign("not-published", [*TARGET, "ucp-agent"], **at),
        "key_not_found",
    )
    yield "with an algorithm that is not supported", (
        get("/").sign("ed448", [*TARGET, "ucp-agent"], **at),
        "algorithm_unsupported",
    )
    second = get("/").sign("not-published", [*TARGET, "ucp-agent"], label="a", **at)
    yield "the second of two signatures counts", (second.sign("es256", [*TARGET, "ucp-agent"], label="b", **at), None)
    neither = get("/").sign("not-published", [*TARGET, "ucp-agent"], label="a", **at)
    yield "neither of two signatures counts", (neither.sign("es256", TARGET, label="b", **at), "signature_invalid")


def alter_header(name, value):
    def alter(message):
        message.headers[name] = value
        return "signature_invalid"

    return alter


def alter_body(message):
    message.body = message.body.replace(b"2", b"3")
    return "digest_mismatch"


def alter_start(old, new):
    def alter(message):
        message.start = message.start.replace(old, new)
        return "signature_invalid"

    return alter


ALTERATIONS = {
    "the method": alter_start("POST", "PUT"),
    "the path": alter_start("-sessions", "-sessions/"),
    "the host": alter_header("Host", "shop.invalid"),
    "the profile": alter_header("UCP-Agent", 'profile="https://platform.invalid/profile.json"'),
    "the idempotency key": alter_header("Idempotency-Key", "550e8400-e29b-41d4-a716-446655440001"),
    "the content type": alter_header("Content-Type", "application/json; charset=utf-8"),
    "the body": alter_body,
}


if __name__ == "__main__":
    made = [{"name": name, "message": message.text(), "refused": code} for name, (message, code) in cases()]
    vectors = {"created": int(CREATED.timestamp()), "keys": PUBLIC, "cases": made}
    print(json.dumps(vectors, indent=1, ensure_ascii=False))

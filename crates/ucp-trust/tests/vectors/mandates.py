"""AP2 checkout mandates and merchant authorizations made by PyPI `sd-jwt`, `jwcrypto` and `rfc8785`, none of which is ours.

`python mandates.py > mandates.json` writes the checked-in vectors (made with sd-jwt 0.10.4, jwcrypto 1.6.1, rfc8785 0.1.4,
cryptography 50.0.2 on Python 3.11). Keys, salts, times and signatures are always the same.

What is to be accepted is judged by the library's own verifier first; what is to be refused is one of these, tampered with,
or made by somebody who breaks one rule.
"""

import json
import random
from base64 import urlsafe_b64decode, urlsafe_b64encode
from copy import deepcopy
from hashlib import sha256

import jwcrypto.jwa
import rfc8785
import sd_jwt.holder
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric import utils as ec_utils
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS
from sd_jwt.common import SDObj
from sd_jwt.holder import SDJWTHolder
from sd_jwt.issuer import SDJWTIssuer
from sd_jwt.verifier import SDJWTVerifier

NOW = 1767225600
AUDIENCE = "https://shop.example"
CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


def sign_without_randomness(self, key, payload):
    """RFC 6979, so that the vectors can be made again."""
    private = key.get_op_key("sign", self._curve)
    der = private.sign(payload, ec.ECDSA(self.hashfn, deterministic_signing=True))
    width = (private.key_size + 7) // 8
    return b"".join(number.to_bytes(width) for number in ec_utils.decode_dss_signature(der))


jwcrypto.jwa._RawEC.sign = sign_without_randomness
sd_jwt.holder.time = lambda: NOW
SDJWTIssuer.unsafe_randomness = True
random.seed("mandates")


def key(name, algorithm):
    """The same key for the same name."""
    number = int.from_bytes(sha256(name.encode()).digest()) >> 1
    private = JWK.from_pyca(ec.derive_private_key(number, CURVES[algorithm]))
    return JWK(**{**private.export(as_dict=True), "kid": name})


PLATFORM = {f"platform-{name.lower()}": key(f"platform-{name.lower()}", name) for name in CURVES}
OWN = {f"shop-{name.lower()}": key(f"shop-{name.lower()}", name) for name in CURVES}
ALGORITHMS = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
HOLDER = key("holder", "ES256")
STRANGER = key("stranger", "ES256")


def algorithm_of(jwk):
    return ALGORITHMS[jwk["crv"]]


def b64(data):
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def digest(text):
    return b64(sha256(text.encode()).digest())


def sign(signer, payload, **header):
    """A compact JWS over bytes."""
    header = {"alg": algorithm_of(signer), **header}
    jws = JWS(payload)
    jws.add_signature(signer, alg=header["alg"], protected=json.dumps({n: v for n, v in header.items() if v is not None}))
    return jws.serialize(compact=True)


# The checkout, and the business's signature over it.

SESSION = {
    "ucp": {"version": "2026-08-25", "capabilities": {}},
    "id": "chk_7f9d1c",
    "status": "ready_for_complete",
    "currency": "EUR",
    "line_items": [
        {
            "id": "li_1",
            "item": {"id": "shoe_42", "title": "Läufer „Wind“ 42 \u2028 \U0001f45f", "price": 8999},
            "quantity": 2,
            "totals": [{"type": "subtotal", "amount": 17998}, {"type": "total", "amount": 17998}],
        },
        {
            "id": "li_2",
            "item": {"id": "sock_3", "title": "Socks", "price": 450},
            "quantity": 1,
        },
    ],
    "totals": [
        {"type": "subtotal", "amount": 18448},
        {"type": "fulfillment", "display_text": "Parcel", "amount": 490},
        {"type": "total", "amount": 18938},
    ],
    "links": [],
    # Numbers and names that a canonical form has to get right.
    "com.example": {"rate": 0.19, "tiny": 1e-7, "large": 1e21, "geo": [52.520008, -13.404954], "\ufb33": 1, "\U0001f600": 2},
}


def authorization(checkout, signer=OWN["shop-es256"], kid=None, **header):
    payload = rfc8785.dumps({name: value for name, value in checkout.items() if name != "ap2"})
    head, _, signature = sign(signer, payload, kid=kid or signer["kid"], **header).split(".")
    return f"{head}..{signature}"


def answered(checkout=SESSION, **how):
    """The checkout as the business answers it."""
    checkout = deepcopy(checkout)
    checkout["ap2"] = {"merchant_authorization": authorization(checkout, **how)}
    return checkout


def attached(checkout):
    """The same signature with its payload: the merchant-signed JWT of AP2."""
    payload = rfc8785.dumps({name: value for name, value in checkout.items() if name != "ap2"})
    return checkout["ap2"]["merchant_authorization"].replace("..", f".{b64(payload)}.")


# Mandates.

CLAIMS = {"vct": "mandate.checkout.1", "iss": "https://platform.example", "iat": NOW - 60, "exp": NOW + 600}


def claims(checkout=None, **change):
    made = {**CLAIMS, "checkout": answered() if checkout is None else checkout, **change}
    return {name: value for name, value in made.items() if value is not None}


def issue(payload, issuer=PLATFORM["platform-es256"], holder=HOLDER, decoys=False, **header):
    """What the issuer hands to the holder: with every disclosure, without key binding."""
    header = {"kid": issuer["kid"], "typ": "dc+sd-jwt", **header}
    return SDJWTIssuer(
        payload,
        issuer,
        holder_key=holder,
        sign_alg=algorithm_of(issuer),
        add_decoy_claims=decoys,
        extra_header_parameters={name: value for name, value in header.items() if value is not None},
    ).sd_jwt_issuance


def present(issued, disclose=True, holder=HOLDER, nonce=SESSION["id"], aud=AUDIENCE):
    """What the library's holder makes of it."""
    made = SDJWTHolder(issued)
    made.create_presentation(disclose, nonce, aud, holder, algorithm_of(holder))
    return made.sd_jwt_presentation


def bind(issued, holder=HOLDER, typ="kb+jwt", **change):
    """A key binding of our own, for what the library would not make. `issued` ends with `~`."""
    payload = {"nonce": SESSION["id"], "aud": AUDIENCE, "iat": NOW, "sd_hash": digest(issued), **change}
    payload = {name: value for name, value in payload.items() if value is not None}
    return issued + sign(holder, json.dumps(payload).encode(), typ=typ)


def by_hand(payload, disclosures=(), issuer=PLATFORM["platform-es256"], **header):
    """An issuer that breaks rules: digests and disclosures as stated. Not bound yet."""
    payload = {**payload, "cnf": {"jwk": HOLDER.export_public(as_dict=True)}}
    jwt = sign(issuer, json.dumps(payload).encode(), **{"kid": issuer["kid"], "typ": "dc+sd-jwt", **header})
    return "~".join([jwt, *disclosures, ""])


def disclosure(*parts):
    return b64(json.dumps(["c2FsdA", *parts]).encode())


def sd_everywhere(value, name=None):
    """Every member and every element selectively disclosable, one in the other."""
    if isinstance(value, dict):
        return {SDObj(name): sd_everywhere(value, name) for name, value in value.items()}
    if isinstance(value, list):
        return [SDObj(sd_everywhere(value)) for value in value]
    return value


def everything(value):
    """What to disclose to disclose all of it; for the library, nothing empty does."""
    if isinstance(value, dict):
        return {name: everything(value) for name, value in value.items()} or True
    if isinstance(value, list):
        return [everything(value) for value in value] or True
    return True


def accepted_by_the_library(mandate, nonce=SESSION["id"]):
    def issuer_key(_, header):
        return JWK.from_json(PLATFORM[header["kid"]].export_public())

    SDJWTVerifier(mandate, issuer_key, AUDIENCE, nonce)
    return mandate


def good():
    """Names and mandates that have to be accepted."""
    for kid, issuer in PLATFORM.items():
        yield f"issued with {kid}", present(issue(claims(), issuer))
    for kid, signer in OWN.items():
        yield f"a checkout signed with {kid}", present(issue(claims(answered(signer=signer))))
    for name in CURVES:
        holder = key(f"holder-{name.lower()}", name)
        # The library's verifier knows only ES256 in key bindings; it makes the others.
        yield f"held with {name}", present(issue(claims(), holder=holder), holder=holder)
    yield "the older name of the type", present(issue(claims(), typ="vc+sd-jwt"))
    checkout = answered()
    yield "the checkout disclosed as a whole", present(
        issue({**CLAIMS, SDObj("checkout"): checkout}), {"checkout": True}
    )
    yield "every member and element disclosed for itself", present(
        issue({**CLAIMS, SDObj("checkout"): sd_everywhere(checkout)}, decoys=True), {"checkout": everything(checkout)}
    )
    yield "other claims kept back", present(
        issue({**claims(), SDObj("email"): "jane@example.com", "tags": [SDObj("a"), SDObj("b")]}, decoys=True),
        {"tags": [False, True]},
    )
    compact = attached(checkout)
    yield "the attached form of AP2", present(
        issue({**CLAIMS, SDObj("checkout_jwt"): compact, "checkout_hash": digest(compact)}), {"checkout_jwt": True}
    )
    yield "both forms", present(issue(claims(checkout, checkout_jwt=compact, checkout_hash=digest(compact))))
    yield "its hash beside the checkout", present(issue(claims(checkout, checkout_hash=digest(compact))))
    shuffled = {name: checkout[name] for name in reversed(checkout)}
    yield "members in another order", present(issue(claims(shuffled)))
    floats = deepcopy(checkout)
    floats["totals"][2]["amount"] = 18938.0
    yield "an amount with a zero fraction", present(issue(claims(floats)))
    other = deepcopy(checkout)
    other["ap2"]["com.example"] = "whatever comes to be"
    yield "another member of ap2", present(issue(claims(other)))
    other = answered({**SESSION, "status": "incomplete", "messages": []})
    yield "another status", present(issue(claims(other)))
    parts = issue({**CLAIMS, SDObj("checkout"): checkout, SDObj("a"): 1, SDObj("b"): 2}).split("~")
    yield "disclosures in another order", bind("~".join([parts[0], *reversed(parts[1:-1]), ""]))
    yield "within the skew", bind(issue(claims(iat=NOW + 60, nbf=NOW + 60, exp=NOW - 59)), iat=NOW - 959)


def bad():
    """Names, mandates and the codes they have to be refused with."""
    signature, key_, expired, scope = (
        "mandate_invalid_signature",
        "agent_missing_key",
        "mandate_expired",
        "mandate_scope_mismatch",
    )
    checkout = answered()
    issued = issue({**CLAIMS, SDObj("checkout"): checkout, SDObj("a"): [1], SDObj("b"): 2})
    mandate = present(issued, {"checkout": True, "a": True, "b": True})
    issuer, *disclosures, binding = mandate.split("~")
    header, payload, seal = issuer.split(".")
    kb_header, kb_payload, kb_seal = binding.split(".")

    yield "no mandate", None, "mandate_required"
    yield "an empty mandate", "", "mandate_required"

    # The form.
    yield "a word", "mandate", signature
    yield "only a tilde", "~", signature
    yield "no key binding", issued, signature
    yield "no key binding and no tilde", issued[:-1], signature
    yield "the issuer's part alone", issuer, signature
    yield "the issuer's part alone with a tilde", issuer + "~", signature
    yield "a missing tilde", mandate.replace("~", "", 1), signature
    yield "an extra tilde in front", "~" + mandate, signature
    yield "an extra tilde at the end", mandate + "~", signature
    for number in range(1, mandate.count("~") + 1):
        parts = mandate.split("~")
        yield f"an extra tilde after part {number}", "~".join([*parts[:number], "", *parts[number:]]), signature
    yield "a chain of mandates", f"{issued}~{mandate}", signature
    yield "white space at the end", mandate + "\n", signature
    yield "padding", mandate + "=", signature
    yield "the JSON form", json.dumps({"payload": payload, "protected": header, "signature": seal}), signature
    yield "another part in the issuer's JWT", f"{header}.{payload}.{seal}.{seal}~{binding}", signature
    yield "no payload", "~".join([f"{header}..{seal}", *disclosures, binding]), signature
    yield "too many disclosures", "~".join([issuer, *[disclosure("x", n) for n in range(257)], binding]), signature

    # Tampered with: each part of it.
    def changed(old, new):
        return bind("~".join([new if part == old else part for part in [issuer, *disclosures]]) + "~")

    other_header = b64(unb64(header).replace(b"dc+sd-jwt", b"vc+sd-jwt"))
    yield "another header", changed(issuer, f"{other_header}.{payload}.{seal}"), signature
    other_payload = b64(unb64(payload).replace(str(NOW + 600).encode(), str(NOW + 900).encode()))
    yield "a longer life", changed(issuer, f"{header}.{other_payload}.{seal}"), signature
    other_payload = json.loads(unb64(payload)) | {"cnf": {"jwk": STRANGER.export_public(as_dict=True)}}
    taken = f"{header}.{b64(json.dumps(other_payload).encode())}.{seal}"
    yield "another holder", bind("~".join([taken, *disclosures]) + "~", holder=STRANGER), signature
    for number, old in enumerate(disclosures):
        salt, *rest = json.loads(unb64(old))
        yield f"disclosure {number} with another salt", changed(old, b64(json.dumps([salt + "A", *rest]).encode())), signature
        spaced = b64(json.dumps([salt, *rest], separators=(",", ":")).encode())
        yield f"disclosure {number} in another spelling", changed(old, spaced), signature
        yield f"disclosure {number} unlike when bound", mandate.replace(old, spaced), signature
        kept = [part for part in disclosures if part != old]
        yield f"disclosure {number} left out", "~".join([issuer, *kept, binding]), signature
        yield f"disclosure {number} twice", bind("~".join([issuer, *disclosures, old, ""])), signature
    yield "disclosures in another order than when bound", "~".join([issuer, *reversed(disclosures), binding]), signature
    yield "a disclosure that nobody promised", bind("~".join([issuer, *disclosures, disclosure("c", 3), ""])), signature
    dearer = json.loads(unb64(disclosures[0]))
    dearer[2]["totals"][2]["amount"] = 1
    yield "a cheaper disclosure", changed(disclosures[0], b64(json.dumps(dearer).encode())), signature
    other_binding = b64(unb64(kb_payload).replace(b"shop", b"shot"))
    yield "another audience in the binding", mandate.replace(kb_payload, other_binding), signature
    yield "another header of the binding", mandate.replace(kb_header, b64(b'{"typ":"kb+jwt","alg":"ES256"}')), signature
    yield "the binding of another mandate", "~".join([issuer, *disclosures, present(issue(claims())).split("~")[-1]]), signature
    yield "a signature of the binding cut short", mandate[:-2], signature
    yield "an empty signature of the binding", mandate.removesuffix(kb_seal), signature
    zeros = b64(bytes(64))
    yield "a signature of zeros", mandate.replace(seal, zeros), signature
    yield "a binding of zeros", mandate.replace(kb_seal, zeros), signature
    der = ec_utils.encode_dss_signature(*(int.from_bytes(unb64(seal)[n : n + 32]) for n in (0, 32)))
    yield "DER instead of r||s", mandate.replace(seal, b64(der)), signature

    # Algorithms and keys.
    def unsigned(alg, secret=None):
        head = b64(json.dumps({"alg": alg, "typ": "dc+sd-jwt", "kid": "platform-es256"}).encode())
        if secret is None:
            return bind("~".join([f"{head}.{payload}.", *disclosures, ""]))
        jws = JWS(unb64(payload))
        secret = JWK(kty="oct", k=b64(secret))
        jws.add_signature(secret, alg=alg, protected=unb64(head).decode())
        return bind("~".join([jws.serialize(compact=True), *disclosures, ""]))

    public = PLATFORM["platform-es256"]
    yield "no algorithm", unsigned("none"), signature
    yield "no algorithm, in capitals", unsigned("None"), signature
    yield "a shared secret that is no secret", unsigned("HS256", public.export_to_pem()), signature
    yield "an algorithm of another curve", changed(
        issuer, f"{b64(unb64(header).replace(b'ES256', b'ES384'))}.{payload}.{seal}"
    ), signature
    stated = issue(claims(), PLATFORM["platform-es384"], kid="platform-es256")
    yield "a key of another curve than the header's kid", present(stated), signature
    mislabelled = b64(unb64(header).replace(b"ES256", b"ES512")) + "." + payload
    resealed = jwcrypto.jwa.JWA.signing_alg("ES256").sign(public, mislabelled.encode())
    yield "an algorithm other than the one signed with", changed(issuer, f"{mislabelled}.{b64(resealed)}"), signature
    yield "a key under the name of another", present(issue(claims(), STRANGER, kid="platform-es256")), signature
    yield "a key that is not published", present(issue(claims(), STRANGER)), key_
    yield "no kid", present(issue(claims(), kid=None)), key_
    yield "a kid of another type", present(issue(claims(), kid="platform-rsa")), key_
    yield "the business's own key", present(issue(claims(), OWN["shop-es256"])), key_
    yield "a key in the header", present(
        issue(claims(), STRANGER, kid=None, jwk=STRANGER.export_public(as_dict=True))
    ), key_
    yield "an extension that is critical", present(issue(claims(), crit=["b64"], b64=True)), signature
    yield "another type", present(issue(claims(), typ="JWT")), signature
    yield "no type", bind(by_hand(claims(), typ=None)), signature
    yield "a binding of another type", bind(issued, typ="JWT"), signature
    yield "a binding by somebody else", bind(issued, holder=STRANGER), signature
    yield "a binding by the issuer", bind(issued, holder=PLATFORM["platform-es256"]), signature
    yield "no holder", bind(issue(claims(), holder=None)), signature
    for what, jwk in {
        "a holder without a key": {"kid": "holder"},
        "a holder with a shared secret": {"kty": "oct", "k": "AAAA"},
        "a holder whose private key is public": HOLDER.export(as_dict=True),
        "a holder beside the curve": {**HOLDER.export_public(as_dict=True), "x": b64(bytes(32))},
    }.items():
        yield what, bind(issue(claims(cnf={"jwk": jwk}), holder=None)), signature

    # Time.
    yield "expired", present(issue(claims(exp=NOW - 60))), expired
    yield "without an end", present(issue(claims(exp=None))), expired
    yield "an end that is no number", present(issue(claims(exp="tomorrow"))), signature
    yield "an end in fractions", present(issue(claims(exp=NOW + 600.5))), signature
    yield "not good yet", present(issue(claims(nbf=NOW + 61))), expired
    yield "issued in the future", present(issue(claims(iat=NOW + 61))), expired
    yield "bound in the future", bind(issued, iat=NOW + 61), expired
    yield "bound long ago", bind(issued, iat=NOW - 961), expired
    yield "bound at no time", bind(issued, iat=None), signature
    yield "an expired binding", bind(issued, exp=NOW - 60), expired

    # What it is bound to.
    yield "for another business", bind(issued, aud="https://shop.example.net"), scope
    yield "for several", bind(issued, aud=[AUDIENCE]), signature
    yield "for nobody", bind(issued, aud=None), signature
    yield "for another checkout", bind(issued, nonce="chk_other"), scope
    yield "for no checkout", bind(issued, nonce=None), signature
    yield "bound to nothing", bind(issued, sd_hash=None), signature
    yield "bound to something else", bind(issued, sd_hash=digest("")), signature

    # Disclosures against the rules of RFC 9901, signed by the platform all the same.
    plain = claims(checkout)
    one, element = disclosure("a", 1), disclosure(1)
    for what, claims_, given in [
        ("a digest twice", {"_sd": [digest(one), digest(one)]}, [one]),
        ("a digest in two places", {"_sd": [digest(one)], "x": {"_sd": [digest(one)]}}, [one]),
        ("a digest of nothing in two places", {"_sd": [digest("")], "x": [{"...": digest("")}]}, []),
        ("an element as a member", {"_sd": [digest(element)]}, [element]),
        ("a member as an element", {"x": [{"...": digest(one)}]}, [one]),
        ("a member that is there already", {"_sd": [digest(one)], "a": 2}, [one]),
        ("digests that are no list", {"_sd": digest(one)}, [one]),
        ("digests that are no texts", {"_sd": [1]}, []),
        ("an element's digest that is no text", {"x": [{"...": 1}]}, []),
        ("dots outside of an array", {"x": {"...": digest(element)}}, [element]),
        ("dots beside something else", {"x": [{"...": digest(element), "y": 1}]}, [element]),
        ("another hash algorithm", {"_sd_alg": "sha-512"}, []),
        ("an unknown hash algorithm", {"_sd_alg": "md5"}, []),
        ("a hash algorithm that is no text", {"_sd_alg": 256}, []),
    ]:
        yield what, bind(by_hand({**plain, **claims_}, given)), signature
    for what, parts in {
        "a reserved member _sd": ("_sd", []),
        "a reserved member ...": ("...", "x"),
        "a reserved member _sd_alg": ("_sd_alg", "sha-256"),
        "a member without a name": (1, 2),
        "four parts": ("a", 1, 2),
        "only a salt": (),
        "a disclosed exp": ("exp", NOW + 600),
        "a disclosed vct": ("vct", CLAIMS["vct"]),
        "a disclosed nbf": ("nbf", NOW - 600),
    }.items():
        text = disclosure(*parts)
        without = {name: value for name, value in plain.items() if name != (parts or [None])[0]}
        yield what, bind(by_hand({**without, "_sd": [digest(text)]}, [text])), signature
    for what, raw in {
        "a disclosure that is an object": b'{"a":1}',
        "a disclosure without a salt": b'[1,"a",1]',
        "an empty disclosure in brackets": b"[]",
        "a disclosure that is no JSON": b"[",
        "a disclosure that is no UTF-8": b'["\xff","a",1]',
        "a disclosure that names a member twice": b'["s","x",{"y":1,"y":2}]',
        "a disclosure that nests too deep": b'["s","x",' + b"[" * 60 + b"]" * 60 + b"]",
    }.items():
        text = b64(raw)
        yield what, bind(by_hand({**plain, "_sd": [digest(text)]}, [text])), signature
    nested = disclosure("x", 1)
    given = [nested]
    for _ in range(100):
        nested = disclosure("x", {"_sd": [digest(nested)]})
        given.append(nested)
    yield "disclosures that nest too deep", bind(by_hand({**plain, "_sd": [digest(nested)]}, given)), signature
    twice = sign(PLATFORM["platform-es256"], json.dumps(plain)[:-1].encode() + b',"exp":1}', kid="platform-es256", typ="dc+sd-jwt")
    yield "a claim twice", bind(twice + "~"), signature
    yield "a payload that is a list", bind(sign(PLATFORM["platform-es256"], b"[]", kid="platform-es256", typ="dc+sd-jwt") + "~"), signature

    # The checkout in it.
    yield "a mandate for a payment", present(issue(claims(vct="mandate.payment.1"))), scope
    yield "an open mandate", present(issue(claims(vct="mandate.checkout.open.1"))), scope
    yield "no type of mandate", present(issue(claims(vct=None))), scope
    yield "no checkout", present(issue(CLAIMS)), scope
    yield "a checkout kept back", bind(issue({**CLAIMS, SDObj("checkout"): checkout}).split("~")[0] + "~"), scope
    yield "a checkout that is a text", present(issue(claims(json.dumps(checkout)))), scope
    yield "a checkout without signature", present(issue(claims(SESSION))), "merchant_authorization_missing"
    yield "a checkout whose signature is no text", present(
        issue(claims({**SESSION, "ap2": {"merchant_authorization": 1}}))
    ), "merchant_authorization_missing"
    compact = attached(checkout)
    yield "no hash", present(issue({**CLAIMS, "checkout_jwt": compact})), scope
    yield "another hash", present(issue({**CLAIMS, "checkout_jwt": compact, "checkout_hash": digest("")})), scope
    yield "another hash beside the checkout", present(issue(claims(checkout, checkout_hash=digest("")))), scope
    yield "a checkout_jwt that is no text", present(issue({**CLAIMS, "checkout_jwt": 1, "checkout_hash": ""})), scope
    later = answered({**SESSION, "status": "incomplete"})
    for what, hashed in {"one": compact, "the other": attached(later)}.items():
        yield f"two different checkouts, with the hash of {what}", present(
            issue(claims(later, checkout_jwt=compact, checkout_hash=digest(hashed)))
        ), scope

    def terms(change):
        altered = deepcopy(SESSION)
        change(altered)
        return altered

    alterations = {
        "another id": lambda it: it.update(id="chk_other"),
        "another currency": lambda it: it.update(currency="USD"),
        "a lower total": lambda it: it["totals"][2].update(amount=18937),
        "another quantity": lambda it: it["line_items"][0].update(quantity=1),
        "another item": lambda it: it["line_items"][1]["item"].update(id="sock_4"),
        "another title": lambda it: it["line_items"][1]["item"].update(title="Sock"),
        "another line item": lambda it: it["line_items"].append(it["line_items"][0]),
        "line items in another order": lambda it: it["line_items"].reverse(),
        "a total less": lambda it: it["totals"].pop(1),
        "a member more": lambda it: it["totals"][2].update(note="x"),
        "no totals": lambda it: it.pop("totals"),
    }
    for what, change in alterations.items():
        altered = terms(change)
        yield f"{what}, signed by the business", bind(issue(claims(answered(altered))), nonce=altered["id"]), scope
        stolen = {**altered, "ap2": checkout["ap2"]}
        yield f"{what}, not signed by the business", present(issue(claims(stolen))), "merchant_authorization_invalid"
        forged = attached({**altered, "ap2": checkout["ap2"]})
        yield f"{what}, in the attached form", present(
            issue({**CLAIMS, "checkout_jwt": forged, "checkout_hash": digest(forged)})
        ), "merchant_authorization_invalid"
    half = sd_everywhere(checkout)
    partly = issue({**CLAIMS, "checkout": half})
    yield "a checkout disclosed in part", present(
        partly, {"checkout": {name: everything(value) for name, value in checkout.items() if name != "links"}}
    ), "merchant_authorization_invalid"
    for what, made in {
        "signed by somebody else": authorization(SESSION, STRANGER),
        "signed by the platform": authorization(SESSION, PLATFORM["platform-es256"]),
        "signed by somebody else under our name": authorization(SESSION, STRANGER, "shop-es256"),
        "signed without a kid": authorization(SESSION, kid=None).replace(
            checkout["ap2"]["merchant_authorization"].split(".")[0], b64(b'{"alg":"ES256"}')
        ),
        "signed with no algorithm": b64(b'{"alg":"none","kid":"shop-es256"}') + "..",
        "with an empty signature": "",
        "with a signature of two dots": "..",
        "with the payload in its signature": compact,
        "with a signature of three dots": checkout["ap2"]["merchant_authorization"].replace("..", "..."),
    }.items():
        embedded = {**SESSION, "ap2": {"merchant_authorization": made}}
        yield f"a checkout {what}", present(issue(claims(embedded))), "merchant_authorization_invalid"


def keys(published):
    return [{**jwk.export_public(as_dict=True), "use": "sig"} for jwk in published.values()]


def vectors():
    cases = []
    for name, mandate in good():
        nonce = SESSION["id"]
        if "ES384" not in name and "ES512" not in name:
            accepted_by_the_library(mandate)
        cases.append({"name": name, "mandate": mandate, "refused": None})
    checkout = answered()
    nonce = checkout["ap2"]["merchant_authorization"]
    mandate = accepted_by_the_library(present(issue(claims(checkout)), nonce=nonce), nonce)
    cases.append({"name": "the authorization for a nonce", "mandate": mandate, "refused": None})
    cases += [{"name": name, "mandate": mandate, "refused": code} for name, mandate, code in bad()]
    rsa = {"kid": "platform-rsa", "kty": "RSA", "n": b64(bytes(range(1, 129))), "e": "AQAB", "use": "sig"}
    return {
        "now": NOW,
        "audience": AUDIENCE,
        "platform_keys": [*keys(PLATFORM), rsa],
        "own_keys": keys(OWN),
        "session": SESSION,
        "cases": cases,
    }


if __name__ == "__main__":
    print(json.dumps(vectors(), indent=1, ensure_ascii=True))

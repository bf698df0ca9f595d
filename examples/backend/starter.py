"""A shop behind the backend contract, with FastAPI. Replace the goods, carts and orders by those of your shop."""

import hashlib, hmac, json, os, pathlib, time, uuid

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse

SECRET = os.environ.get("BACKEND_SECRET")
DELIVERED_TO = {"US", "CA", "DE", "GB"}
OPTIONS = [
    {"id": "standard", "title": "Standard", "amount": 500, "min_days": 3, "max_days": 5},
    {"id": "express", "title": "Express", "amount": 1500, "min_days": 1, "max_days": 2},
]
HANDLER = {"name": "com.example.starter_pay", "id": "starter_pay", "version": "2026-01-01", "instruments": ["card"]}

lines = pathlib.Path(__file__).with_name("products.jsonl").read_text("utf-8").splitlines()
products = sorted((json.loads(line) for line in lines), key=lambda product: product["id"])
variants = {variant["id"]: variant for product in products for variant in product["variants"]}
carts: dict[str, dict] = {}
attempts: dict[str, dict] = {}  # of `/place`, by reference
app = FastAPI()


@app.middleware("http")
async def signed(request: Request, call_next):
    """Checks the gateway's signature: the HMAC of time, method, path and body."""
    if SECRET:
        moment = request.headers.get("x-signature-timestamp", "0")
        parts = [moment.encode(), request.method.encode(), request.url.path.encode(), await request.body()]
        expected = "sha256=" + hmac.new(SECRET.encode(), b"\n".join(parts), hashlib.sha256).hexdigest()
        stated = request.headers.get("x-signature", "")
        if abs(time.time() - int(moment)) > 300 or not hmac.compare_digest(stated, expected):
            return JSONResponse({"error": "the signature is not right"}, 401)
    return await call_next(request)


@app.get("/backend")
def backend():
    return {
        "contract": "1",
        "market": {"name": "Starter Shop", "currency": "USD", "language": "en"},
        "catalog": {"most_ids": 50},
        "cart": {"completion": "place", "codes": True, "delivery": True, "keys": True},
        "payment_handlers": [HANDLER],
    }


@app.post("/find")
def find(question: dict):
    words = question.get("words", "").lower().split()
    texts = [(product, f"{product['title']} {product['description']['plain']}".lower()) for product in products]
    matches = [product for product, text in texts if all(word in text for word in words)]
    after = question.get("after")
    if after is not None and all(product["id"] != after for product in products):
        raise HTTPException(404)
    rest = [product for product in matches if after is None or product["id"] > after]
    page = rest[: question["limit"]]
    return {"products": page, "next": page[-1]["id"] if len(rest) > len(page) else None, "total": len(matches)}


@app.post("/resolve")
@app.post("/open")
def resolve(question: dict):
    named = set(question["ids"])
    return {"products": [product for product in products if named & names(product)]}


def names(product: dict) -> set:
    of_variants = (variant.get(name) for variant in product["variants"] for name in ("id", "sku"))
    return {product["id"], product.get("handle"), *of_variants}


def priced(cart: str, stated: dict) -> dict:
    """What a cart costs: the one place where this shop has prices, discounts and deliveries."""
    own = []
    for line in stated["lines"]:
        known = variants.get(line["variant"], {"price": {"amount": 0}, "availability": {"available": False}})
        quantity = line["quantity"] if known.get("availability", {"available": True})["available"] else 0
        own.append({"variant": line["variant"], "quantity": quantity, "price": known["price"]["amount"]})
    goods = sum(line["quantity"] * line["price"] for line in own)
    off = goods // 10 if "WELCOME10" in stated["codes"] else 0
    options = OPTIONS if (stated.get("address") or {}).get("address_country") in DELIVERED_TO else []
    wanted = [option for option in options if option["id"] == stated.get("delivery_option")]
    chosen = (wanted or options or [None])[0]
    return {
        "cart": cart, "currency": "USD", "lines": own,
        "discounts": [{"code": "WELCOME10", "title": "10% off", "amount": off}] if off else [],
        "delivery_options": options, "delivery_option": chosen and chosen["id"],
        "total": goods - off + (chosen["amount"] if chosen else 0),
    }


@app.post("/cart/sync")
def sync(stated: dict):
    cart = stated.get("cart") or f"starter-cart-{stated.get('key') or uuid.uuid4()}"
    if stated.get("cart") and cart not in carts:
        raise HTTPException(404)
    carts[cart] = stated
    return priced(cart, stated)


@app.post("/cart/fetch")
def fetch(stated: dict):
    if stated["cart"] not in carts:
        raise HTTPException(404)
    return priced(stated["cart"], carts[stated["cart"]])


@app.post("/cart/abandon")
def abandon(question: dict):
    carts.pop(question["cart"], None)


@app.post("/place")
def place(order: dict):
    """Places an order once for each reference, whatever is sent again and however late."""
    if order["reference"] not in attempts:
        attempts[order["reference"]] = decided(order)
    return attempts[order["reference"]]


def decided(order: dict) -> dict:
    stated = carts.get(order["cart"])
    if stated is None or priced(order["cart"], stated)["total"] != order["total"]:
        return {"status": "declined", "reason": "The cart has changed."}
    # Here the shop takes the payment; `credential` is what the buyer's platform sent.
    if (order.get("payment") or {"credential": {"token": "success_token"}})["credential"]["token"] != "success_token":
        return {"status": "declined", "reason": "The card was declined."}
    del carts[order["cart"]]
    number = str(1000 + len(attempts))
    return {"status": "placed", "order": {"id": number, "label": f"#{number}"}}


@app.post("/order")
def became(question: dict):
    return attempts.get(question["reference"], {"status": "absent"})


@app.post("/cancel")
def cancel(question: dict):
    given_up = {"status": "declined", "reason": "The purchase was given up."}
    before = attempts.setdefault(question["reference"], given_up)
    return {"status": "absent"} if before is given_up else before


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "4000")), log_level="warning")

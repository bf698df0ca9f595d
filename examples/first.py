"""A small shop with an API of its own, for docs/mapping.md: everything is in memory, nothing is checked that needs not be.

    python3 first.py 127.0.0.1:4000

A potter sells cups in two sizes. Prices are decimals in EUR, codes are coupons, parcels go to three countries.
"""

import json
import sys
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock
from urllib.parse import parse_qs, urlsplit

NAMES = ["Blue cup", "Green cup", "Teapot", "Bowl", "Plate"]
PRODUCTS = [
    {
        "id": number,
        "name": name,
        "text": f"<p>{name}, thrown &amp; glazed by hand.</p>",
        "shelf": "Cups" if "cup" in name else "Table",
        "sizes": [
            {"sku": f"P{number}-{size}", "size": size, "price": str(Decimal("9.90") + number + extra), "left": left}
            for size, extra, left in [("S", 0, 40), ("L", 5, 0 if number == 2 else 3)]
        ],
    }
    for number, name in enumerate(NAMES, 1)
]
SIZES = {size["sku"]: size for product in PRODUCTS for size in product["sizes"]}
PARCELS = {
    "AT": [("post", "Post", "4.90"), ("express", "Express", "9.90")],
    "DE": [("post", "Post", "8.90")],
    "US": [("air", "Air mail", "24.00")],
}
CARTS, ORDERS, NUMBERS, LOCK = {}, {}, count(1), Lock()


def priced(cart):
    """The cart as the API shows it."""
    lines = [{**line, "price": SIZES[line["sku"]]["price"]} for line in cart["lines"]]
    goods = sum(Decimal(line["price"]) * line["count"] for line in lines)
    off = (goods / 10).quantize(Decimal("0.01")) if cart.get("coupon") == "KILN10" else Decimal(0)
    parcels = [{"code": code, "name": name, "price": price} for code, name, price in PARCELS.get(cart.get("country"), [])]
    chosen = next((parcel for parcel in parcels if parcel["code"] == cart.get("parcel")), parcels[0] if parcels else None)
    total = goods - off + (Decimal(chosen["price"]) if chosen else 0)
    shown = {"id": cart["id"], "lines": lines, "parcels": parcels, "parcel": chosen and chosen["code"], "total": str(total)}
    return {**shown, "coupon": {"code": "KILN10", "off": str(off)} if off else None}


def changed(cart, body):
    """Puts what is stated into a cart: of each size as many as are left."""
    wanted = [line for line in body.get("lines", []) if SIZES.get(line["sku"], {}).get("left")]
    lines = [{"sku": line["sku"], "count": min(line["count"], SIZES[line["sku"]]["left"])} for line in wanted]
    cart.update({**body, "lines": lines})
    return 200, priced(cart)


def ordered(body):
    """Places an order, once for each reference."""
    if body["reference"] in ORDERS:
        return 200, ORDERS[body["reference"]]
    cart = CARTS.get(body["cart"])
    if not cart or not cart["lines"]:
        return 409, {"error": "CART_EMPTY"}
    if priced(cart)["total"] != body["total"]:
        return 409, {"error": "TOTAL_CHANGED"}
    if body["card"] != "success_token":
        return 402, {"error": "CARD_DECLINED"}
    for line in cart["lines"]:
        SIZES[line["sku"]]["left"] -= line["count"]
    ORDERS[body["reference"]] = {"number": 1001 + len(ORDERS), "reference": body["reference"]}
    del CARTS[body["cart"]]
    return 201, ORDERS[body["reference"]]


def answered(method, path, query, body):
    match [method, *path.strip("/").split("/")]:
        case ["GET", "products"]:
            words = query.get("q", [""])[0].lower().split()
            found = [product for product in PRODUCTS if all(word in product["name"].lower() for word in words)]
            page, size = int(query.get("page", ["1"])[0]), int(query.get("size", ["20"])[0])
            return 200, {"count": len(found), "items": found[(page - 1) * size : page * size]}
        case ["GET", "products", number]:
            return next(((200, product) for product in PRODUCTS if str(product["id"]) == number), (404, {}))
        case ["POST", "carts"]:
            number = f"c{next(NUMBERS)}"
            CARTS[number] = {"id": number, "lines": []}
            return 201, priced(CARTS[number])
        case [_, "carts", cart] if cart not in CARTS:
            return 404, {"error": "NO_SUCH_CART"}
        case ["GET", "carts", cart]:
            return 200, priced(CARTS[cart])
        case ["PUT", "carts", cart]:
            return changed(CARTS[cart], body)
        case ["DELETE", "carts", cart]:
            del CARTS[cart]
            return 204, None
        case ["POST", "orders"]:
            return ordered(body)
        case ["GET", "orders"]:
            return 200, [order for order in ORDERS.values() if order["reference"] == query["reference"][0]]
    return 404, {}


class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        url, length = urlsplit(self.path), int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        with LOCK:
            status, document = answered(self.command, url.path, parse_qs(url.query), body)
        payload = b"" if document is None else json.dumps(document, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    host, _, port = sys.argv[1].rpartition(":")
    ThreadingHTTPServer((host, int(port)), Api).serve_forever()

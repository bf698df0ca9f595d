"""Tryton, an ERP, behind the backend contract: products with stock, sales with carriers and coupons, paid on account.

    pip install trytond-sale-shipment-cost trytond-sale-promotion-coupon trytond-product-attribute
    TRYTOND_CONFIG=trytond.conf TRYTON_DATABASE=shop python tryton.py

It runs beside `trytond`, on the same database. A cart is a draft of a sale; an order is a sale that was confirmed, to
be paid by invoice. Identifiers of variants are made of both: `7-12` is the variant 12 of the product 7.
"""

import datetime
import hashlib
import hmac
import json
import os
import threading
import time
import uuid
from decimal import Decimal

from trytond import config

config.update_etc(os.environ.get("TRYTOND_CONFIG"))

from trytond.exceptions import UserError  # noqa: E402
from trytond.pool import Pool  # noqa: E402
from trytond.transaction import Transaction, TransactionError  # noqa: E402
from werkzeug.serving import make_server  # noqa: E402
from werkzeug.wrappers import Request, Response  # noqa: E402

DATABASE = os.environ.get("TRYTON_DATABASE", "shop")
SECRET = os.environ.get("BACKEND_SECRET")
HANDLER = {"name": "com.example.on_account", "id": "on_account", "version": "2026-01-01", "instruments": ["invoice"]}
GONE = object()  # What is asked about does not exist: status 404.
writing = threading.Lock()  # One sale is changed at a time, whatever the database locks.

Pool.start()
pool = Pool(DATABASE)
pool.init()


def minor(amount):
    return int((Decimal(amount) * 100).quantize(Decimal(1)))


def number(text):
    """The number that a text is, or one that nothing has."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0


def stock(products):
    """How many of each product are there and not promised to anybody."""
    if not products:
        return {}
    warehouses = pool.get("stock.location").search([("type", "=", "warehouse")])
    with Transaction().set_context(forecast=True, stock_date_end=datetime.date.max, stock_skip_warehouse=True):
        counted = pool.get("product.product").products_by_location(
            [one.id for one in warehouses], with_childs=True, grouping_filter=([one.id for one in products],)
        )
    left = dict.fromkeys((one.id for one in products), 0)
    for (_, product), quantity in counted.items():
        left[product] += int(quantity)
    return left


def document(template, left, prices, currency):
    """A product as the contract states it."""
    variants = []
    choices = template.attribute_set.attributes if template.attribute_set else []
    names = {choice.name: choice.string for choice in choices}
    for product in template.products:
        attributes = product.attributes or {}
        available = left[product.id] > 0
        variants.append({
            "id": f"{template.id}-{product.id}",
            "sku": product.code or None,
            "price": {"amount": minor(prices[product.id]), "currency": currency},
            "options": [
                {"name": names[name], "label": str(attributes[name])} for name in sorted(names) if name in attributes
            ],
            "availability": {"available": available, "status": "in_stock" if available else "out_of_stock"},
        })
    described = next((product.description for product in template.products if product.description), template.name)
    return {
        "id": str(template.id),
        "title": template.name,
        "description": {"plain": described},
        "categories": [
            {"value": one.rec_name.replace(" / ", " > "), "taxonomy": "merchant"} for one in template.categories
        ],
        "variants": variants,
    }


def documents(templates):
    products = [product for template in templates for product in template.products]
    left, prices = stock(products), pool.get("product.product").get_sale_price(products)
    currency = company().currency.code
    sold = [template for template in templates if any(prices[product.id] is not None for product in template.products)]
    return [document(template, left, prices, currency) for template in sold]


def company():
    return pool.get("company.company")(Transaction().context["company"])


SOLD = [("salable", "=", True), ("type", "=", "goods")]


def backend(_):
    return {
        "contract": "1",
        "market": {"name": company().party.name, "currency": company().currency.code, "language": "en"},
        "catalog": {"most_ids": 50},
        "cart": {"completion": "place", "codes": True, "delivery": True, "keys": True},
        "payment_handlers": [HANDLER],
    }


def find(question):
    Template = pool.get("product.template")
    matching = list(SOLD)
    for word in (question.get("words") or "").split():
        like = "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        matching.append(["OR", ("name", "ilike", like), ("products.description", "ilike", like)])
    total, after = Template.search_count(matching), []
    if question.get("after") is not None:
        if not Template.search([("id", "=", number(question["after"])), *SOLD]):
            return GONE
        after = [("id", ">", number(question["after"]))]
    rest = Template.search(matching + after, limit=question["limit"] + 1, order=[("id", "ASC")])
    page = rest[: question["limit"]]
    return {"products": documents(page), "next": str(page[-1].id) if len(rest) > len(page) else None, "total": total}


def resolve(question):
    ids = question["ids"]
    of_products = [number(name.partition("-")[0]) for name in ids]
    named = ["OR", ("id", "in", of_products), ("products.code", "in", ids)]
    return {"products": documents(pool.get("product.template").search([*SOLD, named]))}


def sale_of(cart):
    """The sale that a cart is, or became."""
    found = pool.get("sale.sale").search([("reference", "=", cart)]) if cart else []
    return found[0] if found else None


def addressed(sale, stated):
    """Writes the buyer and the address that are stated to the customer of the sale."""
    buyer, to = stated.get("buyer") or {}, stated.get("address") or {}
    party = sale.party
    names = [buyer.get("full_name") or " ".join(filter(None, [buyer.get("first_name"), buyer.get("last_name")]))]
    names.append(" ".join(filter(None, [to.get("first_name"), to.get("last_name")])))
    party.name = next(filter(None, names), "Guest")
    party.save()
    Mechanism = pool.get("party.contact_mechanism")
    Mechanism.delete(list(party.contact_mechanisms))
    if buyer.get("email"):
        Mechanism.create([{"party": party.id, "type": "email", "value": buyer["email"]}])
    country = pool.get("country.country").search([("code", "=", to.get("address_country") or "")])
    Address = pool.get("party.address")
    address = party.addresses[0] if party.addresses else Address(party=party)
    address.street_unstructured = "\n".join(filter(None, [to.get("street_address"), to.get("extended_address")]))
    address.city, address.postal_code = to.get("address_locality"), to.get("postal_code")
    address.country = country[0] if country else None
    address.save()
    sale.invoice_address = sale.shipment_address = address
    return bool(country)


def carriers(sale):
    """The carriers that deliver to the address, with their prices, cheapest first."""
    offered = [(carrier, sale.compute_shipment_cost(carrier)) for carrier in sale.on_change_with_available_carriers()]
    known = [(carrier, minor(cost)) for carrier, cost in offered if cost is not None]
    return sorted(known, key=lambda one: (one[1], one[0].id))


def sync(stated):
    Sale, Party = pool.get("sale.sale"), pool.get("party.party")
    made = f"sale-{stated.get('key') or uuid.uuid4()}"
    sale = sale_of(stated.get("cart") or made)
    if (sale.state != "draft") if sale else stated.get("cart"):
        return GONE
    if sale is None:
        party, = Party.create([{"name": "Guest", "addresses": []}])
        sale = Sale(party=party, company=company(), reference=made)
        sale.on_change_company()
        sale.on_change_party()
        sale.invoice_method = sale.shipment_method = "order"
        sale.save()
    delivered = addressed(sale, stated)
    Line, Product = pool.get("sale.line"), pool.get("product.product")
    Line.delete(list(sale.lines))
    wanted = {number(line["variant"].partition("-")[2]): line for line in stated["lines"]}
    products = Product.search([("id", "in", list(wanted)), *((f"template.{name}", *rest) for name, *rest in SOLD)])
    left, sale.lines = stock(products), []
    for product in sorted(products, key=lambda one: list(wanted).index(one.id)):
        quantity = min(wanted[product.id]["quantity"], left[product.id])
        if quantity > 0 and wanted[product.id]["variant"] == f"{product.template.id}-{product.id}":
            line = Line(sale=sale, type="line", product=product, quantity=float(quantity))
            line.on_change_product()
            sale.lines = [*sale.lines, line]
    sale.coupons = pool.get("sale.promotion.coupon.number").search([("number", "in", stated["codes"])])
    sale.carrier = None
    if delivered and sale.lines:
        offered = [carrier for carrier, _ in carriers(sale)]
        chosen = [one for one in offered if str(one.id) == stated.get("delivery_option")]
        sale.carrier = next(iter(chosen or offered), None)
    sale.shipment_cost_method = "order" if sale.carrier else None
    for changed in Sale.set_shipment_cost, Sale.apply_promotion:
        sale.save()
        sale = Sale(sale.id)
        changed(sale)
    sale.save()
    return priced(Sale(sale.id))


def priced(sale):
    """The cart that a sale is, as the contract states it."""
    goods = [line for line in sale.lines if line.shipment_cost is None]
    before = {line.id: minor(line.original_unit_price or line.unit_price) for line in goods}
    saved = sum(before[line.id] * int(line.quantity) - minor(line.amount) for line in goods)
    codes = [one.number for one in sale.coupons] if saved else []
    options = carriers(sale) if goods and sale.shipment_address.country else []
    return {
        "cart": sale.reference,
        "currency": sale.currency.code,
        "lines": [
            {
                "variant": f"{line.product.template.id}-{line.product.id}",
                "quantity": int(line.quantity),
                "price": before[line.id],
            }
            for line in goods
        ],
        "discounts": [
            {
                "code": next(iter(codes), None),
                "title": next(line.promotion.name for line in goods if line.promotion),
                "amount": saved,
            }
        ] if saved else [],
        "delivery_options": [
            {"id": str(carrier.id), "title": carrier.party.name, "amount": amount} for carrier, amount in options
        ],
        "delivery_option": str(sale.carrier.id) if sale.carrier else None,
        "taxes": [{"title": "Taxes", "amount": minor(sale.tax_amount)}] if sale.tax_amount else [],
        "total": minor(sale.total_amount),
    }


def fetch(question):
    sale = sale_of(question["cart"])
    return GONE if sale is None or sale.state != "draft" else priced(sale)


def abandon(question):
    sale = sale_of(question["cart"])
    if sale is not None and sale.state == "draft":
        pool.get("sale.sale").cancel([sale])
        pool.get("sale.sale").delete([sale])


# What became of an attempt stands in the comment of its sale: `order REFERENCE`, or a line for each that was given up.
def place(order):
    sale = sale_of(order["cart"])
    before = became(order)
    if before["status"] != "absent":
        return before
    if sale is None or sale.state != "draft":
        return {"status": "declined", "reason": "The cart was ordered already, or is gone."}
    Sale = pool.get("sale.sale")
    left = stock([line.product for line in sale.lines if line.shipment_cost is None])
    enough = all(line.quantity <= left[line.product.id] for line in sale.lines if line.shipment_cost is None)
    try:
        addressed(sale, order)
        sale.comment = f"{sale.comment or ''}order {order['reference']}\n"
        sale.save()
        Sale.quote([sale])
        if not enough or minor(Sale(sale.id).total_amount) != order["total"]:
            raise UserError("The prices or the stock have changed.")
        Sale.confirm([sale])
        Sale.process([sale])
    except UserError as refusal:
        Transaction().rollback()
        return {"status": "declined", "reason": refusal.message}
    return placed(Sale(sale.id))


def placed(sale):
    return {"status": "placed", "order": {"id": str(sale.id), "label": sale.number}}


def became(attempt):
    sale = sale_of(attempt.get("cart"))
    said = (sale.comment or "").splitlines() if sale else []
    if f"order {attempt['reference']}" in said:
        return placed(sale)
    if f"given up {attempt['reference']}" in said:
        return {"status": "declined", "reason": "The purchase was given up."}
    return {"status": "absent"}


def cancel(attempt):
    before, sale = became(attempt), sale_of(attempt.get("cart"))
    if before["status"] == "absent" and sale is not None:
        sale.comment = f"{sale.comment or ''}given up {attempt['reference']}\n"
        sale.save()
    return before if before["status"] == "placed" else {"status": "absent"}


READS = {
    "/backend": backend,
    "/find": find,
    "/resolve": resolve,
    "/open": resolve,
    "/cart/fetch": fetch,
    "/order": became,
}
WRITES = {"/cart/sync": sync, "/cart/abandon": abandon, "/place": place, "/cancel": cancel}


def signed(request):
    """Checks the gateway's signature: the HMAC of time, method, path and body."""
    moment, stated = request.headers.get("X-Signature-Timestamp", "0"), request.headers.get("X-Signature", "")
    parts = [moment.encode(), request.method.encode(), request.path.encode(), request.get_data()]
    expected = "sha256=" + hmac.new(SECRET.encode(), b"\n".join(parts), hashlib.sha256).hexdigest()
    return abs(time.time() - number(moment)) <= 300 and hmac.compare_digest(stated, expected)


def answered(question, body):
    with Transaction().start(DATABASE, 1):
        context = pool.get("res.user").get_preferences(context_only=True)
    locks = {}
    while True:
        readonly = question in READS.values()
        with Transaction().start(DATABASE, 1, context=context, readonly=readonly, **locks) as transaction:
            try:
                return question(body)
            except TransactionError as error:
                # What has to be locked from the beginning: once more, with the lock.
                transaction.rollback()
                error.fix(locks)


@Request.application
def application(request):
    if SECRET and not signed(request):
        return Response('{"error": "the signature is not right"}', 401, content_type="application/json")
    body = json.loads(request.get_data() or "{}")
    if request.path in WRITES:
        with writing:
            answer = answered(WRITES[request.path], body)
    elif request.path in READS:
        answer = answered(READS[request.path], body)
    else:
        answer = GONE
    if answer is GONE:
        return Response('{"error": "not found"}', 404, content_type="application/json")
    return Response(json.dumps(answer), content_type="application/json")


def serve(port):
    server = make_server("127.0.0.1", port, application, threaded=True)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(int(os.environ.get("PORT", "4000")))

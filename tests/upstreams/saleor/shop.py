"""A shop made with Saleor, from a check-out of its repository, on a PostgreSQL server of its own, with sample goods and an app that
takes payments.

    shop.py DIRECTORY [PORT]

`UCP_SALEOR_DIR` is the check-out. The database is in the directory, and is made where there is none, which is all without a port.
The shop says where it listens once it does. Its processes end with this one, however it ends.
"""

import glob
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import threading
import time
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

directory, port = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else None
directory.mkdir(parents=True, exist_ok=True)
database, made = directory / "database", directory / "made"
# What Saleor takes for a token has thirty characters.
TOKEN = "token0of0the0gateway0for0tests"


def program(name):
    """Debian keeps the programs of the server out of the way."""
    found = shutil.which(name) or next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)), None)
    return found or sys.exit(f"PostgreSQL is not installed: {name}")


# PostgreSQL refuses to run as root, and is to end with this process.
owned = ["setpriv", "--pdeathsig", "QUIT"]
if os.getuid() == 0:
    names = {user.pw_name: user for user in pwd.getpwall()}
    owner = names.get("postgres") or names["nobody"]
    owned += [f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]


def started():
    """The server, once it answers. Processes of one that was killed may still be about to end."""
    server = None
    for _ in range(600):
        if server is None or server.poll() is not None:
            command = [*owned, program("postgres"), "-D", str(database), "-k", str(directory), "-c", "listen_addresses="]
            server = subprocess.Popen([*command, "-c", "fsync=off", "-c", "max_connections=200"], cwd="/", stdout=2)
        ready = [program("pg_isready"), "-q", "-h", str(directory), "-U", "saleor"]
        if subprocess.run(ready, check=False).returncode == 0:
            return server
        time.sleep(0.2)
    sys.exit("PostgreSQL does not answer")


def key():
    """What the shop signs tokens with, of which nobody asks for one."""
    made = rsa.generate_private_key(65537, 2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return made.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


if not made.exists():
    shutil.rmtree(database, ignore_errors=True)
    database.mkdir(mode=0o700)
if os.getuid() == 0:
    subprocess.run(["chown", "-R", f"{owner.pw_uid}:{owner.pw_gid}", str(directory)], check=True)
if not made.exists():
    init = [program("initdb"), "--no-sync", "-A", "trust", "-E", "UTF8", "--locale=C", "-U", "saleor", "-D", str(database)]
    subprocess.run([*owned, *init], cwd="/", stdout=2, check=True)
database.chmod(0o700)
server = started()
if not made.exists():
    create = [program("psql"), "-q", "-h", str(directory), "-U", "saleor", "-d", "postgres", "-c", "CREATE DATABASE saleor"]
    subprocess.run(create, check=True)

os.chdir(os.environ["UCP_SALEOR_DIR"])
sys.path.insert(0, os.getcwd())
os.environ |= {
    "DJANGO_SETTINGS_MODULE": "saleor.settings",
    "DATABASE_URL": f"postgres://saleor@{quote(str(directory), safe='')}/saleor",
    "SECRET_KEY": "of-the-test-shop",
    "DEBUG": "False",
    "ALLOWED_HOSTS": "127.0.0.1",
    "ALLOWED_CLIENT_HOSTS": "127.0.0.1",
    "RSA_PRIVATE_KEY": key(),
    "DEFAULT_CURRENCY": "USD",
    "PUBLIC_URL": f"http://127.0.0.1:{port or 80}/",
    # The app that takes payments listens on this machine.
    "HTTP_IP_FILTER_ENABLED": "False",
    "OTEL_SDK_DISABLED": "true",
}
import django  # noqa: E402

django.setup()

# Title, price, number in stock.
GOODS = [
    ("Cotton socks", "7.50", 100_000),
    ("Cotton mug cosy", "12.00", 100_000),
    ("Cotton robe", "89.00", 0),
    ("Cotton towel", "19.90", 40),
    ("Cotton scarf", "24.95", 40),
    ("Cotton apron", "31.00", 40),
    ("Cotton bag", "4.99", 40),
    ("Cotton sheet", "45.50", 40),
    ("Cotton cushion", "29.00", 40),
    ("Cotton blanket", "119.00", 40),
    ("Cotton napkin", "3.25", 40),
    ("Linen tablecloth", "59.00", 40),
]
SIZES, COLOURS = ["S", "M", "L"], ["Red", "Blue"]
# What there is of the shirt, and how many; other combinations do not exist.
SHIRT = {("S", "Red"): 50, ("M", "Red"): 0, ("L", "Red"): 50, ("S", "Blue"): 50, ("M", "Blue"): 50}
SUBSCRIPTION = """subscription { event { ... on %s {
  idempotencyKey data action { amount actionType }
} } }"""
REFUND = """subscription { event { ... on %s { action { amount actionType } } } }"""


def sample():
    """Makes the goods; the first product and its variant have the number 1."""
    from datetime import UTC, datetime

    from saleor.permission.models import Permission
    from django.core.management import call_command
    from saleor.account.models import Address
    from saleor.app.models import App, AppToken
    from saleor.attribute.models import Attribute, AttributeValue
    from saleor.attribute.utils import associate_attribute_values_to_instance
    from saleor.channel.models import Channel
    from saleor.discount.models import Voucher, VoucherChannelListing, VoucherCode
    from saleor.giftcard.models import GiftCard
    from saleor.product.models import (
        Category,
        Product,
        ProductChannelListing,
        ProductType,
        ProductVariant,
        ProductVariantChannelListing,
    )
    from saleor.product.search import update_products_search_vector
    from saleor.shipping.models import ShippingMethod, ShippingMethodChannelListing, ShippingZone
    from saleor.tax.models import TaxConfiguration
    from saleor.warehouse.models import Stock, Warehouse

    call_command("migrate", verbosity=0)
    channel, _ = Channel.objects.update_or_create(
        slug="default-channel",
        defaults={"name": "Main", "currency_code": "USD", "default_country": "US", "is_active": True},
    )
    TaxConfiguration.objects.update_or_create(
        channel=channel, defaults={"charge_taxes": False, "prices_entered_with_tax": True, "display_gross_prices": True}
    )
    # What a new shop has by itself.
    ShippingZone.objects.all().delete()
    Warehouse.objects.all().delete()
    home = Address.objects.create(street_address_1="1 Depot St", city="Eugene", country_area="OR", postal_code="97401", country="US")
    zone = ShippingZone.objects.create(name="World", countries=["US", "AT"])
    zone.channels.add(channel)
    warehouse = Warehouse.objects.create(name="Warehouse", slug="warehouse", address=home)
    warehouse.shipping_zones.add(zone)
    warehouse.channels.add(channel)
    for name, price in [("Standard", "4.90"), ("Express", "14.90")]:
        method = ShippingMethod.objects.create(name=name, type="price", shipping_zone=zone)
        ShippingMethodChannelListing.objects.create(
            shipping_method=method, channel=channel, currency="USD", price_amount=price, minimum_order_price_amount=0
        )
    category = Category.objects.create(name="Textiles", slug="textiles")
    attributes = []
    for name, values in [("Size", SIZES), ("Colour", COLOURS)]:
        attribute = Attribute.objects.create(name=name, slug=f"shirt-{name.lower()}", type="product-type", input_type="dropdown")
        for value in values:
            AttributeValue.objects.create(attribute=attribute, name=value, slug=value.lower())
        attributes.append(attribute)
    plain = ProductType.objects.create(name="Goods", slug="goods", kind="normal", has_variants=False, is_shipping_required=True)
    chosen = ProductType.objects.create(name="Shirts", slug="shirts", kind="normal", has_variants=True, is_shipping_required=True)
    for attribute in attributes:
        chosen.variant_attributes.add(attribute, through_defaults={"variant_selection": True})

    def product(name, slug, kind):
        text = {"blocks": [{"type": "paragraph", "data": {"text": f"{name} of good quality."}}]}
        made = Product.objects.create(name=name, slug=slug, product_type=kind, category=category, description=text)
        ProductChannelListing.objects.create(
            product=made, channel=channel, currency="USD", is_published=True, visible_in_listings=True,
            published_at=datetime(2020, 1, 1, tzinfo=UTC), available_for_purchase_at=datetime(2020, 1, 1, tzinfo=UTC),
        )
        return made

    def variant(of, sku, price, number):
        made = ProductVariant.objects.create(product=of, sku=sku, name=sku)
        ProductVariantChannelListing.objects.create(
            variant=made, channel=channel, currency="USD", price_amount=price, discounted_price_amount=price
        )
        Stock.objects.create(warehouse=warehouse, product_variant=made, quantity=number)
        listing = of.channel_listings.get()
        if listing.discounted_price_amount is None or Decimal(price) < listing.discounted_price_amount:
            listing.discounted_price_amount = Decimal(price)
            listing.save()
        return made

    for number, (name, price, left) in enumerate(GOODS, 1):
        variant(product(name, f"up{number}", plain), f"UP{number}", price, left)
    shirt = product("Cotton shirt", "shirt", chosen)
    for number, ((size, colour), left) in enumerate(SHIRT.items(), 1):
        made_variant = variant(shirt, f"SHIRT-{number}", "27.50" if size == "L" else "25.00", left)
        values = {attribute.pk: [attribute.values.get(name=value)] for attribute, value in zip(attributes, (size, colour), strict=True)}
        associate_attribute_values_to_instance(made_variant, values)
    update_products_search_vector(list(Product.objects.values_list("pk", flat=True)))
    voucher = Voucher.objects.create(name="Welcome", type="entire_order", discount_value_type="percentage")
    VoucherCode.objects.create(voucher=voucher, code="WELCOME10")
    VoucherChannelListing.objects.create(voucher=voucher, channel=channel, currency="USD", discount_value=10)
    for number in range(1, 4):
        GiftCard.objects.create(
            code=f"GIFT-0000-000{number}", currency="USD", initial_balance_amount=5, current_balance_amount=5, is_active=True
        )
    app = App.objects.create(name="Cards", identifier="com.example.cards", is_active=True, type="local")
    app.permissions.set(Permission.objects.filter(codename__in=["handle_payments", "manage_checkouts", "manage_orders"]))
    AppToken.objects.create(app=app, auth_token=TOKEN)


class Payments(BaseHTTPRequestHandler):
    """The app that takes payments: it reads the token that the platform submitted, and charges once per idempotency key."""

    def do_POST(self):
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = (told[0] if isinstance(told, list) else told)
        action = asked.get("action") or {}
        event = self.headers.get("Saleor-Event", "")
        if "session" in event:
            paid = (asked.get("data") or {}).get("token") == "success_token"
            answer = {"result": "CHARGE_SUCCESS" if paid else "CHARGE_FAILURE", "amount": str(action["amount"])}
            answer |= {"pspReference": asked["idempotencyKey"], "message": "" if paid else "The card was declined."}
        else:
            answer = {"result": "REFUND_SUCCESS", "amount": str(action["amount"]), "pspReference": f"refund-{time.time_ns()}"}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing about requests."""


def payments():
    """Starts the app, and tells the shop where it listens."""
    from saleor.app.models import App
    from saleor.webhook.models import Webhook, WebhookEvent

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Payments)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    Webhook.objects.all().delete()
    app = App.objects.get()
    for event, kind, query in [
        ("transaction_initialize_session", "TransactionInitializeSession", SUBSCRIPTION),
        ("transaction_refund_requested", "TransactionRefundRequested", REFUND),
    ]:
        url = f"http://127.0.0.1:{listening.server_port}/"
        webhook = Webhook.objects.create(app=app, target_url=url, name=event, subscription_query=query % kind)
        WebhookEvent.objects.create(webhook=webhook, event_type=event)


def end(status=0):
    """Ends the server in good order, and this process."""
    server.send_signal(signal.SIGINT)
    server.wait(timeout=60)
    sys.exit(status)


if not made.exists():
    sample()
    made.touch()
if port is None:
    end()
payments()

import uvicorn  # noqa: E402


class Server(uvicorn.Server):
    """Says where it listens."""

    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(f"http://127.0.0.1:{port}/graphql/", flush=True)


try:
    Server(uvicorn.Config("saleor.asgi:application", host="127.0.0.1", port=port, log_level="warning", lifespan="off")).run()
finally:
    end()

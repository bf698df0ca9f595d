"""A shop made with django-oscar and its API, django-oscar-api, as their documentation sets them up, with sample goods.

    shop.py DIRECTORY PORT

The database is in the directory, and is made where there is none. The shop says where it listens once it does.
"""

import re
import sys
from decimal import Decimal
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

directory, port = Path(sys.argv[1]).resolve(), sys.argv[2]
directory.mkdir(parents=True, exist_ok=True)
database = directory / "shop.sqlite3"

import django  # noqa: E402
import oscar  # noqa: E402
from django.conf import settings  # noqa: E402
from oscar import defaults  # noqa: E402

APPS = "address analytics basket catalogue catalogue.reviews checkout communication customer dashboard dashboard.catalogue \
dashboard.communications dashboard.offers dashboard.orders dashboard.pages dashboard.partners dashboard.ranges \
dashboard.reports dashboard.reviews dashboard.shipping dashboard.users dashboard.vouchers offer order partner payment \
search shipping voucher wishlists"


def configured(name):
    """The application of Oscar with its configuration, the last class of its module."""
    text = (Path(oscar.__file__).parent / "apps" / name.replace(".", "/") / "apps.py").read_text()
    config = re.findall(r"^class (\w+)", text, re.MULTILINE)[-1]
    return f"oscar.apps.{name}.apps.{config}"


class NoMigrations(dict):
    """Tables are made from the models at once."""

    def __contains__(self, _):
        return True

    def __getitem__(self, _):
        return None


settings.configure(
    **{name: getattr(defaults, name) for name in dir(defaults) if name.startswith("OSCAR_")}
    | {
        "OSCAR_DEFAULT_CURRENCY": "USD",
        "OSCAR_ALLOW_ANON_CHECKOUT": True,
        # Orders are looked up by the staff's part of the API, some at a time.
        "OSCARAPI_BLOCK_ADMIN_API_ACCESS": False,
        "REST_FRAMEWORK": {
            "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
            "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
        },
        "SECRET_KEY": "of-the-test-shop",
        "ALLOWED_HOSTS": ["127.0.0.1"],
        "ROOT_URLCONF": __name__,
        "SITE_ID": 1,
        "USE_TZ": True,
        "DEFAULT_AUTO_FIELD": "django.db.models.BigAutoField",
        "MIGRATION_MODULES": NoMigrations(),
        "DATABASES": {
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": str(database),
                "ATOMIC_REQUESTS": True,
                "OPTIONS": {"timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"},
            }
        },
        "HAYSTACK_CONNECTIONS": {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
        "INSTALLED_APPS": [
            *(f"django.contrib.{name}" for name in "auth contenttypes sessions sites messages flatpages".split()),
            "oscar.config.Shop",
            *map(configured, APPS.split()),
            *"widget_tweaks haystack treebeard django_tables2 rest_framework oscarapi".split(),
        ],
        "MIDDLEWARE": [
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
    }
)
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402
from oscar.apps.catalogue.categories import create_from_breadcrumbs  # noqa: E402
from oscar.apps.shipping.methods import FixedPrice  # noqa: E402
from oscar.apps.shipping.repository import Repository  # noqa: E402
from oscar.core.loading import get_model  # noqa: E402

urlpatterns = [path("api/", include("oscarapi.urls"))]


class Standard(FixedPrice):
    code, name, description = "standard", "Standard", "Within a week"
    charge_excl_tax = charge_incl_tax = Decimal("4.90")


class Express(FixedPrice):
    code, name, description = "express", "Express", "The next day"
    charge_excl_tax = charge_incl_tax = Decimal("14.90")


Repository.methods = (Standard(), Express())

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


def sample():
    """Makes the goods; the first has the number 1."""
    product_class = get_model("catalogue", "ProductClass").objects.create(name="Goods", track_stock=True)
    attributes = get_model("catalogue", "ProductAttribute").objects
    size, colour = (
        attributes.create(product_class=product_class, name=name, code=name.lower(), type="text")
        for name in ("Size", "Colour")
    )
    partner = get_model("partner", "Partner").objects.create(name="Warehouse")
    stock, products = get_model("partner", "StockRecord").objects, get_model("catalogue", "Product").objects
    home = create_from_breadcrumbs("Home > Textiles")

    def stocked(product, price, number):
        stock.create(product=product, partner=partner, partner_sku=product.upc, price=Decimal(price),
                     price_currency="USD", num_in_stock=number)

    for number, (title, price, left) in enumerate(GOODS, 1):
        product = products.create(structure="standalone", product_class=product_class, title=title,
                                  upc=f"UP{number:04}", description=f"<p>{title}, of good quality.</p>")
        product.categories.add(home)
        stocked(product, price, left)
    shirt = products.create(structure="parent", product_class=product_class, title="Cotton shirt",
                            upc="SHIRT", description="<p>A shirt in sizes and colours.</p>")
    shirt.categories.add(home)
    for number, ((a_size, a_colour), left) in enumerate(SHIRT.items(), 1):
        child = products.create(structure="child", parent=shirt, title=f"Cotton shirt {a_size} {a_colour}",
                                upc=f"SHIRT-{number}")
        size.save_value(child, a_size)
        colour.save_value(child, a_colour)
        stocked(child, "25.00" if a_size != "L" else "27.50", left)
    countries = get_model("address", "Country").objects
    for code, iso3, number, name in [("US", "USA", "840", "United States"), ("AT", "AUT", "040", "Austria")]:
        countries.create(iso_3166_1_a2=code, iso_3166_1_a3=iso3, iso_3166_1_numeric=number, printable_name=name,
                         name=name, is_shipping_country=True)
    get_user_model().objects.create_superuser("staff", "staff@example.com", "staff-password")


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128


class Handler(WSGIRequestHandler):
    def log_message(self, *_):
        """Says nothing about requests."""


if __name__ == "__main__":
    if not database.exists():
        call_command("migrate", run_syncdb=True, verbosity=0)
        sample()
    server = Server(("127.0.0.1", int(port)), Handler)
    server.set_app(get_wsgi_application())
    print(f"http://127.0.0.1:{server.server_port}/api/", flush=True)
    server.serve_forever()

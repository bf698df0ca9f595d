"""A shop made with Salesman, as its documentation sets one up, with sample goods.

    shop.py DIRECTORY PORT

Salesman has baskets, checkout and orders; goods, deliveries, discounts and payments are the project's. The database is in the
directory, and is made where there is none. The shop says where it listens once it does.
"""

import sys
from decimal import Decimal
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

directory, port = Path(sys.argv[1]).resolve(), sys.argv[2]
directory.mkdir(parents=True, exist_ok=True)
database = directory / "shop.sqlite3"

import django  # noqa: E402
from django.conf import settings  # noqa: E402


class NoMigrations(dict):
    """Tables are made from the models at once."""

    def __contains__(self, _):
        return True

    def __getitem__(self, _):
        return None


settings.configure(
    SALESMAN_PRODUCT_TYPES={"goods.Variant": "goods.serializers.VariantSerializer"},
    SALESMAN_BASKET_MODIFIERS=["goods.selling.Welcome", "goods.selling.Delivery"],
    SALESMAN_BASKET_ITEM_VALIDATOR="goods.selling.in_stock",
    SALESMAN_PAYMENT_METHODS=["goods.selling.OnAccount"],
    REST_FRAMEWORK={
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
        "PAGE_SIZE": 100,
    },
    SECRET_KEY="of-the-test-shop",
    # The staff's password comes with every request.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    MIGRATION_MODULES=NoMigrations(),
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(database),
            "ATOMIC_REQUESTS": True,
            "OPTIONS": {"timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"},
        }
    },
    INSTALLED_APPS=[
        *(f"django.contrib.{name}" for name in "auth contenttypes sessions".split()),
        "goods",
        *(f"salesman.{name}" for name in "core basket checkout orders".split()),
        "rest_framework",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
)
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402
from goods.models import Product  # noqa: E402
from goods.selling import DELIVERED_TO, DELIVERIES  # noqa: E402
from goods.serializers import ProductSerializer  # noqa: E402
from rest_framework import viewsets  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.routers import DefaultRouter  # noqa: E402
from salesman.urls import urlpatterns as salesman_urls  # noqa: E402


class Products(viewsets.ReadOnlyModelViewSet):
    serializer_class = ProductSerializer

    def get_queryset(self):
        products = Product.objects.prefetch_related("variants")
        for word in self.request.GET.get("search", "").split():
            products = products.filter(title__icontains=word)
        numbers = self.request.GET.getlist("id")
        return products.filter(id__in=[number for number in numbers if number.isdigit()]) if numbers else products


class Deliveries(viewsets.ViewSet):
    def list(self, request):
        reached = request.GET.get("country") in DELIVERED_TO
        return Response([{"code": code, "name": name, "price": str(price)} for code, (name, price) in DELIVERIES.items() if reached])


router = DefaultRouter()
router.register("products", Products, basename="products")
router.register("deliveries", Deliveries, basename="deliveries")
urlpatterns = [path("api/", include(router.urls + salesman_urls))]

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
# What there is of the shirt, and how many; other combinations do not exist.
SHIRT = {("S", "Red"): 50, ("M", "Red"): 0, ("L", "Red"): 50, ("S", "Blue"): 50, ("M", "Blue"): 50}


def sample():
    """Makes the goods; the first has the number 1."""

    def made(title):
        return Product.objects.create(title=title, text=f"<p>{title}, of good quality.</p>", category="Textiles")

    for number, (title, price, stock) in enumerate(GOODS, 1):
        made(title).variants.create(code=f"UP{number:04}", price=Decimal(price), stock=stock)
    shirt = made("Cotton shirt")
    for number, ((size, colour), stock) in enumerate(SHIRT.items(), 1):
        price = Decimal("27.50" if size == "L" else "25.00")
        shirt.variants.create(code=f"SHIRT-{number}", options={"Size": size, "Colour": colour}, price=price, stock=stock)
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

"""A shop made with Tryton, as its own scenarios set it up, with sample goods, behind examples/tryton.py.

    shop.py DIRECTORY PORT

The database is in the directory, and is made where there is none. The shop says where it listens once it does.
"""

import datetime
import os
import sys
from decimal import Decimal
from pathlib import Path

directory, port = Path(sys.argv[1]).resolve(), sys.argv[2]
adapter = Path(__file__).resolve().parents[3] / "examples" / "tryton.py"
directory.mkdir(parents=True, exist_ok=True)
database, configuration = directory / "shop.sqlite", directory / "trytond.conf"
configuration.write_text(f"[database]\nuri = sqlite://\npath = {directory}\n")

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


def modules():
    """Makes the database with the modules that the adapter needs."""
    from trytond import config

    config.update_etc(str(configuration))
    from trytond.pool import Pool
    from trytond.transaction import Transaction

    database.touch()
    with Transaction().start("shop", 0) as transaction:
        transaction.database.init()
    Pool.start()
    names = ["sale_promotion_coupon", "sale_shipment_cost", "product_attribute"]
    Pool("shop").init(update=[*names, "res", "ir"], lang=["en"], activatedeps=True)


def sample():
    """Makes the company and its goods; the first has the number 1."""
    from proteus import Model, Wizard
    from proteus import config as connection
    from trytond.modules.account.tests.tools import create_chart, get_accounts
    from trytond.modules.company.tests.tools import create_company
    from trytond.modules.currency.tests.tools import get_currency

    settings = connection.set_trytond("shop", config_file=str(configuration))
    Item = Model.get("ir.module.config_wizard.item")
    Item.write([item.id for item in Item.find()], {"state": "done"}, settings.context)
    create_company(currency=get_currency("USD"))
    create_chart()
    Template, Location = Model.get("product.template"), Model.get("stock.location")
    unit, = Model.get("product.uom").find([("name", "=", "Unit")])
    revenue = get_accounts()["revenue"]
    Category = Model.get("product.category")
    accounts = Category(name="Goods", accounting=True, account_revenue=revenue)
    accounts.save()
    home = Category(name="Home")
    home.save()
    textiles = Category(name="Textiles", parent=home)
    textiles.save()
    supplier, = Location.find([("code", "=", "SUP")])
    storage, = Location.find([("code", "=", "STO")])
    currency = get_currency("USD")
    today, Move = datetime.date.today(), Model.get("stock.move")
    moves = []

    def template(title, price, kind, **more):
        made = Template(name=title, default_uom=unit, type=kind, salable=True, list_price=Decimal(price),
                        account_category=accounts, lead_time=datetime.timedelta(0), **more)
        if kind == "goods":
            made.categories.append(Category(textiles.id))
        return made

    def stocked(product, left):
        if left:
            moves.append(Move(product=product, unit=unit, quantity=float(left), from_location=supplier,
                              to_location=storage, effective_date=today, unit_price=Decimal(1), currency=currency))

    for number, (title, price, left) in enumerate(GOODS, 1):
        made = template(title, price, "goods")
        made.products[0].suffix_code, made.products[0].description = f"UP{number:04}", f"{title}, of good quality."
        made.save()
        stocked(made.products[0], left)
    Attribute = Model.get("product.attribute")
    choices = Model.get("product.attribute.set")(name="Clothes")
    for name in "colour", "size":
        attribute = Attribute(name=name, string=name.title(), type_="char")
        attribute.save()
        choices.attributes.append(attribute)
    choices.save()
    shirt = template("Cotton shirt", "25.00", "goods", attribute_set=choices)
    for number, (size, colour) in enumerate(SHIRT, 1):
        product = shirt.products[0] if number == 1 else shirt.products.new()
        product.suffix_code, product.description = f"SHIRT-{number}", "A shirt in sizes and colours."
        product.attributes = {"size": size, "colour": colour}
    shirt.save()
    for product, left in zip(shirt.products, SHIRT.values()):
        stocked(product, left)
    Move.click(moves, "do")

    Country, Party = Model.get("country.country"), Model.get("party.party")
    countries = []
    for code, name in [("US", "United States"), ("AT", "Austria")]:
        countries.append(Country(code=code, name=name))
        countries[-1].save()
    for title, price in [("Standard", "4.90"), ("Express", "14.90")]:
        service = template(title, price, "service")
        service.save()
        party = Party(name=title)
        party.save()
        carrier = Model.get("carrier")(party=party, carrier_product=service.products[0])
        carrier.save()
        for country in countries:
            Model.get("carrier.selection")(carrier=carrier, to_country=country).save()
    promotion = Model.get("sale.promotion")(name="10% off", formula="0.9 * unit_price")
    promotion.coupons.new(number_of_use=0).numbers.new(number="WELCOME10")
    promotion.save()


if __name__ == "__main__":
    if not database.exists():
        # In processes of their own, which leave nothing behind in this one.
        for step in modules, sample:
            child = os.fork()
            if child == 0:
                step()
                os._exit(0)
            if os.waitpid(child, 0)[1] != 0:
                database.unlink(missing_ok=True)
                sys.exit(f"{step.__name__} failed")
    os.environ.update(TRYTOND_CONFIG=str(configuration), TRYTON_DATABASE="shop", PORT=port)
    os.execv(sys.executable, [sys.executable, str(adapter)])

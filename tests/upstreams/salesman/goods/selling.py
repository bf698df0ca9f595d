"""What the shop adds to baskets, and how they are paid."""

from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db.models import F
from rest_framework import serializers
from salesman.basket.modifiers import BasketModifier
from salesman.checkout.payment import PaymentError, PaymentMethod
from salesman.core.utils import get_salesman_model

from .models import Variant

DELIVERED_TO = {"US", "AT"}
DELIVERIES = {"standard": ("Standard", Decimal("4.90")), "express": ("Express", Decimal("14.90"))}


class Welcome(BasketModifier):
    identifier = "welcome"

    def process_basket(self, basket, request):
        if "WELCOME10" in basket.extra.get("codes", []) and basket.subtotal:
            off = -(basket.subtotal / 10).quantize(Decimal("0.01"))
            self.add_extra_row(basket, request, "10% off", off, {"code": "WELCOME10"})


class Delivery(BasketModifier):
    identifier = "delivery"

    def process_basket(self, basket, request):
        chosen = DELIVERIES.get(basket.extra.get("delivery"))
        if chosen and basket.extra.get("country") in DELIVERED_TO:
            self.add_extra_row(basket, request, *chosen)


def in_stock(attrs, context):
    product = attrs.get("product") or context["basket_item"].product
    if attrs.get("quantity", 1) > product.stock:
        raise serializers.ValidationError(f"There are {product.stock} left.")
    return attrs


class OnAccount(PaymentMethod):
    identifier, label = "on_account", "On account"

    def validate_basket(self, basket, request):
        super().validate_basket(basket, request)
        if any(item.quantity > item.product.stock for item in basket.get_items()):
            raise ValidationError("Something is sold out.")

    def basket_payment(self, basket, request):
        agreed = basket.extra.pop("agreed", None)
        if agreed is not None and Decimal(agreed) != basket.total:
            raise PaymentError("The total has changed.")
        for item in basket.get_items():
            Variant.objects.filter(id=item.product_id).update(stock=F("stock") - item.quantity)
        order = get_salesman_model("Order").objects.create_from_basket(basket, request, status="HOLD")
        basket.delete()
        return {"ref": order.ref}

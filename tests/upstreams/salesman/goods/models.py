"""The goods of the shop."""

from django.db import models


class Product(models.Model):
    title = models.CharField(max_length=100)
    text = models.TextField()
    category = models.CharField(max_length=100)

    class Meta:
        ordering = ["id"]


class Variant(models.Model):
    product = models.ForeignKey(Product, models.CASCADE, related_name="variants")
    code = models.CharField(max_length=20)
    options = models.JSONField(default=dict)
    price = models.DecimalField(max_digits=10, decimal_places=2)
    stock = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]

    @property
    def name(self):
        return " ".join([self.product.title, *self.options.values()])

    def get_price(self, _request):
        return self.price

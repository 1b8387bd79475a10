"""The seeded shop: the customers, catalogue, orders and inbox that back-office tasks play in."""

from deskgym.store.shop.price import Line, Priced, price, share
from deskgym.store.shop.records import OrderFacts, Payment, Purchase, order_rows
from deskgym.store.shop.shop import LARGE, SMALL, Size, shop

__all__ = [
    "LARGE",
    "SMALL",
    "Line",
    "OrderFacts",
    "Payment",
    "Priced",
    "Purchase",
    "Size",
    "order_rows",
    "price",
    "share",
    "shop",
]

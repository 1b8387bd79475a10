"""What the shop sells: 25 SKUs of things for kitchen, desk and garden."""

from __future__ import annotations

from typing import Final, NamedTuple

from deskgym.store.change import Row


class Product(NamedTuple):
    """A product and its variants: SKU suffix, name, size, color, price in cents."""

    id: str
    name: str
    product_type: str
    note: str
    variants: tuple[tuple[str, str, str, str, int], ...]


PRODUCTS: Final = (
    Product("P-KETTLE", "Gooseneck kettle", "kettle", "Boils a litre in four minutes.", (
        ("KETTLE-STL", "Brushed steel", "1 l", "steel", 5_400),
        ("KETTLE-BLK", "Matt black", "1 l", "black", 5_900),
    )),
    Product("P-MUG", "Stoneware mug", "mug", "Dishwasher-safe; glazed by hand.", (
        ("MUG-SAND", "Sand glaze", "300 ml", "sand", 1_450),
        ("MUG-FERN", "Fern glaze", "300 ml", "green", 1_450),
        ("MUG-INK", "Ink glaze", "300 ml", "blue", 1_495),
    )),
    Product("P-BOARD", "Chopping board", "board", "End-grain beech, oiled.", (
        ("BOARD-S", "Small", "24 cm", "beech", 2_280),
        ("BOARD-L", "Large", "40 cm", "beech", 3_960),
    )),
    Product("P-SCALE", "Kitchen scale", "scale", "Weighs up to 5 kg; two AAA cells enclosed.", (
        ("SCALE-WHT", "White", "one size", "white", 2_999),
        ("SCALE-GRY", "Grey", "one size", "grey", 2_999),
    )),
    Product("P-CARAFE", "Glass carafe", "carafe", "Borosilicate glass with a cork lid.", (
        ("CARAFE-08", "Small", "0.8 l", "clear", 2_150),
        ("CARAFE-15", "Large", "1.5 l", "clear", 2_875),
    )),
    Product("P-LAMP", "Clamp lamp", "lamp", "Takes an E14 bulb, not included.", (
        ("LAMP-MOSS", "Moss", "one size", "green", 4_800),
        ("LAMP-CHALK", "Chalk", "one size", "white", 4_800),
    )),
    Product("P-TRAY", "Letter tray", "tray", "Stacks; powder-coated wire.", (
        ("TRAY-BRASS", "Brass", "A4", "brass", 1_875),
        ("TRAY-SLATE", "Slate", "A4", "grey", 1_780),
    )),
    Product("P-STOOL", "Step stool", "stool", "Carries 150 kg; folds flat.", (
        ("STOOL-OAK", "Oak", "45 cm", "oak", 6_450),
        ("STOOL-ASH", "Ash", "45 cm", "ash", 6_150),
    )),
    Product("P-BLANKET", "Wool blanket", "blanket", "Lambswool, woven in one piece.", (
        ("BLANKET-RUST", "Rust", "130 x 180 cm", "rust", 8_900),
        ("BLANKET-FOG", "Fog", "130 x 180 cm", "grey", 8_900),
    )),
    Product("P-PLANTER", "Clay planter", "planter", "Frost-proof; comes with a saucer.", (
        ("PLANTER-14", "Small", "14 cm", "terracotta", 1_190),
        ("PLANTER-22", "Large", "22 cm", "terracotta", 2_090),
    )),
    Product("P-SHEARS", "Garden shears", "shears", "Carbon steel; the spring can be replaced.", (
        ("SHEARS-STD", "Standard", "20 cm", "green", 2_640),
    )),
    Product("P-CLOCK", "Wall clock", "clock", "Silent movement; one AA cell.", (
        ("CLOCK-PINE", "Pine", "28 cm", "pine", 3_725),
        ("CLOCK-TEAL", "Teal", "28 cm", "teal", 3_725),
    )),
    Product("P-GRINDER", "Coffee grinder", "grinder", "Conical burrs, 18 settings.", (
        ("GRINDER-HND", "Hand", "one size", "steel", 7_250),
    )),
)  # fmt: skip

PRICES: Final = {item[0]: item[4] for product in PRODUCTS for item in product.variants}
PRODUCT_OF: Final = {item[0]: product for product in PRODUCTS for item in product.variants}
SKUS: Final = tuple(PRICES)
NOUNS: Final = {sku: product.name.lower() for sku, product in PRODUCT_OF.items()}


def unit_cost_cents(sku: str) -> int:
    """What a piece costs to buy: 45 % of its price, in tens of cents."""
    return PRICES[sku] * 45 // 1_000 * 10


def catalogue_rows() -> dict[str, list[Row]]:
    """Products, variants and a full stock."""
    variants: list[Row] = []
    stock: list[Row] = []
    for product in PRODUCTS:
        for sku, name, size, color, cents in product.variants:
            priority = len(stock) + 1
            variants.append((sku, product.id, name, size, color, cents))
            stock.append((sku, 40, 10, 50, priority, unit_cost_cents(sku)))
    return {
        "products": [item[:4] for item in PRODUCTS],
        "variants": variants,
        "inventory": stock,
    }

"""Makes every file of sample_data/: `python tests/make_sample_data.py [FOLDER]`.

The files are checked in and must come out the same anywhere, so what is random is made of `random.random` (its stream
is fixed for good, unlike that of numpy's generators), sums and products, exactly rounded: no call into the C library's
mathematics or into BLAS, whose last bit differs between machines.
"""

from __future__ import annotations

import csv
import datetime
import io
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

SAMPLE_DATA = Path(__file__).resolve().parents[1] / "sample_data"

HOUSES = [(10, 10), (2, 2), (7, 7), (1, 1), (5, 5)]  # the lecture's worked example

ORDERS = 200
MEASURES = ("items", "weight_kg", "volume_l", "net_price", "shipping", "days_to_deliver")
CUSTOMERS = [
    "Ada Berg",
    "Brook, Hill & Sons",
    'Café "Zur Post"',
    "Dr. Emil O'Hara",
    "Fjord Fisk AS",
    "Grün, Lang\nLager 2",
    "Hana Sato",
]
REMARKS = [
    "",
    "call before delivery",
    "fragile, keep upright",
    'marked "urgent" by the customer',
    "leave at the back door,\nnot with the neighbour",
]

EMBEDDINGS = 300
DIMENSIONS = 16
TOPICS = {"bread": "warm crusty whole sour", "boats": "fast slow wooden blue", "birds": "small grey loud rare"}
READERS, BOOKS = 150, 60
STARS = 0.3  # of all readers and books, how many have a rating

SHARED = 2  # directions every text varies along, whatever its topic


def bell(random: Random) -> float:
    """Mean 0, variance 1, nearly normal: a sum of twelve uniform numbers."""
    return math.fsum(random.random() for _ in range(12)) - 6.0


def below(n: int, random: Random) -> int:
    """A whole number from 0 to n - 1."""
    return int(random.random() * n)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def houses() -> str:
    return csv_text(("price", "area"), HOUSES)


def digits() -> str:
    """The handwritten digits, from the copy that comes with scikit-learn."""
    from sklearn.datasets import load_digits

    found = load_digits()
    pixels, labels = found.data.astype(int).tolist(), found.target.tolist()
    header = [f"p{j}" for j in range(len(pixels[0]))] + ["digit"]
    return csv_text(header, ([*row, label] for row, label in zip(pixels, labels, strict=True)))


def orders() -> str:
    """Parcels: six numeric columns that follow size and distance, among ids, dates, text and holes."""
    random = Random(20240311)
    day = datetime.date(2024, 3, 11)
    rows = []
    for number in range(ORDERS):
        size, distance = bell(random), bell(random)
        customer = below(len(CUSTOMERS), random)
        measures = [
            f"{max(1, round(6 + 2 * size + 0.6 * bell(random)))}",
            f"{max(0.2, 9 + 3 * size + 0.8 * bell(random)):.2f}",
            f"{max(0.5, 30 + 9 * size + 3 * bell(random)):.1f}",
            f"{max(5, 120 + 35 * size + 12 * bell(random)):.2f}",
            f"{max(2, 14 + 3 * size + 2.5 * distance + bell(random)):.2f}",
            f"{max(1, round(5 + 1.5 * distance + 0.5 * bell(random)))}",
        ]
        if random.random() < 0.08:
            measures[below(len(measures), random)] = ["", "NA"][below(2, random)]
        remark = REMARKS[below(len(REMARKS), random)]
        day += datetime.timedelta(days=below(3, random))
        rows.append([f"A-{1001 + number}", 501 + customer, day, CUSTOMERS[customer], *measures, remark])
    return csv_text(("order_id", "customer_id", "ordered", "customer", *MEASURES, "remark"), rows)


def embeddings() -> pa.Table:
    """Vectors of 16 numbers near a subspace of four dimensions: which of three topics, and two shared directions."""
    random = Random(16)
    kinds = list(TOPICS)
    directions = [[bell(random) for _ in range(DIMENSIONS)] for _ in range(len(kinds) + SHARED)]
    texts, vectors = [], []
    for _ in range(EMBEDDINGS):
        topic = below(len(kinds), random)
        words = TOPICS[kinds[topic]].split()
        texts.append(f"{words[below(len(words), random)]} {kinds[topic]}")
        weights = [float(topic == j) for j in range(len(kinds))] + [0.4 * bell(random) for _ in range(SHARED)]
        noise = [0.02 * bell(random) for _ in range(DIMENSIONS)]
        vectors.append(
            [
                math.fsum([*(w * direction[i] for w, direction in zip(weights, directions, strict=True)), noise[i]])
                for i in range(DIMENSIONS)
            ]
        )
    return pa.table(
        {
            "id": pa.array(range(1, EMBEDDINGS + 1), pa.int64()),
            "text": pa.array(texts, pa.string()),
            "embedding": pa.array(vectors, pa.list_(pa.float32(), DIMENSIONS)),
        }
    )


def ratings() -> str:
    """Stars from 1 to 5: each reader's mood and two tastes, each book's quality and what it has of these, and noise."""
    random = Random(480189)
    books = [(bell(random), bell(random), bell(random)) for _ in range(BOOKS)]
    rows = []
    for reader in range(READERS):
        mood, romance, crime = bell(random), bell(random), bell(random)
        for book, (quality, love, murder) in enumerate(books):
            liking = 3.2 + 0.5 * mood + 0.4 * quality + 0.7 * romance * love + 0.6 * crime * murder
            stars = min(5, max(1, round(2 * (liking + 0.3 * bell(random))) / 2))
            if random.random() < STARS:
                rows.append((random.random(), f"reader-{reader + 1}", f"book-{book + 1}", f"{stars:g}"))
    return csv_text(("reader", "book", "stars"), (row for _, *row in sorted(rows)))


TEXTS = {"houses.csv": houses, "digits.csv": digits, "orders.csv": orders, "ratings.csv": ratings}
TABLES = {"embeddings.parquet": embeddings}


def main(folder: Path = SAMPLE_DATA) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        (folder / name).write_bytes(text().encode())
    for name, table in TABLES.items():
        pq.write_table(table(), folder / name)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

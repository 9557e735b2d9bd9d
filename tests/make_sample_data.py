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

# Reported crimes per 100,000 people in the 50 states of the USA in 1977, as the SAS/STAT User's Guide has them (The
# PRINCOMP Procedure, Getting Started).
CRIME = """\
state,murder,rape,robbery,assault,burglary,larceny,auto_theft
Alabama,14.2,25.2,96.8,278.3,1135.5,1881.9,280.7
Alaska,10.8,51.6,96.8,284.0,1331.7,3369.8,753.3
Arizona,9.5,34.2,138.2,312.3,2346.1,4467.4,439.5
Arkansas,8.8,27.6,83.2,203.4,972.6,1862.1,183.4
California,11.5,49.4,287.0,358.0,2139.4,3499.8,663.5
Colorado,6.3,42.0,170.7,292.9,1935.2,3903.2,477.1
Connecticut,4.2,16.8,129.5,131.8,1346.0,2620.7,593.2
Delaware,6.0,24.9,157.0,194.2,1682.6,3678.4,467.0
Florida,10.2,39.6,187.9,449.1,1859.9,3840.5,351.4
Georgia,11.7,31.1,140.5,256.5,1351.1,2170.2,297.9
Hawaii,7.2,25.5,128.0,64.1,1911.5,3920.4,489.4
Idaho,5.5,19.4,39.6,172.5,1050.8,2599.6,237.6
Illinois,9.9,21.8,211.3,209.0,1085.0,2828.5,528.6
Indiana,7.4,26.5,123.2,153.5,1086.2,2498.7,377.4
Iowa,2.3,10.6,41.2,89.8,812.5,2685.1,219.9
Kansas,6.6,22.0,100.7,180.5,1270.4,2739.3,244.3
Kentucky,10.1,19.1,81.1,123.3,872.2,1662.1,245.4
Louisiana,15.5,30.9,142.9,335.5,1165.5,2469.9,337.7
Maine,2.4,13.5,38.7,170.0,1253.1,2350.7,246.9
Maryland,8.0,34.8,292.1,358.9,1400.0,3177.7,428.5
Massachusetts,3.1,20.8,169.1,231.6,1532.2,2311.3,1140.1
Michigan,9.3,38.9,261.9,274.6,1522.7,3159.0,545.5
Minnesota,2.7,19.5,85.9,85.8,1134.7,2559.3,343.1
Mississippi,14.3,19.6,65.7,189.1,915.6,1239.9,144.4
Missouri,9.6,28.3,189.0,233.5,1318.3,2424.2,378.4
Montana,5.4,16.7,39.2,156.8,804.9,2773.2,309.2
Nebraska,3.9,18.1,64.7,112.7,760.0,2316.1,249.1
Nevada,15.8,49.1,323.1,355.0,2453.1,4212.6,559.2
New Hampshire,3.2,10.7,23.2,76.0,1041.7,2343.9,293.4
New Jersey,5.6,21.0,180.4,185.1,1435.8,2774.5,511.5
New Mexico,8.8,39.1,109.6,343.4,1418.7,3008.6,259.5
New York,10.7,29.4,472.6,319.1,1728.0,2782.0,745.8
North Carolina,10.6,17.0,61.3,318.3,1154.1,2037.8,192.1
North Dakota,0.9,9.0,13.3,43.8,446.1,1843.0,144.7
Ohio,7.8,27.3,190.5,181.1,1216.0,2696.8,400.4
Oklahoma,8.6,29.2,73.8,205.0,1288.2,2228.1,326.8
Oregon,4.9,39.9,124.1,286.9,1636.4,3506.1,388.9
Pennsylvania,5.6,19.0,130.3,128.0,877.5,1624.1,333.2
Rhode Island,3.6,10.5,86.5,201.0,1489.5,2844.1,791.4
South Carolina,11.9,33.0,105.9,485.3,1613.6,2342.4,245.1
South Dakota,2.0,13.5,17.9,155.7,570.5,1704.4,147.5
Tennessee,10.1,29.7,145.8,203.9,1259.7,1776.5,314.0
Texas,13.3,33.8,152.4,208.2,1603.1,2988.7,397.6
Utah,3.5,20.3,68.8,147.3,1171.6,3004.6,334.5
Vermont,1.4,15.9,30.8,101.2,1348.2,2201.0,265.2
Virginia,9.0,23.3,92.1,165.7,986.2,2521.2,226.7
Washington,4.3,39.6,106.2,224.8,1605.6,3386.9,360.3
West Virginia,6.0,13.2,42.2,90.9,597.4,1341.7,163.3
Wisconsin,2.8,12.9,52.2,63.7,846.9,2614.2,220.7
Wyoming,5.4,21.9,39.7,173.9,811.6,2772.2,282.0
"""

# Points, assists and rebounds of 20 basketball players: https://www.statology.org/principal-components-analysis-in-sas/.
PLAYERS = """\
points,assists,rebounds
22,8,4
29,7,3
10,4,12
5,5,15
35,6,2
8,3,10
10,4,8
8,4,3
2,5,17
4,5,19
9,9,4
7,6,4
31,5,3
4,6,13
5,7,8
8,8,4
10,4,8
20,4,6
25,8,8
18,8,3
"""

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


def crime() -> str:
    return CRIME


def players() -> str:
    return PLAYERS


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


TEXTS = {
    "houses.csv": houses, "players.csv": players, "crime.csv": crime, "digits.csv": digits, "orders.csv": orders,
    "ratings.csv": ratings,
}  # fmt: skip
TABLES = {"embeddings.parquet": embeddings}


def main(folder: Path = SAMPLE_DATA) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        (folder / name).write_bytes(text().encode())
    for name, table in TABLES.items():
        pq.write_table(table(), folder / name)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

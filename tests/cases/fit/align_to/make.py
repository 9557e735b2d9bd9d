"""Two nights of three sensors; the larger of two that vary nearly alike is another one on the second night."""

from pathlib import Path

for night, sizes in enumerate(((60, 41, 40), (60, 40, 41)), 1):
    with Path(f"night{night}.csv").open("w") as file:
        print("a,b,c", file=file)
        for j, size in enumerate(sizes):
            for sign in (1, -1):
                print(*(sign * size * (i == j) for i in range(3)), sep=",", file=file)

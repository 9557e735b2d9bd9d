"""Kernel PCA from a few landmarks that stand for all rows (Nystroem)."""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array, block_rows
from pcatool.kernels.base import ColumnMoments, Preparation, Prepared
from pcatool.kernels.eigen import check_finite
from pcatool.kernels.nystroem import Draw, LandmarkPart, Landmarks, gathered, result_bytes
from pcatool.linalg.certificate import certify, fix_signs
from pcatool.methods.base import Fit
from pcatool.methods.kernel_exact import exact
from pcatool.methods.kernel_task import NYSTROEM, Data, KernelTask, Solved
from pcatool.progress import doing
from pcatool.solvers.rows import Rows

__all__ = ["by_landmarks"]


def by_landmarks(task: KernelTask, data: Data, rows: Rows, m: int) -> Fit:
    """From m rows drawn at random (Nystroem), in two passes."""
    rows.several_passes()
    doing("pass 1 of 2")
    draw, moments = _first_pass(task, rows, data.d, m)
    if draw.seen <= m:  # every row is a landmark
        return exact(task, data, draw.rows)
    task.check_rows(draw.seen, m)
    prepared = task.preparation(data, moments)

    def known(X: Array) -> Prepared:
        Y = prepared.apply(X)
        return Prepared(Y, prepared.rounding(X, Y, draw.seen, mean_matters=task.mean_matters(data.kernel)))

    landmarks = Landmarks(data.kernel, known(draw.rows), data.supply.run, centred=task.options.center)
    if landmarks.negative:
        task.warn_negative(data.kernel, landmarks.negative, m, landmarks.lowest)
    doing("pass 2 of 2")
    part = gathered(rows.map(lambda X, _: landmarks.part(known(X)), size=result_bytes(m)))
    over = draw.seen - task.options.ddof
    S = (part.moments.scatter if task.options.center else part.moments.scatter_about_zero()) / over
    return _fit_features(task, data, prepared, landmarks, draw, S, part)


def _first_pass(task: KernelTask, rows: Rows, d: int, m: int) -> tuple[Draw, ColumnMoments]:
    """The landmarks, and the moments of all columns."""
    origin = task.rows_centred(rows.origin[None])[0]
    draw = Draw(m, d, task.options.seed)
    parts: list[ColumnMoments] = []

    def look(X: Array, _: Array | None) -> tuple[Array, ColumnMoments]:
        return X, ColumnMoments.of_block(task.rows_centred(X), origin)

    for X, part in rows.map(look, size=8 * block_rows(d) * d):
        draw.add(X)
        parts = [ColumnMoments.gather([*parts, part])]
    return draw, parts[0]


def _fit_features(
    task: KernelTask, data: Data, prepared: Preparation, landmarks: Landmarks, draw: Draw, S: Array, part: LandmarkPart
) -> Fit:
    """PCA of phi, whose covariance is S (r, r)."""
    m, total = len(landmarks.L), float(np.trace(S))
    if not np.isfinite(total):  # other rows may lie farther out than the landmarks
        check_finite(S, data.kernel.settings.name)
    task.check_rank(int(total > 0))
    doing("solving")
    spectrum = landmarks.spectrum(S, part.doubt)
    task.check_rank(spectrum.rank)
    more = np.zeros(m - len(spectrum.eigenvalues))
    values = np.concatenate([spectrum.eigenvalues, more])
    error = np.concatenate([spectrum.error, more])
    reason = f"{m} landmarks of {draw.seen} rows, as asked for"
    solved = Solved(NYSTROEM, reason, values, error, total, spectrum.rank, draw.seen, m)
    evidence, choice = task.decide(solved)
    k = min(choice.k, len(spectrum.eigenvalues))
    W = spectrum.leading(k)
    certificate = certify(lambda B: S @ B, values, error, W, total, True)
    D = np.zeros((m, choice.k))
    D[:, :k] = landmarks.F @ W * np.sqrt(values[:k] * (draw.seen - task.options.ddof))
    means = part.sums / draw.seen if task.options.center else np.zeros(m)
    return Fit(task.model(data, prepared, solved, choice, certificate, draw.rows, fix_signs(D), means), evidence)

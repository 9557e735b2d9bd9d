"""The record of a kernel model: it cannot be built wrong, and a hostile file ends in one sentence."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from kernels.helpers import GRAPHS, cloud, fit, kernel_of
from pcatool.arrays import run_serially
from pcatool.errors import DataError, ModelError, UsageError
from pcatool.kernels.model import KernelModel
from pcatool.model.npz import dumps, loads

X = cloud(30, 3)
GOOD = fit(X, components=2)


def remade(model: KernelModel = GOOD, **changed: Any) -> KernelModel:
    return KernelModel(**{**{f.name: getattr(model, f.name) for f in fields(model)}, **changed})


def kernel(**settings: Any) -> dict[str, Any]:
    return {"meta": {**GOOD.meta, "kernel": settings}}


def with_nan(name: str) -> dict[str, Any]:
    array = np.array(getattr(GOOD, name))
    array.flat[0] = np.nan
    return {name: array}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no kernel": ({"meta": {"method": "kernel"}}, "the setting 'kernel' is 'None'"),
    "unknown kernel": (kernel(name="magic"), "which this version of pcatool does not know"),
    "kernel no record": ({"meta": {**GOOD.meta, "kernel": "rbf"}}, "which this version of pcatool does not know"),
    "name a list": (kernel(name=["rbf"]), "which this version of pcatool does not know"),
    "gamma missing": (kernel(name="rbf"), "rbf needs name, gamma"),
    "more than it needs": (kernel(name="rbf", gamma=1.0, degree=2.0), "rbf needs name, gamma"),
    "gamma zero": (kernel(name="rbf", gamma=0.0), "in the setting 'kernel', 'gamma' is '0.0', which is not valid"),
    "gamma below zero": (kernel(name="rbf", gamma=-1.0), "'gamma' is '-1.0'"),
    "gamma not finite": (kernel(name="rbf", gamma=float("nan")), "'gamma' is 'nan'"),
    "gamma infinite": (kernel(name="rbf", gamma=float("inf")), "'gamma' is 'inf'"),
    "gamma beyond a double": (kernel(name="rbf", gamma=10**400), "'gamma' is"),
    "gamma text": (kernel(name="rbf", gamma="1"), "'gamma' is '1'"),
    "gamma true": (kernel(name="rbf", gamma=True), "'gamma' is 'True'"),
    "degree zero": (kernel(name="polynomial", gamma=1.0, degree=0, coef0=1), "'degree' is '0'"),
    "neighbours broken": (kernel(name="isomap", neighbours=2.5), "'neighbours' is '2.5'"),
    "neighbours none": (kernel(name="isomap", neighbours=0), "'neighbours' is '0'"),
    "neighbours too many": (kernel(name="isomap", neighbours=30), "'neighbours' is 30, but the model has only 30"),
    "table not square": (kernel(name="precomputed"), "array 'training_rows' has shape"),
    "landmarks of a graph": (
        {"meta": {**GOOD.meta, "kernel": {"name": "isomap", "neighbours": 5}, "landmarks": 30}},
        "isomap cannot have landmarks",
    ),
    "landmarks text": (
        {"meta": {**GOOD.meta, "landmarks": "30"}},
        "it has 30 training rows, but should have '30' of the 30 rows",
    ),
    "landmarks true": (
        {"meta": {**GOOD.meta, "landmarks": True}},
        "30 training rows, but should have 'True'",
    ),
    "landmarks fewer": (
        {"meta": {**GOOD.meta, "landmarks": 29}},
        "30 training rows, but should have '29'",
    ),
    "more rows": ({"n_samples": 31}, "30 training rows, but should have '31' of the 31 rows"),
    "a basis": ({"basis": np.eye(3)}, "array 'basis' has shape"),
    "training rows short": ({"training_rows": X[:29]}, "array 'training_rows' has shape"),
    "training rows narrow": ({"training_rows": X[:, :2]}, "array 'training_rows' has shape"),
    "training rows a vector": ({"training_rows": X[:, 0]}, "array 'training_rows' has shape"),
    "training rows nan": (with_nan("training_rows"), "array 'training_rows' has a value that is not finite"),
    "dual vectors short": ({"dual_vectors": GOOD.dual_vectors[:29]}, "array 'dual_vectors' has shape"),
    "dual vectors a vector": ({"dual_vectors": GOOD.dual_vectors[:, 0]}, "each number must be at least 1"),
    "dual vectors none": ({"dual_vectors": GOOD.dual_vectors[:, :0]}, "each number must be at least 1"),
    "dual vectors nan": (with_nan("dual_vectors"), "array 'dual_vectors' has a value that is not finite"),
    "dual vectors not orthonormal": (
        {"dual_vectors": GOOD.dual_vectors * 2},
        "array 'dual_vectors' is not orthonormal",
    ),
    "more components than eigenvalues": ({"eigenvalues": GOOD.eigenvalues[:1]}, "but the model has 2 components"),
    "means short": ({"kernel_means": GOOD.kernel_means[:29]}, "has shape"),
    "means a matrix": ({"kernel_means": GOOD.kernel_means[:, None]}, "has shape"),
    "means a number": ({"kernel_means": np.array(1.0)}, "array 'kernel_means' has shape"),
    "means nan": (with_nan("kernel_means"), "array 'kernel_means' has a value that is not finite"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_one_is_refused(case: str) -> None:
    changed, word = WRONG[case]
    with pytest.raises(ModelError) as refused:
        remade(**changed)
    assert word in str(refused.value)


def test_the_good_one_is_good() -> None:
    assert (GOOD.d, GOOD.k, GOOD.n_samples, GOOD.basis.shape) == (3, 2, 30, (3, 0))
    assert GOOD.score_names() == ["PC1", "PC2"]
    assert remade().project(X).tobytes() == GOOD.project(X).tobytes()


def test_a_table_of_another_size_is_refused() -> None:
    K = kernel_of("rbf", 3).matrix(X, run_serially)
    model = fit(K, kernel="precomputed", components=2)
    changed = {"dual_vectors": np.eye(29)[:, :2], "kernel_means": np.zeros(29), "n_samples": 29}
    with pytest.raises(ModelError, match="'dual_vectors' has 29 rows, but the kernel matrix has 30 columns"):
        remade(model, **changed)


def test_more_components_than_training_rows_are_refused() -> None:
    meta = {**GOOD.meta, "landmarks": 1}
    changed = {"training_rows": X[:1], "kernel_means": np.zeros(1), "dual_vectors": np.ones((1, 2)), "meta": meta}
    with pytest.raises(ModelError, match="it has 2 components, but only 1 training rows"):
        remade(**changed)


def test_fewer_components() -> None:
    model = fit(X, components=5)
    two = model.truncated(2)
    assert two.k == 2
    assert np.array_equal(two.eigenvalues, model.eigenvalues)
    assert np.allclose(two.project(X), model.project(X)[:, :2], atol=1e-14)
    assert model.truncated(None) is model
    assert model.truncated(5) is model
    with pytest.raises(DataError, match="-k 6: the model has 5 components"):
        model.truncated(6)


def test_files_of_tables_and_landmarks() -> None:
    K = kernel_of("rbf", 3).matrix(X, run_serially)
    table, few = fit(K, kernel="precomputed", components=2), fit(X, components=2, landmarks=9)
    assert np.array_equal(loads(dumps(table)).project(K), table.project(K))
    assert np.array_equal(loads(dumps(few)).project(X), few.project(X))


@pytest.mark.parametrize("name", ["rbf", *GRAPHS])
def test_copies_and_pickles(name: str) -> None:
    model = fit(X, kernel=name, components=2)
    Z = model.project(X)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), loads(dumps(model))):
        assert np.array_equal(other.project(X), Z)


def test_meta_says_how_it_was_made() -> None:
    assert GOOD.meta["method"] == "kernel"
    assert GOOD.meta["kernel"] == {"name": "rbf", "gamma": 1 / 3}
    assert GOOD.meta["solver"] == "lapack"
    certificate = GOOD.meta["certificate"]
    assert certificate["eigen_residual"] < 1e-12
    assert certificate["orthonormality"] < 1e-12
    assert certificate["trace_closure"] < 1e-12
    assert all(certificate["vouched"])


def test_no_squared_error_without_an_inner_product() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"kernel": "sigmoid"}, "kernel sigmoid, because squared lengths in its feature space may be below 0"),
        ({"kernel": "isomap"}, "kernel isomap, because squared lengths in its feature space are unknown"),
        ({"kernel": "mds", "center": False}, "kernel mds, because squared lengths in its feature space may be below 0"),
        ({"landmarks": 10}, "a model of landmarks"),
    )
    for asked, what in cases:
        with pytest.raises(UsageError, match=rf"^--with-error does not go with {what}; leave out --with-error$"):
            fit(X, components=1, **asked).squared_error(X)


def test_read_only_rows_of_any_layout() -> None:
    for Y in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        Y.setflags(write=False)
        assert np.allclose(GOOD.project(Y), GOOD.project(X), atol=1e-14)

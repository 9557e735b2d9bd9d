"""To scikit-learn and back, with scikit-learn itself as the yardstick."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import NMF, PCA, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import pcatool
from pcatool.cli.app import run
from pcatool.model import scikit_learn

N, D = 60, 6
RNG = np.random.default_rng(7)
X = RNG.normal(size=(N, D)) @ RNG.normal(size=(D, D)) + np.arange(D) * 3
NEW = RNG.normal(size=(9, D)) + np.arange(D) * 3
NAMES = ["a", "b", "c", "d", "e", "f"]
CLOSE = 1e-12  # of the largest score


def assert_close(found: Any, expected: Any, within: float = CLOSE) -> None:
    assert_allclose(found, expected, rtol=0, atol=within * float(np.max(np.abs(expected))))


# --- a model as an estimator ---

LINEAR: dict[str, dict[str, Any]] = {
    "plain": {},
    "ddof 1": {"ddof": 1},
    "standardised": {"standardize": True},
    "standardised, ddof 1": {"standardize": True, "ddof": 1},
    "whitened": {"whiten": "pca"},
    "whitened, epsilon 0": {"whiten": "pca", "epsilon": 0},
    "whitened, standardised": {"whiten": "pca", "epsilon": 0, "standardize": True},
    "not centred": {"center": False},
    "not centred, standardised": {"center": False, "standardize": True},
    "not centred, whitened": {"center": False, "whiten": "pca", "epsilon": 0},
    "all components": {"components": "all"},
}


@pytest.mark.parametrize("case", LINEAR)
def test_it_transforms_and_comes_back_as_the_model_does(case: str) -> None:
    model = pcatool.fit(X, **{"components": 3, **LINEAR[case]})
    made = model.to_sklearn()
    scores = pcatool.transform(model, NEW)
    assert_close(made.transform(NEW), scores)
    assert_close(made.inverse_transform(scores), pcatool.reconstruct(model, scores, source="scores"))
    assert made.n_features_in_ == D
    assert not hasattr(made, "feature_names_in_")


ATTRIBUTES = (
    "components_", "mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "noise_variance_",
    "n_components_", "n_samples_", "n_features_in_",
)  # fmt: skip


def signs(a: Any, b: Any) -> Any:
    """(k, 1) of +-1 that turn the directions of b to be like those of a."""
    return np.sign(np.sum(a.components_ * b.components_, axis=1))[:, None]


@pytest.mark.parametrize("k", [1, 3, D])
@pytest.mark.parametrize("rows", [X, X[:4]], ids=["tall", "wide"])
def test_its_attributes_are_those_that_a_fit_by_scikit_learn_leaves(rows: Any, k: int) -> None:
    k = min(k, len(rows) - 1)
    made = pcatool.fit(rows, components=k, ddof=1).to_sklearn()
    own = PCA(k, svd_solver="full").fit(rows)
    made.components_ = made.components_ * signs(own, made)
    for name in ATTRIBUTES:
        assert_allclose(getattr(made, name), getattr(own, name), rtol=1e-10, atol=1e-12, err_msg=name)
    assert_allclose(made.get_covariance(), own.get_covariance(), rtol=1e-9, atol=1e-9)
    if len(rows) > D:
        assert_allclose(made.score_samples(NEW), own.score_samples(NEW), rtol=1e-9)
    assert list(made.get_feature_names_out()) == list(own.get_feature_names_out())


def test_with_ddof_0_variances_are_the_models_and_singular_values_the_rows() -> None:
    model = pcatool.fit(X, components=3)
    made = model.to_sklearn()
    assert_allclose(made.explained_variance_, model.eigenvalues[:3], rtol=0)
    assert_allclose(made.explained_variance_ * N / (N - 1), PCA(3).fit(X).explained_variance_)
    assert_allclose(made.singular_values_, PCA(3).fit(X).singular_values_)


def test_a_standardised_model_is_a_pipeline_like_the_one_people_write() -> None:
    made = pcatool.fit(X, components=3, standardize=True).to_sklearn()
    own = make_pipeline(StandardScaler(), PCA(3)).fit(X)
    for name in ("mean_", "scale_", "var_", "n_samples_seen_", "n_features_in_"):
        assert_allclose(getattr(made[0], name), getattr(own[0], name), rtol=1e-12, err_msg=name)
    for name in ("explained_variance_ratio_", "singular_values_", "n_samples_"):
        assert_allclose(getattr(made[1], name), getattr(own[1], name), rtol=1e-12, err_msg=name)
    assert_close(made.transform(NEW) * signs(own[1], made[1]).T, own.transform(NEW))


def test_a_constant_column_is_divided_by_1() -> None:
    rows = np.column_stack([X[:, :2], np.full(N, 5.0)])
    made = pcatool.fit(rows, components=2, standardize=True).to_sklearn()
    assert made[0].var_[2] == 0
    assert made[0].scale_[2] == 1


def test_what_is_not_centred_is_a_truncated_svd() -> None:
    made = pcatool.fit(X, components=3, center=False).to_sklearn()
    own = TruncatedSVD(3, algorithm="arpack").fit(X)
    made.components_ = made.components_ * signs(own, made)
    for name in ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert_allclose(getattr(made, name), getattr(own, name), rtol=1e-10, atol=1e-12, err_msg=name)


def test_what_the_model_does_not_know_is_nan() -> None:
    made = pcatool.fit(X, components=3, center=False, updatable=False).to_sklearn()
    assert np.all(np.isnan(made.explained_variance_))
    weighted = pd.DataFrame(X, columns=NAMES).assign(w=2)
    made = pcatool.fit(weighted, components=2, weights="w").to_sklearn()
    assert np.all(np.isnan(made.singular_values_))
    with pytest.raises(pcatool.ModelError, match="fitted, not an estimator made from a model with weights"):
        pcatool.from_sklearn(made)


def test_names_of_columns_go_along() -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    for settings in ({}, {"standardize": True}):
        made = pcatool.fit(frame, components=2, **settings).to_sklearn()
        assert list(made.feature_names_in_) == NAMES
        made.transform(frame)  # without a warning
        assert pcatool.from_sklearn(made).columns == tuple(NAMES)
    with pytest.raises(ValueError, match="feature names"):
        made.transform(frame[NAMES[::-1]])


def test_it_is_a_copy() -> None:
    model = pcatool.fit(X, components=2)
    made = model.to_sklearn()
    made.components_[:] = 0
    made.mean_[:] = 0
    assert model.basis.any()
    assert model.mean.any()


KERNELS = {"linear": {}, "cosine": {}, "rbf": {"gamma": 0.02}, "polynomial": {"gamma": 0.02, "degree": 2, "coef0": 0.5}}
KERNELS["sigmoid"] = {"gamma": 0.001, "coef0": 0.0}


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_model_is_a_kernel_pca(kernel: str, standardize: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pcatool.PcatoolWarning)  # sigmoid is not definite
        model = pcatool.fit(X, method="kernel", kernel=kernel, components=3, standardize=standardize, **KERNELS[kernel])
    made = model.to_sklearn()
    assert_close(made.transform(NEW), pcatool.transform(model, NEW), 1e-10)
    last = made[-1] if isinstance(made, Pipeline) else made
    own = KernelPCA(3, kernel=last.kernel, eigen_solver="dense", **KERNELS[kernel])
    whole = make_pipeline(StandardScaler() if standardize else "passthrough", own).fit(X)
    assert_allclose(last.eigenvalues_, own.eigenvalues_, rtol=1e-8)
    assert_close(np.abs(made.transform(NEW)), np.abs(whole.transform(NEW)), 1e-8)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "zca": ({"whiten": "zca"}, "has no ZCA whitening"),
    "zca with sums": ({"whiten": "zca"}, r"convert the model that pcatool.refit\(model, whiten='pca'\) returns"),
    "zca without sums": (
        {"whiten": "zca", "updatable": False},
        r"apply the model with pcatool.transform\(model, data\)",
    ),
    "rows centred": ({"center_rows": True}, "subtracts the mean of each row"),
    "supervised": ({"method": "supervised", "label": "f"}, "has no supervised PCA"),
    "supervised kernel": ({"method": "supervised", "label": "f", "kernel": "rbf"}, "no supervised kernel PCA"),
    "kernel not centred": ({"method": "kernel", "kernel": "rbf", "center": False}, "always centres its kernel"),
    "other kernel": ({"method": "kernel", "kernel": "laplacian"}, "KernelPCA has no kernel laplacian"),
    "graph": ({"method": "kernel", "kernel": "isomap", "neighbours": 30}, "KernelPCA has no kernel isomap"),
    "landmarks": ({"method": "kernel", "kernel": "rbf", "landmarks": 20}, "this model keeps only landmarks"),
    "kernel of centred rows": ({"method": "kernel", "kernel": "rbf", "center_rows": True}, "the mean of each row"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_scikit_learn_cannot_hold_is_refused_with_the_reason(case: str) -> None:
    settings, reason = REFUSED[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pcatool.PcatoolWarning)
        model = pcatool.fit(pd.DataFrame(X, columns=NAMES), **{"components": 2, **settings})
    with pytest.raises(pcatool.UsageError, match=reason):
        model.to_sklearn()


def test_a_table_that_is_the_kernel_is_refused() -> None:
    with pytest.raises(pcatool.UsageError, match="which a model does not keep"):
        pcatool.fit(X[:8] @ X[:8].T, method="kernel", kernel="precomputed", components=2).to_sklearn()


# --- an estimator as a model ---

FITTED: dict[str, Any] = {
    "PCA": PCA(3),
    "PCA, all": PCA(),
    "PCA, share": PCA(0.9, svd_solver="full"),
    "PCA, mle": PCA("mle", svd_solver="full"),
    "PCA, covariance": PCA(3, svd_solver="covariance_eigh"),
    "PCA, arpack": PCA(3, svd_solver="arpack"),
    "PCA, randomized": PCA(3, svd_solver="randomized", random_state=0),
    "PCA, whitened": PCA(3, whiten=True),
    "IncrementalPCA": IncrementalPCA(3, batch_size=20),
    "IncrementalPCA, whitened": IncrementalPCA(3, batch_size=20, whiten=True),
    "scaled": make_pipeline(StandardScaler(), PCA(3)),
    "scaled, all": make_pipeline(StandardScaler(), PCA()),
    "scaled, whitened": make_pipeline(StandardScaler(), PCA(3, whiten=True)),
    "scaled, IncrementalPCA": make_pipeline(StandardScaler(), IncrementalPCA(3)),
    "centred first": make_pipeline(StandardScaler(with_std=False), PCA(3)),
    "scaled, not centred first": make_pipeline(StandardScaler(with_mean=False), PCA(3)),
    "alone in a pipeline": make_pipeline("passthrough", PCA(3)),
}


def fitted(case: str, rows: Any = X) -> Any:
    return FITTED[case].fit(rows)


@pytest.mark.parametrize("case", FITTED)
def test_the_model_transforms_and_comes_back_as_the_estimator_does(case: str, tmp_path: Path) -> None:
    taken = fitted(case)
    pcatool.save_model(pcatool.from_sklearn(taken), tmp_path / "m.npz")
    model = pcatool.load_model(tmp_path / "m.npz")
    assert model == pcatool.from_sklearn(taken)
    scores = taken.transform(NEW)
    assert_close(pcatool.transform(model, NEW), scores)
    assert_close(pcatool.reconstruct(model, scores, source="scores"), taken.inverse_transform(scores))
    assert model.columns == ("c1", "c2", "c3", "c4", "c5", "c6")


@pytest.mark.parametrize("case", FITTED)
def test_its_variances_are_those_of_the_estimator(case: str) -> None:
    taken = fitted(case)
    model, pca = pcatool.from_sklearn(taken), taken[-1] if isinstance(taken, Pipeline) else taken
    k = model.k
    assert_allclose(model.eigenvalues / model.total_variance, pca.explained_variance_ratio_, rtol=1e-12)
    assert len(model.eigenvalues) == k
    assert model.n_samples == N
    if not model.standardized:
        assert model.ddof == 1
        assert_allclose(model.eigenvalues, pca.explained_variance_, rtol=0)
        assert_allclose(model.total_variance, X.var(axis=0, ddof=1).sum(), rtol=1e-12)
    if not isinstance(pca, IncrementalPCA) and k < D:
        own = pcatool.fit(X, components=k, standardize=model.standardized, ddof=model.ddof)
        assert_allclose(model.eigenvalues, own.eigenvalues[:k], rtol=1e-10)
        assert_allclose(model.total_variance, own.total_variance, rtol=1e-12)
        assert_allclose(model.noise, own.noise, rtol=1e-10)
        assert_allclose(model.std, own.std, rtol=1e-12)
        assert_allclose(model.mean, own.mean, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", ["PCA, all", "scaled", "scaled, whitened"])
def test_variances_of_the_columns_are_known_where_they_can_be(case: str) -> None:
    model = pcatool.from_sklearn(fitted(case))
    assert_allclose(model.variances, X.var(axis=0, ddof=model.ddof), rtol=1e-12)
    assert pcatool.from_sklearn(fitted("PCA")).variances is None


@pytest.mark.parametrize("case", [case for case in LINEAR if "not centred" not in case and case != "whitened"])
def test_there_and_back_is_the_same_model(case: str) -> None:
    model = pcatool.fit(X, **{"components": 3, **LINEAR[case]})
    again = pcatool.from_sklearn(model.to_sklearn())
    assert (again.ddof, again.k, again.n_samples) == (model.ddof, model.k, model.n_samples)
    assert_close(pcatool.transform(again, NEW), pcatool.transform(model, NEW))
    assert_allclose(again.eigenvalues, model.eigenvalues[: model.k], rtol=1e-12)
    assert_allclose(again.std, model.std, rtol=1e-12)
    assert_allclose(again.total_variance, model.total_variance, rtol=1e-12)


@pytest.mark.parametrize("case", ["PCA", "PCA, randomized", "scaled", "scaled, whitened"])
def test_single_precision_is_taken_as_it_is(case: str) -> None:
    taken = fitted(case, X.astype(np.float32))
    model = pcatool.from_sklearn(taken)
    assert model.ddof == (0 if case == "scaled" else 1)
    assert_close(pcatool.transform(model, NEW), taken.transform(NEW), 1e-6)


def test_names_of_a_frame_are_the_models() -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    model = pcatool.from_sklearn(PCA(2).fit(frame))
    assert model.columns == tuple(NAMES)
    assert_close(pcatool.transform(model, frame[NAMES[::-1]]).to_numpy(), PCA(2).fit_transform(frame))


def test_more_columns_than_rows_and_columns_that_repeat() -> None:
    wide = np.hstack([X[:5], X[:5, :3] * 2])
    taken = PCA().fit(wide)
    model = pcatool.from_sklearn(taken)
    assert (model.k, model.meta["rank"]) == (5, 4)
    new = np.hstack([NEW, NEW[:, :3] * 2])
    assert_close(pcatool.transform(model, new), taken.transform(new))


def test_a_model_that_was_taken_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m.npz")
    pcatool.save_model(pcatool.from_sklearn(fitted("PCA")), path)
    facts = pcatool.inspect(path)
    assert facts["solver"] == "scikit-learn"
    assert facts["reason"] == "taken from a fitted PCA"
    assert facts["choice"] == "n_components=3"
    assert facts["certificate"] is None
    assert facts["eigenvalues_known"] == 3
    assert facts["cannot"]["update"] == "the model was imported from scikit-learn, which keeps no sums"
    for words in (["inspect"], ["explain-variance", "-v"], ["scree"], ["components"], ["diff", path]):
        assert run([*words, path]) == 0
    said = "".join(capsys.readouterr())
    assert "the accuracy of the eigenvalues is unknown" in said
    assert "vouched" not in said
    with pytest.raises(
        pcatool.PcatoolError, match="keeps no sums: the model was imported from scikit-learn, which keeps no sums"
    ):
        pcatool.refit(path, ddof=0)
    with pytest.raises(pcatool.RefusedError, match="the 3 known eigenvalues keep"):
        pcatool.explain_variance(path, threshold=0.9999999)
    with pytest.raises(pcatool.ModelError, match="or by scikit-learn; run pcatool fit on the same rows"):
        pcatool.components(path, values="correlations")


NOT_TAKEN: dict[str, tuple[Any, type[Exception], str]] = {
    "not fitted": (PCA(3), pcatool.UsageError, "the PCA is not fitted; call its fit method first"),
    "pipeline not fitted": (make_pipeline(StandardScaler(), PCA(3)), pcatool.UsageError, "Scaler is not fitted"),
    "TruncatedSVD": (TruncatedSVD(3).fit(X), pcatool.UsageError, "neither the number of rows"),
    "another": (NMF(2).fit(np.abs(X)), pcatool.UsageError, "NMF cannot be converted to a model; give a fitted PCA or"),
    "no estimator": ("pca.pkl", pcatool.UsageError, "str cannot be converted to a model"),
    "another scaler": (
        make_pipeline(MinMaxScaler(), PCA(2)).fit(X), pcatool.UsageError, "MinMaxScaler and then PCA cannot",
    ),
    "scaler alone": (make_pipeline(StandardScaler()).fit(X), pcatool.UsageError, "StandardScaler cannot"),
    "too many steps": (
        make_pipeline(StandardScaler(), StandardScaler(), PCA(2)).fit(X), pcatool.UsageError, "StandardScaler and then",
    ),
    "rank": (
        PCA(whiten=True).fit(np.hstack([X, X])),
        pcatool.ModelError,
        "whitening divides by the eigenvalue of PC7, which is only rounding error; fit with",
    ),
    "other rows": (
        Pipeline([("scale", StandardScaler().fit(X)), ("pca", PCA(3).fit(X * 2))]),
        pcatool.ModelError,
        "the PCA was not fitted to the output of the StandardScaler: the sum of its eigenvalues agrees with "
        "neither ddof 0 nor ddof 1; fit the estimator again, with all its steps on the same rows",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_TAKEN)
def test_what_is_not_taken_is_refused_with_the_reason(case: str) -> None:
    estimator, kind, message = NOT_TAKEN[case]
    with pytest.raises(kind, match=message):
        pcatool.from_sklearn(estimator)


def test_rows_that_do_not_vary_and_edited_attributes() -> None:
    with np.errstate(all="ignore"):
        flat = PCA(1).fit(np.ones((4, 2)))
    with pytest.raises(pcatool.ModelError, match="no component has variance; fit the PCA to rows that differ"):
        pcatool.from_sklearn(flat)
    edited = PCA(2).fit(X)
    edited.components_ = edited.components_ * 2
    with pytest.raises(pcatool.ModelError, match="not orthonormal"):
        pcatool.from_sklearn(edited)
    edited = PCA(2).fit(X)
    edited.explained_variance_ = edited.explained_variance_ * 2
    with pytest.raises(
        pcatool.ModelError, match="singular_values_ and explained_variance_ agree with neither ddof 0 nor ddof 1"
    ):
        pcatool.from_sklearn(edited)


# --- without it ---


def test_without_scikit_learn_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    scikit_learn.library.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.decomposition", None)
    for call in (lambda: pcatool.fit(X).to_sklearn(), lambda: pcatool.from_sklearn(None)):
        with pytest.raises(pcatool.UsageError, match="need the package scikit-learn; run pip install scikit-l"):
            call()

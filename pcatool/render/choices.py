"""What a model was fitted with, in words: the choices that every number depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcatool.model.model import Model
from pcatool.render.words import counted

__all__ = ["how_fitted", "in_brief", "is_usual", "whole"]


def how_fitted(model: Model) -> str:
    """The choices that every number depends on."""
    supervised = model.meta.get("method") == "supervised"
    centred = "scores not centred" if supervised else "centred" if model.centered else "not centred"
    scaled = "standardised" if model.standardized else "not standardised"
    divisor = "n" if model.ddof == 0 else f"n - {model.ddof}"
    if "weights" in model.meta:
        lost = " - sum w^2 / sum w" if model.meta.get("weights_kind") == "reliability" else " - 1"
        divisor = f"sum of the weights {model.meta['weights']!r}" + (lost if model.ddof else "")
    said = [
        f"{centred}, {scaled}, "
        + (f"divisor {divisor} (ddof {model.ddof})" if not supervised else f"ddof {model.ddof}")
    ]
    if model.rows_centered:
        said.insert(0, "each row about its own mean")
    if not model.centered:
        said.append("shares are of the sum of squares about 0")
    if model.whitening != "none":
        said.append(f"{model.whitening.upper()} whitening, epsilon {model.epsilon:.6g}")
    return "; ".join([*said, *_of_method(model.meta)])


def in_brief(model: Model) -> str:
    """The choices without which a picture of scores or loadings is misread; all of them are in the model's reports."""
    said = ["standardised" if model.standardized else "not standardised"]
    if model.rows_centered:
        said.insert(0, "each row about its own mean")
    if not model.centered:
        said.append(f"not centred, per cent of the {whole(model.meta.get('method'), model.centered)}")
    elif not is_usual(model) and model.meta.get("method") == "supervised":
        said.append(f"per cent of the {whole('supervised', model.centered)} {', '.join(model.meta['labels'])}")
    if "weights" in model.meta:
        said.append(f"weights {model.meta['weights']!r}")
    if model.whitening != "none":
        said.append(f"{model.whitening.upper()} whitening")
    return "; ".join([", ".join(said), *_of_kernel(model.meta)])


def _of_method(meta: Mapping[str, Any]) -> list[str]:
    """The kernel and the labels, with their numbers."""
    said = _of_kernel(meta)
    if "labels" in meta:
        classes = f" of {counted(meta['classes'], 'class', 'es')}" if "classes" in meta else ""
        said.append(f"label {', '.join(meta['labels'])} by {meta.get('label_kernel')} kernel{classes}")
    if "hsic" in meta:
        said.append(f"HSIC {meta['hsic']:.6g}")
    return said


def _of_kernel(meta: Mapping[str, Any]) -> list[str]:
    """The kernel with its numbers, and how many rows it was approximated from."""
    said = []
    kernel = meta.get("kernel")
    if isinstance(kernel, Mapping):
        numbers = ", ".join(f"{name} {value:.6g}" for name, value in kernel.items() if name != "name")
        said.append(f"kernel {kernel.get('name')}" + (f" ({numbers})" if numbers else ""))
    if "landmarks" in meta:
        said.append(f"{meta['landmarks']} landmarks")
    return said


def is_usual(model: Model) -> bool:
    """Are shares what everybody takes them for: of the variance of columns?"""
    return model.centered and model.meta.get("method", "pca") == "pca"


def whole(method: str | None, centered: bool) -> str:
    """What the shares are shares of."""
    if method == "supervised":
        return "dependence on the label"
    return "variance" if centered else "sum of squares about 0"

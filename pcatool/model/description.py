"""Describe a fitted model in words, and as HTML for notebooks: a small table in the colours of the page, no scripts."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from pcatool.model.model import component_name
from pcatool.registry import METHODS
from pcatool.wording import counted, percent, printable

if TYPE_CHECKING:
    from pcatool.model.model import Model

__all__ = ["is_centered_pca", "model_html", "name_of_total", "settings_text", "short_settings_text"]


def settings_text(model: Model) -> str:
    """Return centring, scaling, divisor, weights, whitening, kernel and labels of the fit in words, with HSIC if known.

    For example `centred, not standardised, divisor n (ddof 0)`.
    """
    supervised = model.meta.get("method") == "supervised"
    centred = "scores not centred" if supervised else "centred" if model.centered else "not centred"
    scaled = "standardised" if model.standardized else "not standardised"
    divisor = "n" if model.ddof == 0 else f"n - {model.ddof}"
    if "weights" in model.meta:
        lost = " - sum w^2 / sum w" if model.meta.get("weights_kind") == "reliability" else " - 1"
        divisor = f"sum of the weights {model.meta['weights']!r}" + (lost if model.ddof else "")
    phrases = [
        f"{centred}, {scaled}, "
        + (f"divisor {divisor} (ddof {model.ddof})" if not supervised else f"ddof {model.ddof}")
    ]
    if model.rows_centered:
        phrases.insert(0, "the mean of each row subtracted")
    if not model.centered:
        phrases.append("shares refer to the sum of squares about 0")
    if model.whitening != "none":
        phrases.append(f"{model.whitening.upper()} whitening, epsilon {model.epsilon:.6g}")
    return "; ".join([*phrases, *_method_phrases(model.meta)])


def short_settings_text(model: Model) -> str:
    """Return scaling, centring, weights, whitening and kernel of the fit in words, shorter than `settings_text`.

    The caption of a plot: centring is named only if the columns are not centred, or each row is centred.
    """
    phrases = ["standardised" if model.standardized else "not standardised"]
    if model.rows_centered:
        phrases.insert(0, "the mean of each row subtracted")
    if not model.centered:
        phrases.append(
            f"not centred, percentages are shares of the {name_of_total(model.meta.get('method'), model.centered)}"
        )
    elif not is_centered_pca(model) and model.meta.get("method") == "supervised":
        whole = name_of_total("supervised", model.centered)
        phrases.append(f"percentages are shares of the {whole} {', '.join(model.meta['labels'])}")
    if "weights" in model.meta:
        phrases.append(f"weights {model.meta['weights']!r}")
    if model.whitening != "none":
        phrases.append(f"{model.whitening.upper()} whitening")
    return "; ".join([", ".join(phrases), *_kernel_phrases(model.meta)])


def _method_phrases(meta: Mapping[str, Any]) -> list[str]:
    """Return phrases on the kernel, the landmarks, the label columns and the HSIC; an empty list for plain PCA.

    HSIC measures how much the scores depend on the labels. `meta` are the settings of a model.
    """
    phrases = _kernel_phrases(meta)
    if "labels" in meta:
        classes = f" of {meta['classes']} class{'es' * (meta['classes'] != 1)}" if "classes" in meta else ""
        phrases.append(f"label {', '.join(meta['labels'])} by {meta.get('label_kernel')} kernel{classes}")
    if "hsic" in meta:
        phrases.append(f"HSIC {meta['hsic']:.6g}")
    return phrases


def _kernel_phrases(meta: Mapping[str, Any]) -> list[str]:
    """Return a phrase on the kernel with its parameters, and one on the number of landmarks, as far as `meta` has them.

    The list is empty for a model without a kernel. `meta` are the settings of a model.
    """
    phrases = []
    kernel = meta.get("kernel")
    if isinstance(kernel, Mapping):
        numbers = ", ".join(f"{name} {value:.6g}" for name, value in kernel.items() if name != "name")
        phrases.append(f"kernel {kernel.get('name')}" + (f" ({numbers})" if numbers else ""))
    if "landmarks" in meta:
        phrases.append(f"{meta['landmarks']} landmarks")
    return phrases


def is_centered_pca(model: Model) -> bool:
    """Whether this is centred PCA, without kernel or labels: its shares are shares of the variance of the columns."""
    return model.centered and model.meta.get("method", "pca") == "pca"


def name_of_total(method: str | None, centered: bool) -> str:
    """Return the name of the total that components explain a share of.

    The name is `dependence on the label` for the method "supervised"; else `variance`, or without centring
    `sum of squares about 0`.
    """
    if method == "supervised":
        return "dependence on the label"
    return "variance" if centered else "sum of squares about 0"


# Most components and columns shown one by one; further ones are counted.
MAX_COMPONENTS = 10
MAX_COLUMNS = 8

# Inline styles, because notebooks may remove style sheets. Only the page's own colours are used, so that the table is
# readable on light and dark pages.
BOX = "max-width:40em;overflow-x:auto"
TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;color:inherit;background:none;margin:0.4em 0"
HEAD = "text-align:right;padding:0.1em 0.7em;border-bottom:1px solid currentColor;font-weight:600"
CELL = "text-align:right;padding:0.1em 0.7em"
TRACK = "padding:0.1em 0.7em;text-align:left;width:8em"
BAR = "height:0.7em;background:currentColor;opacity:0.45"
QUIET = "opacity:0.75;font-size:90%"


def model_html(model: Model) -> str:
    """Return HTML with the method, the settings, a table of the first components, and the names of the columns."""
    method = str(model.meta.get("method", "pca"))
    shares = f"of the {name_of_total(method, model.centered)}"
    kept = f"{counted(model.k, 'component')} kept, {percent(float(model.variance.cumulative[model.k - 1]))} {shares}"
    solver = model.meta.get("solver", "unknown")
    parts = [
        f"<div><strong>{_text(METHODS[method].summary)}</strong></div>",
        f"<div>{counted(model.n_samples, 'row')}, {counted(model.d, 'column')}; {_text(kept)}</div>",
        _table(model),
        f'<div style="{QUIET}">{_text(settings_text(model))}; solver {_text(solver)}</div>',
        f'<div style="{QUIET}">columns: {_columns(model)}</div>',
    ]
    return f'<div style="{BOX}">{"".join(parts)}</div>'


def _table(model: Model) -> str:
    table = model.variance
    shown = min(model.k, MAX_COMPONENTS)
    titles = ("component", "eigenvalue", "share", "cumulative", "")
    head = "".join(f'<th scope="col" style="{HEAD}">{title}</th>' for title in titles)
    rows = [
        _row(j + 1, table.eigenvalue[j], table.share[j], table.cumulative[j], table.share[j] / table.share.max())
        for j in range(shown)
    ]
    more = f"<div>and {counted(model.k - shown, 'more component')}</div>" if model.k > shown else ""
    return f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>{more}'


def _row(component: int, eigenvalue: float, share: float, cumulative: float, length: float) -> str:
    numbers = (f"{eigenvalue:.6g}", percent(share), percent(cumulative))
    cells = "".join(f'<td style="{CELL}">{number}</td>' for number in numbers)
    bar = f'<td style="{TRACK}"><div style="{BAR};width:{max(length, 0.0):.1%}"></div></td>'
    return f'<tr><th scope="row" style="{CELL};font-weight:normal">{component_name(component)}</th>{cells}{bar}</tr>'


def _columns(model: Model) -> str:
    names = ", ".join(_text(name) for name in model.columns[:MAX_COLUMNS])
    return names if model.d <= MAX_COLUMNS else f"{names} and {counted(model.d - MAX_COLUMNS, 'more column')}"


def _text(value: object) -> str:
    """Return the value as text that is safe in HTML: escaped, without control characters, cut to 200 characters."""
    text = printable(str(value))
    return escape(text if len(text) <= 200 else text[:197] + "...")

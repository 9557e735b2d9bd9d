"""The HTML of a model in notebooks: a small table without scripts, in the colours of the page around it."""

from __future__ import annotations

from html import escape

from pcatool.errors import printable
from pcatool.model.model import Model
from pcatool.registry import METHODS
from pcatool.render.facts import how_fitted, whole
from pcatool.render.text import counted

__all__ = ["model_html"]

# Most components and columns shown one by one; further ones are counted.
SHOWN = 10
NAMED = 8

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
    shares = f"of the {whole(method, model.centered)}"
    kept = f"{counted(model.k, 'component')} kept, {model.variance.cumulative[model.k - 1]:.4%} {shares}"
    parts = [
        f"<div><strong>{_text(METHODS[method].summary)}</strong></div>",
        f"<div>{counted(model.n_samples, 'row')}, {counted(model.d, 'column')}; {_text(kept)}</div>",
        _table(model),
        f'<div style="{QUIET}">{_text(how_fitted(model))}; solver {_text(model.meta.get("solver", "unknown"))}</div>',
        f'<div style="{QUIET}">columns: {_columns(model)}</div>',
    ]
    return f'<div style="{BOX}">{"".join(parts)}</div>'


def _table(model: Model) -> str:
    table = model.variance
    shown = min(model.k, SHOWN)
    titles = ("component", "eigenvalue", "share", "cumulative", "")
    head = "".join(f'<th scope="col" style="{HEAD}">{title}</th>' for title in titles)
    rows = [
        _row(j + 1, table.eigenvalue[j], table.share[j], table.cumulative[j], table.share[j] / table.share.max())
        for j in range(shown)
    ]
    more = f"<div>and {model.k - shown} more</div>" if model.k > shown else ""
    return f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>{more}'


def _row(component: int, eigenvalue: float, share: float, cumulative: float, length: float) -> str:
    numbers = (f"{eigenvalue:.6g}", f"{share:.2%}", f"{cumulative:.2%}")
    cells = "".join(f'<td style="{CELL}">{number}</td>' for number in numbers)
    bar = f'<td style="{TRACK}"><div style="{BAR};width:{max(length, 0.0):.1%}"></div></td>'
    return f'<tr><th scope="row" style="{CELL};font-weight:normal">PC{component}</th>{cells}{bar}</tr>'


def _columns(model: Model) -> str:
    names = ", ".join(_text(name) for name in model.columns[:NAMED])
    return names if model.d <= NAMED else f"{names} and {model.d - NAMED} more"


def _text(value: object) -> str:
    """Return outside text made safe for HTML: escaped, without control characters, at most 200 characters."""
    text = printable(str(value))
    return escape(text if len(text) <= 200 else text[:197] + "...")

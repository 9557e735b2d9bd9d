"""Declare fields of option records: flags, help, choices, completion, Python types, and what a model keeps of them.

A field is declared once, by `option`. The parser, help and completion read its `Flag`; the Python keywords read its
type, or `takes`; the settings of a model, their checks, and the way back from settings to options read its `Setting`.

`OPTIONS` and `SENTENCES` map option names of scikit-learn, pandas, R, csvkit and Miller, without leading dashes and
with hyphens between words, to the option of pcatool, or to a sentence that says what to use instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, field, fields
from sys import float_info
from typing import Any, NamedTuple

from pcatool.errors import UsageError
from pcatool.registry import Registry
from pcatool.wording import nearest, show

__all__ = [
    "ANY_FILE",
    "DATA",
    "MODEL",
    "MODEL_OR_DATA",
    "NO_COMPLETION",
    "OPTIONS",
    "SENTENCES",
    "Completion",
    "Flag",
    "Setting",
    "are_names",
    "check_choices",
    "checks_of",
    "choices_from",
    "convert_to_float",
    "convert_to_int",
    "either",
    "given_flags",
    "is_count",
    "is_flag",
    "is_number",
    "is_object",
    "is_text",
    "option",
    "option_like",
    "option_word",
    "options_of_settings",
    "python_type",
    "refuse_without",
    "require_choice",
    "settings_of",
    "some_of",
    "word_of",
]


class Completion(NamedTuple):
    """Values that a shell completes for an option or argument: files of some kinds, words, or nothing."""

    files: tuple[str, ...] = ()  # kinds of files: model, data, any
    words: Callable[[], tuple[str, ...]] = tuple  # other values may be valid, too, such as a number for -k
    listed: bool = False  # the value may list several of the words, separated by commas


NO_COMPLETION = Completion()
MODEL = Completion(("model",))
DATA = Completion(("data",))
MODEL_OR_DATA = Completion(("model", "data"))
ANY_FILE = Completion(("any",))


def word_of(*words: str) -> Completion:
    """Return the completion of a value that may be one of `words`."""
    return Completion(words=lambda: words)


def some_of(*words: str) -> Completion:
    """Return the completion of a value that may list several of `words`, separated by commas."""
    return Completion(words=lambda: words, listed=True)


class Flag(NamedTuple):
    """Declaration of an option on the command line: its names, help, choices and completion."""

    names: tuple[str, ...]  # as typed; the first is named in messages
    help: str
    group: str  # heading under which help lists the option
    metavar: str | None = None
    choices: Callable[[], tuple[str, ...]] | None = None  # returns the allowed values; None if any value may be valid
    shown_default: str | None = None  # default as help shows it, if it is not the default of the field
    completion: Completion = NO_COMPLETION  # of a value without choices


class Setting(NamedTuple):
    """An entry of a model's `meta` that records an option of the fit: its name, and the test of its value.

    `test` and `why` are not needed for an option that has choices or is a bool.
    """

    test: Callable[[Any], bool] | None = None
    why: str = ""  # end of the error message for any other value
    methods: tuple[str, ...] = ()  # methods whose models have the setting; all if empty
    needs: str = ""  # another setting without which this one has no meaning
    name: str = ""  # if it differs from the name of the option
    key: str = ""  # key of the option's value, in a setting that is an object
    part_of: str = ""  # another setting, an object, that holds the option's value under the option's name
    always: bool = False  # written also if the option has its default
    decided: bool = False  # written only with the value that the fit decides


def option(
    default: Any, *names: str, group: str, help: str, takes: str = "", kept: Setting | None = None, **more: Any
) -> Any:
    """Return a dataclass field for an option: its default, its names on the command line, and its help.

    `takes` is the type of the Python keyword, if it differs from the type of the field. With `kept` the fitted model
    records the option. `more` are further fields of `Flag`.
    """
    return field(default=default, metadata={"flag": Flag(names, help, group, **more), "takes": takes, "kept": kept})


def option_like(record: type, name: str, default: Any, **changes: Any) -> Any:
    """Return a dataclass field like the field `name` of another record; `changes` replace fields of its `Flag`.

    A model does not record the option.
    """
    (model,) = (each for each in fields(record) if each.name == name)
    flag = model.metadata["flag"]._replace(**changes)
    return field(default=default, metadata={**model.metadata, "flag": flag, "kept": None})


def python_type(field: Field[Any]) -> str:
    """Return the type of a field's Python keyword, as source text: its `takes`, or else the type of the field.

    For a field that is a tuple of texts the keyword may also be a single text.
    """
    several = "str | Sequence[str]" if field.type == "tuple[str, ...]" else str(field.type)
    return field.metadata["takes"] or several


# --- settings that a model keeps ---


def _kept(record: Any) -> dict[str, tuple[Field[Any], Setting]]:
    """Return the fields of a record that are entries of a model's `meta`, each with its `Setting`, by entry name.

    Fields that are part of another entry are left out.
    """
    kept = ((each, each.metadata["kept"]) for each in fields(record))
    return {setting.name or each.name: (each, setting) for each, setting in kept if setting and not setting.part_of}


def settings_of(options: Any, **decided: Any) -> dict[str, Any]:
    """Return the settings, name -> value, with which a model records the options of its fit.

    `decided` holds values that the fit decided, in place of those of the options; None leaves a setting out. A setting
    that needs another setting is written if that setting is. A setting declared as `decided` is written only with a
    value in `decided`. Any other setting is left out if its option has the default, unless it is declared as `always`.
    """
    kept, settings = _kept(options), dict[str, Any]()
    if unknown := decided.keys() - kept.keys():
        raise TypeError(f"no option is kept as {', '.join(sorted(unknown))}")
    for name, (each, setting) in kept.items():
        value = decided.get(name, None if setting.decided else getattr(options, each.name))
        if setting.needs:
            is_written = setting.needs in settings
        else:
            is_written = setting.decided or setting.always or value != each.default
        if is_written and value is not None:
            settings[name] = value
    return settings


def options_of_settings(record: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options, name -> value, that `settings`, those of a model, record; `record` is the class of options.

    An option that is not in the result had its default, or is not recorded.
    """
    given = {}
    for each in fields(record):
        setting: Setting | None = each.metadata["kept"]
        if setting is None:
            continue
        value = settings.get(setting.part_of or setting.name or each.name)
        key = each.name if setting.part_of else setting.key
        value = value.get(key) if key and value is not None else value
        if value is not None:
            given[each.name] = tuple(value) if isinstance(value, list) else value
    return given


def checks_of(record: type) -> dict[str, Setting]:
    """Return a dict from each name in a model's `meta` that records an option of `record` to the option's `Setting`.

    A `Setting` without a test gets the test of the option's choices, or of a bool.
    """
    return {name: setting._replace(**_test(each, setting)) for name, (each, setting) in _kept(record).items()}


def _test(field: Field[Any], setting: Setting) -> dict[str, Any]:
    choices = field.metadata["flag"].choices
    if setting.test is not None:
        return {}
    if choices is None:
        return {"test": is_flag, "why": "neither true nor false"}
    known = choices()
    return {"test": lambda value: is_text(value) and value in known, "why": f"not one of {', '.join(known)}"}


def is_number(value: Any) -> bool:
    """Whether a value is a finite int or float, and not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= float_info.max


def is_count(value: Any) -> bool:
    """Whether a value is an int of at least 0 that fits 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def are_names(value: Any) -> bool:
    """Whether a value is a list of distinct texts."""
    return isinstance(value, list) and all(map(is_text, value)) and len(set(value)) == len(value)


# --- checks of options ---


def given_flags(*records: Any, leaving_out: str = "") -> list[str]:
    """Return the options, such as "-k", whose values differ from the defaults, except that of field `leaving_out`."""
    return [
        each.metadata["flag"].names[0]
        for record in records
        for each in fields(record)
        if each.name != leaving_out and getattr(record, each.name) != each.default
    ]


def choices_from(registry: Registry, *first: str) -> Callable[[], tuple[str, ...]]:
    """Return a function that lists the names `first` and all names of a registry."""
    return lambda: (*first, *registry)


def check_choices(record: Any) -> None:
    """Raise `UsageError` if a field of an option record has choices, and is neither None nor one of the choices."""
    for each in fields(record):
        flag: Flag = each.metadata["flag"]
        value = getattr(record, each.name)
        if flag.choices is not None and value is not None:
            require_choice(value, flag.choices, flag.names[0])


def require_choice(choice: str, allowed: Callable[[], tuple[str, ...]], flag: str) -> None:
    """Raise `UsageError` unless `choice` is one of `allowed()`."""
    if choice not in allowed():
        near = nearest(choice, allowed())
        hint = f"did you mean {near}?" if near else ""
        raise UsageError(f"invalid value {show(choice)} for {flag}: choose {either(allowed())}", hint)


def either(names: Sequence[str]) -> str:
    """Return names as a list in prose: `a, b or c`."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def convert_to_float(record: object, name: str, flag: str, *, above: float = -math.inf) -> None:
    """Convert the field `name` of a frozen record to float in place; None stays.

    Raise `UsageError` unless the value is a finite number above `above`. `flag` names the option in the error.
    """
    value = getattr(record, name)
    if value is None:
        return
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > above) or "_" in str(value):
        bound, example = (f" above {above:g}", above + 0.1) if math.isfinite(above) else ("", 0.1)
        raise UsageError(f"{flag} {show(value)} is not a finite number{bound}", f"give a number such as {example}")
    object.__setattr__(record, name, number)


def convert_to_int(record: object, name: str, flag: str) -> None:
    """Convert the field `name` of a frozen record to int in place; None stays.

    Raise `UsageError` unless the value is a whole number above 0. `flag` names the option in the error.
    """
    value = getattr(record, name)
    if value is None:
        return
    if not re.fullmatch(r"[0-9]{1,9}", str(value), re.ASCII) or int(value) < 1:
        raise UsageError(f"{flag} {show(value)} is not a whole number above 0", "give a number such as 10")
    object.__setattr__(record, name, int(value))


def refuse_without(flag: str, value: object, allowed: bool, needed: str) -> None:
    """Raise `UsageError` for an option that was given (`value` is not None or empty) but is not `allowed`.

    The message says that `flag` has no effect without the option `needed`.
    """
    if value not in (None, ()) and not allowed:
        raise UsageError(f"{flag} has no effect without {needed}", f"give {needed}, or leave out {flag}")


# Option here -> its names in other tools.
_NAMES = {
    "--components": "n-components num-components n-comp ncomp ncomponents n-dims dims dim dimensions n-factors "
    "nfactors factors rank n-pcs npcs pcs ncp k",
    "--standardize": "scale scaling normalize normalise zscore z-score standard-scaler scale-unit unit-variance "
    "correlation cor with-std",
    "--delimiter": "sep separator field-separator ifs fs tabs",
    "--null-value": "na na-values na-value na-string na-strings missing-value missing-values nan-values null-values",
    "--skip-lines": "skiprows skip-rows skip skip-header",
    "--no-header": "no-header-row header-none noheader headerless",
    "--columns": "usecols select cols features variables vars fields include keep-cols keep-columns",
    "--exclude": "drop drop-columns drop-cols ignore ignore-columns omit without not-columns not-cols",
    "--output": "out outfile out-file output-file model model-file save save-model save-as to write",
    "--float-format": "precision digits decimals round fmt ofmt",
    "--row-names": "index-col index rownames row-labels has-row-names",
    "--seed": "random-state rng rng-seed set-seed",
    "--threads": "n-jobs njobs jobs workers n-workers num-workers nproc cores cpus nthreads n-threads processes "
    "parallel",
    "--solver": "svd-solver eigen-solver algorithm svd-method",
    "--whiten": "whitening sphere sphering",
    "--weights": "sample-weight sample-weights row-weights row-w case-weights",
    "--label": "target y class response outcome quali-sup",
    "--decimal": "dec decimal-mark decimal-point decimal-separator",
    "--thousands": "thousands-separator thousands-sep group-mark big-mark",
    "--comment": "comment-char comment-prefix comments",
    "--neighbours": "n-neighbors n-neighbours knn",
    "--skip-bad": "ignore-errors skip-errors on-bad-lines on-error keep-going",
    "--size": "figsize fig-size width height",
    "--dpi": "resolution",
    "--color": "hue colour color-by colour-by col-by habillage",
    "--quiet": "silent no-warnings",
    "--center": "with-mean demean",
    "--plan": "dry-run",
    "--no-center": "nocenter uncentered no-mean without-mean",
    "--memory": "max-memory memory-limit mem max-mem",
}

OPTIONS = {word: option for option, words in _NAMES.items() for word in words.split()}

_ROWS = "all rows are read: select rows first, as in head -n 1001 data.csv | pcatool fit -o model.npz"
_IMPUTE = "--missing mean or em fits with missing cells, and pcatool reconstruct --fill fills the missing cells"
_GROUPS = (
    "there are no fits by group: write one file per group and fit each file, or colour the rows by group with "
    "pcatool plot scores --color COL"
)
_ROTATE = "there is no rotation of components: rotate the loadings from pcatool components in another program"
_ENCODE = (
    "text columns are not encoded: replace them by columns of 0 and 1 before the fit; --label can be a text column"
)
_SPLIT = (
    "rows are not split: fit one file and transform another file; -k cross-validation chooses the number of components "
    "by the error on left-out cells"
)
_STOP = "there is no tolerance to set: iterations end when the error is small; -v prints bounds on the error"
_EXTRA = "oversampling cannot be set: solver randomized reads the rows again until a bound on its error is small"
_FEATURES = "a fit only centres and standardises values: make other changes to the columns before the fit"
_OTHER_METHODS = "pcatool has only --method pca, kernel and supervised"
_SPARSE = "there is no sparse PCA: pcatool components --values contributions shows which columns matter"
_HOLES = "fit --missing drop leaves out rows with missing cells, and transform --missing keep leaves their scores empty"
_PICTURE = "pictures do not have this setting: give -o picture.svg, and edit that file"
_DRAW = "to draw a picture, use pcatool scree, pcatool plot or pcatool components --image, with -o picture.png"
_INPUT = "name inputs without an option, as in pcatool fit data.csv -o model.npz"
_SHEET = "spreadsheets are not read: save the sheet as CSV"
_FORCE = "-o replaces an existing file, unless --no-clobber is given"
_BATCH = "the number of rows in a block cannot be set; --memory SIZE limits the memory of a fit"
_SHARE = "-k 0.95 keeps 95% of the variance, and pcatool explain-variance prints the share of each component"
_UPDATE = "pcatool update adds rows to a model"
_TYPE = "pcatool computes with 64-bit floats, on the processor (CPU)"

# Sentence -> options of other tools that have no counterpart here.
_SAID = {
    _HOLES: "dropna drop-na na-omit omit-na remove-na na-rm listwise complete-cases na-action",
    _IMPUTE: "impute imputer imputation fillna fill-na fill-missing strategy",
    _GROUPS: "group-by groupby group groups by",
    _ROTATE: "varimax rotate rotation promax oblimin quartimax",
    _ENCODE: "one-hot onehot dummies get-dummies encode encoding-categorical categorical categories factorize",
    _SPLIT: "test-size train-size split train-test-split holdout validation folds cv cross-validate",
    _STOP: "tol tolerance max-iter maxiter n-iter iterations iterated-power power-iteration-normalizer convergence",
    _EXTRA: "oversamples n-oversamples oversampling",
    _FEATURES: "log-transform log1p log2 boxcox box-cox yeo-johnson transform-columns power-transform minmax min-max "
    "robust-scaler quantile-transform robust",
    _OTHER_METHODS: "ica fastica nmf lda factor-analysis fa tsne t-sne umap perplexity mds autoencoder",
    _SPARSE: "sparse sparsity alpha lasso penalty l1 l1-ratio",
    _PICTURE: "title xlabel ylabel xlim ylim legend fontsize palette cmap theme marker",
    _DRAW: "plot draw chart graph show visualize biplot screeplot",
    _INPUT: "in infile in-file input-file file files data-file from-file",
    _SHEET: "sheet sheet-name excel xlsx",
    _FORCE: "force overwrite clobber replace yes",
    _BATCH: "batch-size chunksize chunk-size block-size incremental low-memory stream streaming",
    _UPDATE: "partial-fit append add warm-start",
    _SHARE: "explained-variance explained-variance-ratio variance-ratio variance var-explained min-variance",
    _ROWS: "nrows n-rows head tail limit max-rows sample shuffle subset query where filter",
    _TYPE: "dtype float32 float64 gpu cuda device single-precision",
}

SENTENCES = {word: sentence for sentence, words in _SAID.items() for word in words.split()}


def option_word(name: str) -> str:
    """Return an option name spelt like the keys of `OPTIONS` and `SENTENCES`: "--Max_Iter" becomes "max-iter"."""
    return name.lower().replace("_", "-").replace(".", "-").strip("-")

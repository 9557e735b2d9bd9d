"""What a field declares is what the parser, the Python keywords and the settings of a model go by."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from pcatool import options
from pcatool.errors import UsageError
from pcatool.model.validate import FOUND_SETTINGS, SETTINGS
from pcatool.options import FitOptions, RefitOptions
from pcatool.options.fields import checks_of, options_of_settings, settings_of

RECORDS = [record for record in vars(options).values() if isinstance(record, type) and hasattr(record, "__post_init__")]

# Options that a model keeps -> values that the fit decides, and the settings.
KEPT: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({}, {}, {}),
    ({"center_rows": True, "standardize": True}, {}, {"center_rows": True, "standardize": True}),
    ({"seed": 3, "epsilon": 0.5, "whiten": "pca"}, {}, {"whiten": "pca"}),
    ({"epsilon": 0.5, "whiten": "pca"}, {"epsilon": 0.5}, {"whiten": "pca", "epsilon": 0.5}),
    ({"seed": 3}, {"seed": 3}, {"seed": 3}),
    ({"weights": "w"}, {}, {"weights": "w", "weights_kind": "frequency"}),
    (
        {"method": "supervised", "label": ("y",), "label_kernel": "rbf"},
        {"labels": ["y"], "label_kernel": "rbf", "label_gamma": 2.0},
        {"method": "supervised", "labels": ["y"], "label_kernel": "rbf", "label_gamma": 2.0},
    ),
    (
        {"method": "kernel", "gamma": 0.5, "landmarks": 7},
        {"kernel": {"name": "rbf", "gamma": 0.5}, "landmarks": 7},
        {"method": "kernel", "kernel": {"name": "rbf", "gamma": 0.5}, "landmarks": 7},
    ),
]
ALWAYS = {"method": "pca", "center": True, "standardize": False, "ddof": 0, "missing": "error"}


@pytest.mark.parametrize(("given", "decided", "settings"), KEPT)
def test_settings_of_a_fit(given: dict[str, Any], decided: dict[str, Any], settings: dict[str, Any]) -> None:
    assert settings_of(FitOptions(**given), **decided) == {**ALWAYS, **settings}


@pytest.mark.parametrize(("given", "settings"), [(given, settings) for given, _, settings in KEPT[:2] + KEPT[3:]])
def test_options_come_back(given: dict[str, Any], settings: dict[str, Any]) -> None:
    again = FitOptions(**options_of_settings(FitOptions, {**ALWAYS, **settings}))
    assert all(getattr(again, name) == value for name, value in given.items())


def test_a_setting_that_no_option_is_kept_as_is_a_slip() -> None:
    with pytest.raises(TypeError, match="no option is kept as landmark"):
        settings_of(FitOptions(), landmark=7)


def test_every_setting_has_a_check() -> None:
    assert not set(FOUND_SETTINGS) & set(checks_of(FitOptions))
    assert [name for name, setting in SETTINGS.items() if setting.test is None or not setting.why] == []
    assert {setting.needs for setting in SETTINGS.values()} - {""} <= set(SETTINGS)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_no_record_takes_a_value_that_is_no_choice(record: type) -> None:
    for each in fields(record):
        flag = each.metadata["flag"]
        if flag.choices is None:
            continue
        with pytest.raises(UsageError, match=f"^invalid value 'nothing' for {flag.names[0]}: choose "):
            record(**{each.name: "nothing"})


def test_options_of_refit_are_those_of_fit() -> None:
    """With help of their own; none is a setting a second time."""
    flags = {each.name: each.metadata["flag"] for each in fields(FitOptions)}
    for each in fields(RefitOptions):
        assert each.metadata["kept"] is None
        if each.name in flags:
            assert set(flags[each.name].names) <= {*each.metadata["flag"].names, "--standardize"}
            assert each.metadata["flag"].choices == flags[each.name].choices

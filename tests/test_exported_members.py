"""Tests that the facade offers what it says, from where it says."""

import ast
import importlib
from pathlib import Path

import pytest

import placement


def test_the_names_are_sorted_and_each_has_one_home() -> None:
    """Tests that ``__all__`` and the table of homes do not drift apart."""
    assert sorted(placement.__all__) == placement.__all__ == sorted(placement._HOME)


@pytest.mark.parametrize("name", placement.__all__)
def test_each_name_is_the_object_of_its_home(name: str) -> None:
    """Tests that a name can be had and is documented."""
    home = importlib.import_module(f"placement.{placement._HOME[name]}")
    assert getattr(placement, name) is getattr(home, name)
    assert getattr(placement, name).__doc__


def test_type_checkers_see_the_same_names() -> None:
    """Tests that the imports for type checkers name the same homes as those at run time."""
    tree = ast.parse(Path(placement.__file__ or "").read_text())
    seen = {
        alias.name: str(node.module).removeprefix("placement.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("placement.")
        for alias in node.names
    }
    assert seen == placement._HOME


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Tests that lazy loading invents nothing."""
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        getattr(placement, "slove")  # noqa: B009
    assert set(placement.__all__) <= set(dir(placement))

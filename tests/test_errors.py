"""Tests of the messages, exit codes, and hierarchy of errors."""

from __future__ import annotations

import pytest

from adaptner import errors
from adaptner.errors import AdaptnerError, FileMissing, InputError, UnknownName, UsageError

ALL = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, AdaptnerError)]
GROUPS = AdaptnerError.__subclasses__()


def test_message_has_place_problem_and_remedy():
    error = FileMissing(file="a.conll", line=3, hint="use an absolute path")
    assert str(error) == (
        "a.conll:3: no such file or folder\n  What to do: check the path; use an absolute path"
    )
    assert (error.file, error.line, error.facts) == ("a.conll", 3, {"hint": "use an absolute path"})
    assert str(UsageError(problem="--x is missing", remedy="")) == "--x is missing"


def test_every_error_belongs_to_one_group_and_has_a_remedy():
    for error in set(ALL) - {AdaptnerError}:
        assert sum(issubclass(error, group) for group in GROUPS) == 1, error
        assert bool(error.problem) == bool(error.remedy), error
        assert error.exit_code == (2 if issubclass(error, UsageError) else 1), error


def test_docstring_names_all_groups():
    assert all(f"── {group.__name__} " in (errors.__doc__ or "") for group in GROUPS)


def test_group_catches_its_errors():
    with pytest.raises(InputError):
        raise FileMissing(file="a", hint="")
    with pytest.raises(UsageError, match="did you mean 'hgda'"):
        raise UnknownName.among(["hgda", "maml"], kind="method", name="hgd")


def test_did_you_mean_is_empty_without_a_similar_name():
    assert errors.did_you_mean("xyz", ["hgda", "maml"]) == ""

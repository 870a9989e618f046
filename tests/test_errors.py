from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from handful import errors
from handful.errors import (
    HandfulError,
    MissingExtraError,
    SettingError,
    UnknownNameError,
    integer,
)

BUILTINS: list[tuple[type[HandfulError], type[Exception]]] = [
    (errors.SettingError, ValueError),
    (errors.UnknownNameError, ValueError),
    (errors.RewardError, ValueError),
    (errors.UnknownArmError, LookupError),
    (errors.ForgottenArmError, LookupError),
    (errors.ExhaustedError, RuntimeError),
    (errors.MemoryFullError, RuntimeError),
    (errors.StateError, ValueError),
    (errors.NewerStateError, ValueError),
    (errors.OtherArmsError, ValueError),
    (errors.RuleError, ArithmeticError),
    (errors.EngineError, RuntimeError),
    (errors.MissingExtraError, ImportError),
    (errors.ClientError, RuntimeError),
    (errors.RefusedError, ValueError),
    (errors.NotFoundError, LookupError),
    (errors.ConflictError, ValueError),
    (errors.AccessError, PermissionError),
    (errors.UnavailableError, ConnectionError),
]


def all_errors() -> list[type[HandfulError]]:
    return [
        thing
        for thing in vars(errors).values()
        if isinstance(thing, type) and issubclass(thing, HandfulError) and thing is not HandfulError
    ]


@pytest.mark.parametrize(("error", "builtin"), BUILTINS)
def test_an_error_can_be_caught_as_a_builtin(
    error: type[HandfulError], builtin: type[Exception]
) -> None:
    assert issubclass(error, builtin)


@pytest.mark.parametrize("error", all_errors())
def test_every_error_has_a_builtin_base_and_a_place_in_the_tree(error: type[HandfulError]) -> None:
    builtins = [base for base in error.__mro__ if base.__module__ == "builtins"]
    assert builtins[0] is not Exception
    assert errors.__doc__ is not None
    assert error.__name__ in errors.__doc__


def test_an_unknown_name_is_met_with_the_nearest_names() -> None:
    error = UnknownNameError("policy", "ucbm", ["ucb-m", "ts-m", "moss-m"])
    assert str(error) == "there is no policy 'ucbm': did you mean ucb-m?"


def test_a_name_near_no_other_is_met_with_all_names() -> None:
    error = UnknownNameError("policy", "zzz", ["ucb-m", "moss-m"])
    assert str(error) == "there is no policy 'zzz': known: moss-m, ucb-m"


def test_a_name_where_there_are_none_is_met_with_that() -> None:
    assert str(UnknownNameError("setting of race", "memry", ())) == (
        "there is no setting of race 'memry': there are none"
    )


def test_a_missing_package_is_met_with_the_command_that_installs_it() -> None:
    error = MissingExtraError("the simulator", "numba", "sim")
    assert "pip install 'handful[sim]'" in str(error)


def test_an_integer_of_python_or_numpy_is_taken() -> None:
    assert type(integer("memory", np.int64(3))) is int
    assert integer("memory", 2**70) == 2**70


@pytest.mark.parametrize("value", [2.0, "3", None, True, np.True_, np.float64(2.0), [2]])
def test_what_is_not_an_integer_is_refused_by_name(value: Any) -> None:
    with pytest.raises(SettingError, match=r"memory=.* is not an integer"):
        integer("memory", value)

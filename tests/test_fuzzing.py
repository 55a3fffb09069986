"""Public functions, whatever they are called with, give a result or one of three errors.

All of `ropewalk`, `articles`, `bias`, `frequencies`, `geometry` and `properties` but the scorecard.
Arguments are drawn by their names: mostly what such an argument may be, now and then anything.
``FUZZ_EXAMPLES=2000`` in the environment draws that many calls of each function, new ones each
time.
"""

import dataclasses
import inspect
import os
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy
from numpy.typing import NDArray

import ropewalk as rw

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "20"))

MODULES = (rw, rw.articles, rw.bias, rw.frequencies, rw.geometry, rw.properties)
FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"{module.__name__}.{name}": vars(module)[name]
    for module in MODULES
    for name in module.__all__
    if inspect.isroutine(vars(module).get(name))
}
# It takes a second and has tests of its own.
FUNCTIONS.pop("ropewalk.properties.scorecard")

SHAPES = [
    (),
    (0,),
    (1,),
    (3,),
    (4,),
    (3, 4),
    (4, 4),
    (0, 4),
    (3, 0),
    (3, 2),
    (2, 3, 4),
    (2, 2, 3, 4),
]
DTYPES = ["f8", "f8", "f8", "f4", "f4", "f2", ml_dtypes.bfloat16, "i8", "u1", "?", ">f4"]


def array(shape: tuple[int, ...], dtype: Any, seed: int, layout: str) -> Any:
    values = np.asarray(np.random.default_rng(seed).standard_normal(shape)) * 3
    if np.dtype(dtype).kind == "u":
        values = abs(values)
    made: Any = np.array(values, dtype)
    if layout == "backwards" and made.ndim:
        made = made[::-1]
    elif layout == "Fortran":
        made = np.asfortranarray(made)
    elif layout == "read-only":
        made.flags.writeable = False
    elif layout == "special" and made.size and made.dtype.kind == "f":
        made.flat[0], made.flat[-1] = np.inf, np.nan
    elif layout == "alike" and made.ndim > 1:
        made[...] = made[..., :1, :]
    return made


def arrays(shapes: list[tuple[int, ...]] = SHAPES) -> SearchStrategy[Any]:
    layouts = ["C", "C", "C", "backwards", "Fortran", "read-only", "special", "alike"]
    return st.builds(
        array,
        st.sampled_from(shapes),
        st.sampled_from(DTYPES),
        st.integers(0, 3),
        st.sampled_from(layouts),
    )


def frequencies() -> SearchStrategy[rw.frequencies.Frequencies]:
    standard, axial = rw.frequencies.standard(4), rw.frequencies.axial(8)
    return st.sampled_from([standard, axial, rw.frequencies.yarn(4, factor=4.0, trained_length=64)])


some = st.sampled_from
small = st.integers(1, 8)
numbers = st.floats(0.01, 100)
factors = st.floats(1, 16)
positions = st.one_of(some([range(3), range(5, -4, -3), 7, 2.5, [0, 1e6, -3]]), arrays())
tokens = arrays([(3, 4)] * 6 + [(2, 3, 4), (2, 2, 3, 4), (3, 2)])
plane = arrays([(5, 2), (3, 2), (1, 2)])
vectors = arrays([(4,), (4,), (3, 4)])

# Far from what fits in memory, or small: nothing between them, which would only take long.
ANYTHING = st.one_of(
    arrays(),
    frequencies(),
    some([None, True, False, "half", "", "ほげ", b"x", 1j, np.nan, np.inf, -np.inf, -0.0, 1e-320]),
    some([-(2**70), -(2**53), -1, 0, 2**53, 2**63, 2**70, 10**4000, 1e308]),
    some([[], [[]], [1, [2]], {}, {"a": 1}, (None, None), range(0), range(2**53), object(), len]),
    some([np.zeros(3, complex), np.zeros(3, "M8[s]"), np.array(["a"]), np.zeros(2, "i4,f4")]),
    some([np.ma.masked_array([1.0, 2.0], [True, False]), np.zeros((2, 3, 4), object)]),
)

OF_NAME: dict[str, SearchStrategy[Any]] = {
    "angles": some(["exact", "float32"]),
    "article": some(["001", "003", "005"]),
    "axis": st.integers(-2, 1),
    "config": some([{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}, {}]),
    "direction": arrays([(2,)]),
    "directions": some([1.0, [1.0], [0.5, 2.0]]),
    "dim": some([4, 4, 4, 8, 3]),
    "dtype": some([np.float32, "f2", "bfloat16", np.float64, "i4", "nonsense"]),
    "dims": some([[2, 4], [8]]),
    "encode": st.just(lambda length: rw.sinusoidal_encoding(range(length), 4)),
    "fraction": some([0.5, 1.0, 0.3]),
    "frequencies": frequencies(),
    "heads": some([1, 2, 4, 3]),
    "ids": some([[0, 2, 1], 1, [[0], [2]], [-1]]),
    "key_lengths": some([0, 2, [1, 3]]),
    "kind": some(["F", "V", "E"]),
    "lang": some(["en", "ja"]),
    "layout": some(["restarted", "dealt", "alternating", "blocks"]),
    "lses": arrays([(2, 3), (3,)]),
    "mask": arrays([(3, 3), (3,), (2, 1, 3)]).map(lambda values: values > 0),
    "measure": some(["inner", "cosine", "euclidean"]),
    "normalise": some(["separate", "min", "max"]),
    "order": some(["sin-cos", "cos-sin", "lsb", "msb"]),
    "out": arrays([(3, 4), (3, 4), (2, 3, 4), (3, 3)]),
    "outputs": arrays([(2, 3, 4)]),
    "pairing": some(["interleaved", "half"]),
    "pairs": some([1, 2]),
    "precision": some(["float64", "bfloat16", "float32"]),
    "radians": arrays([(2,), (3,), (2, 2)]),
    "rotary": st.just({"base": 100.0}),
    "rotary_dim": some([2, 4]),
    "scale": numbers,
    "scales": some([[0.5, 1.0, 2.0]]),
    "score": st.just(np.cos),
    "sections": some([[1, 1], [2, 2], [1, 1, 2]]),
    "shape": some([(2, 3), (1,), (2, 2, 2), ()]),
    "softmax": st.just(rw.softmax),
    "source": some(["interleaved", "half"]),
    "table": arrays([(4, 4), (4, 2), (3, 5), (2, 3, 4)]),
    "target": some(["interleaved", "half"]),
    "weights": some([np.full((3, 4), 0.25), np.eye(3), np.ones((2, 2))]),
    "window": some([(1, 0), (None, 0), (2, None), (0, 0)]),
}
SHARED: dict[str, SearchStrategy[Any]] = {
    "a b onto": vectors,
    "encoding placed": arrays([(3, 4)] * 3 + [(4,)]),
    "cosines sines": arrays([(3, 2), (2,)]),
    "factor high_frequency_factor": factors,
    "hull_points points polygon": plane,
    "key_ids sequence_ids": some([[0, 0, 1], [[0, 1], [2, 2]]]),
    "key query value x": tokens,
    "key_length query_length": some([3, 3, 4]),
    "key_weight output_weight query_weight value_weight": arrays([(4, 4)]),
    "longer max_length trained trained_length": some([64, 100, 4096]),
    "long_factors short_factors": some([[1.0, 2.0]] * 4 + [[1.0]]),
    "distances key_positions offsets positions": positions,
}
for names, strategy in SHARED.items():
    OF_NAME |= dict.fromkeys(names.split(), strategy)

# Whether an argument that may be left out is given, by place and by name.
GIVEN = {False: some([True, True, True, False]), True: some([False, False, False, True])}
# Annotations say the rest.
OF_ANNOTATION: list[tuple[str, SearchStrategy[Any]]] = [
    ("Boolean", st.booleans()),
    ("Integer", small),
    ("Real", numbers),
    ("", arrays()),
]


def usual(parameter: inspect.Parameter) -> SearchStrategy[Any]:
    if parameter.name in OF_NAME:
        return OF_NAME[parameter.name]
    annotation = inspect.formatannotation(parameter.annotation).strip("'")
    return next(strategy for start, strategy in OF_ANNOTATION if annotation.startswith(start))


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """What a function takes; further options are those of attention."""
    found = list(inspect.signature(function).parameters.values())
    if found and found[-1].kind is inspect.Parameter.VAR_KEYWORD:
        options = inspect.signature(rw.attention).parameters.values()
        found[-1:] = [option for option in options if option.kind is option.KEYWORD_ONLY]
    return found


# What messages name instead of arguments: groups of them, and what is in the one for rotation.
NAMED_OTHERWISE = {
    "ropewalk.multi_head_attention": {"data", "rotary_dim"},
    "ropewalk.multi_head_attention_weights": {"data", "rotary_dim"},
}
# Results of NumPy's own products and choices, that lie as these left them.
IN_ANOTHER_ORDER = {"ropewalk.properties.fitted_shift", "ropewalk.properties.scores_by_distance"}


def arrays_in(result: Any) -> list[NDArray[Any]]:
    """Return the arrays that a result is, or that it holds."""
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, tuple | list):
        return [x for part in result for x in arrays_in(part)]
    if dataclasses.is_dataclass(result):
        return arrays_in([getattr(result, field.name) for field in dataclasses.fields(result)])
    return []


def check(name: str, result: Any, positional: list[Any], options: dict[str, Any]) -> None:
    """Check that a result is its caller's own and in C order, but for `out`, which came with it."""
    given = [x for x in (*positional, *options.values()) if isinstance(x, np.ndarray)]
    for x in arrays_in(result):
        if x is options.get("out"):
            continue
        assert x.flags.writeable
        assert x.flags.c_contiguous or name in IN_ANOTHER_ORDER
        assert not any(np.shares_memory(x, other) for other in given)


def says_of_what(name: str, message: str) -> bool:
    """Tell whether a message names an argument, or the result that would be too large."""
    names = {parameter.name for parameter in parameters(FUNCTIONS[name])}
    names |= NAMED_OTHERWISE.get(name, set())
    if "too large" in message or "larger than any memory" in message:
        names.add("result")
    said = re.findall(r"\w+", message)
    if said[0] not in names:
        names.discard("a")  # which is a word
    return not names.isdisjoint(said)


def call(name: str, data: DataObject) -> bool:
    """Call a function with arguments drawn for it, and tell whether it gave a result.

    An error of another kind than three comes through.
    """
    share = data.draw(some([0, 0, 1]), "odd arguments in ten")
    positional: list[Any] = []
    options: dict[str, Any] = {}
    for parameter in parameters(FUNCTIONS[name]):
        by_name = parameter.kind is parameter.KEYWORD_ONLY
        if parameter.default is not parameter.empty and not data.draw(GIVEN[by_name]):
            if by_name:
                continue
            value = parameter.default
        else:
            odd = data.draw(st.integers(1, 10)) <= share
            value = data.draw(ANYTHING if odd else usual(parameter), parameter.name)
        if by_name:
            options[parameter.name] = value
        else:
            positional.append(value)
    threads = rw.get_num_threads()
    try:
        result, message = FUNCTIONS[name](*positional, **options), None
    except (ValueError, TypeError) as error:
        result, message = None, str(error)
    except MemoryError as error:  # which has no words where there is no memory for them
        result, message = None, str(error) or "the result is too large"
    finally:
        rw.set_num_threads(threads)
    assert message is None or says_of_what(name, message), message
    check(name, result, positional, options)
    return message is None


# NumPy itself says so of infinite data, where it computes with them.
@pytest.mark.filterwarnings("ignore:invalid value encountered in:RuntimeWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_call_gives_a_result_or_a_clear_error(name: str) -> None:
    returned = []

    @settings(
        max_examples=EXAMPLES,
        derandomize="FUZZ_EXAMPLES" not in os.environ,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(data=st.data())
    def call_it(data: DataObject) -> None:
        returned.append(call(name, data))

    call_it()
    assert any(returned)

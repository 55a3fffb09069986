"""The calls of test_fuzzing.py, chosen by what libFuzzer sees them reach in the Python layer.

``pip install ".[fuzz]" && python -m tests.fuzz_public -max_total_time=60`` (libFuzzer's options).
"""

import random
import sys

import atheris
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

with atheris.instrument_imports(include=["ropewalk"]):
    from tests.test_fuzzing import FUNCTIONS, call

# libFuzzer begins with few bytes, and Hypothesis turns down what it cannot read to the end.
REST = random.Random(20170612).randbytes(4096)


@given(name=st.sampled_from(list(FUNCTIONS)), data=st.data())
def any_call(name: str, data: DataObject) -> None:
    call(name, data)


def call_chosen_by(choices: bytes) -> None:
    run = any_call.hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    run(choices + REST[len(choices) :])


atheris.Setup(sys.argv, call_chosen_by)
atheris.Fuzz()

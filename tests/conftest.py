"""What tests share: header, profile of hypothesis, generator, other interpreters, a browser."""

import os
import pickle
import platform
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import numpy as np
import pytest
from numpy.typing import NDArray

import ropewalk as rw

# Before any test imports them, so that what fails there is told as in tests.
pytest.register_assert_rewrite("tests.attention_calls", "tests.data", "tests.doubles")

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Doctests of every module are collected, and these scripts need transformers, PyTorch, atheris.
collect_ignore = ["fuzz_public.py", "golden/rotary_families.py"]

# What is told in colours, or in lines of another width, would be other text.
os.environ.update(PYTHON_COLORS="0", COLUMNS="80")

# No deadline: the first call of a process makes tables, and machines that run tests are shared.
hypothesis.settings.register_profile("ropewalk", deadline=None, derandomize=True, max_examples=200)
hypothesis.settings.load_profile("ropewalk")

RunPython = Callable[..., subprocess.CompletedProcess[str]]
# For PYTHONWARNINGS: since 3.12 Python warns of a fork where there are threads.
FORKS = "ignore:This process:DeprecationWarning"
Call = Callable[[str, tuple[Any, ...], dict[str, Any]], NDArray[Any]]

ELSEWHERE = {"chromium", "on_each_isa", "run_python"}  # fixtures of other processes
PICTURES = Path(__file__).parent / "plot"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say what pytest-run-parallel shall not call from many threads at once."""
    for item in items:
        if ELSEWHERE & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.thread_unsafe(reason="another process does its work"))
        elif item.path.is_relative_to(PICTURES):
            item.add_marker(pytest.mark.thread_unsafe(reason="Matplotlib is not made for threads"))


def pytest_report_header() -> str:
    config = rw.show_config()
    isas = ", ".join(config["supported_isas"])
    return (
        f"ropewalk {config['ropewalk']} ({config['compiler']}), isa {config['isa']} of {isas}, "
        f"{config['threads']} threads, NumPy {np.__version__}, {platform.machine()}"
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20170612)


@pytest.fixture
def run_python() -> RunPython:
    """Run code in a new interpreter; options are environment variables, None takes one away."""

    def run(code: str, **variables: str | None) -> subprocess.CompletedProcess[str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("ROPEWALK_")}
        given = inherited | variables
        environment = {k: v for k, v in given.items() if v is not None}
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=240, check=False
        )

    return run


@pytest.fixture
def same_on_each_isa(run_python: RunPython) -> Callable[[str, int], None]:
    """Give a check that code prints the same lines, and so many, on each instruction set."""

    def check(code: str, lines: int) -> None:
        found = {}
        for isa in rw.show_config()["supported_isas"]:
            result = run_python(code, ROPEWALK_ISA=isa)
            assert result.stderr == ""
            found[isa] = result.stdout.splitlines()
            assert len(found[isa]) == lines
        for isa, printed in found.items():
            assert printed == found["scalar"], isa

    return check


WORKER = """
import os, pickle, sys
import ropewalk as rw

assert rw.show_config()["isa"] == os.environ["ROPEWALK_ISA"]
while True:
    try:
        name, arguments, options = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    pickle.dump(getattr(rw, name)(*arguments, **options), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


def calling(worker: subprocess.Popen[bytes]) -> Call:
    requests, answers = worker.stdin, worker.stdout
    assert requests is not None
    assert answers is not None
    turn = threading.Lock()  # for tests that run in many threads at once

    def call(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        with turn:
            pickle.dump((name, arguments, options), requests)
            requests.flush()
            return pickle.load(answers)

    return call


@pytest.fixture(scope="session")
def on_each_isa() -> Iterator[list[Call]]:
    """Give one function for each instruction set: a call in a process that uses it."""
    workers = []
    for isa in rw.show_config()["supported_isas"]:
        environment = os.environ | {"ROPEWALK_ISA": isa}
        command = [sys.executable, "-c", WORKER]
        pipe = subprocess.PIPE
        workers.append(subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe))
    yield [calling(worker) for worker in workers]
    for worker in workers:
        worker.communicate()


@pytest.fixture(scope="module")  # its event loop runs until it is closed
def chromium() -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - most tests need no browser

    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium is installed here to show pages in")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=180_000
        )
        yield browser
        browser.close()

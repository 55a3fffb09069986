"""The tree is the architecture, and its rules are checked here.

Layers know only what lies below them; everything public is documented; names, stubs and versions
agree.
"""

import ast
import inspect
import re
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.conftest import RunPython

import ropewalk as rw
from ropewalk import _core

pytestmark = pytest.mark.thread_unsafe(reason="Python may fail to parse in two threads at once")

ROOT = Path(__file__).parent.parent
CPP = ROOT / "cpp"
PYTHON = ROOT / "python" / "ropewalk"
SOURCES = sorted(path for path in CPP.rglob("*") if path.suffix in {".cpp", ".hpp"})
# Folders that hold what is made, not what is written.
MADE = {"build", "dist", "__pycache__", "node_modules"}
MADE |= {settings.parent.name for settings in ROOT.glob("*/pyvenv.cfg")}  # virtual environments


def in_the_tree(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return not any(part in MADE or part.startswith(".") for part in parts)


def includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s+[<"](.+?)[>"]', path.read_text(), re.MULTILINE)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# Import


def test_importing_ropewalk_imports_numpy_and_itself_alone(run_python: RunPython) -> None:
    result = run_python("""
import sys
import numpy

before = set(sys.modules)
import ropewalk

names = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(names - {"numpy"} - set(sys.stdlib_module_names)))
print("importlib.metadata" in sys.modules)
""")
    assert (result.stdout, result.stderr) == ("ropewalk\nFalse\n", "")


def test_an_encoding_does_not_import_matplotlib_or_ml_dtypes(run_python: RunPython) -> None:
    result = run_python("""
import sys
import ropewalk as rw

rw.sinusoidal_encoding(range(5), 4)
rw.shift_matrix(3, 4)
print({"matplotlib", "ml_dtypes"} & set(sys.modules))
""")
    assert (result.stdout, result.stderr) == ("set()\n", "")


def test_ropewalk_prints_nothing(run_python: RunPython) -> None:
    result = run_python("import ropewalk")
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)


TASKS = Path("/proc/self/task")


@pytest.mark.skipif(not TASKS.exists(), reason="counts the threads in /proc")
def test_ropewalk_starts_its_threads_at_the_first_call(run_python: RunPython) -> None:
    result = run_python("""
import os
import numpy as np

def threads():
    return len(os.listdir("/proc/self/task"))

before = threads()
import ropewalk as rw

after = threads()
rw.set_num_threads(2)
rw.attention(*np.ones((3, 8, 512, 64), np.float32))
print(after - before, threads() - before)
""")
    assert (result.stdout, result.stderr) == ("0 1\n", "")


# Layers of the core

KERNEL_SIDE = [
    path
    for path in SOURCES
    if path.parent.name in {"kernels", "simd"}
    or (path.parent.name == "targets" and path.name not in {"dispatch.cpp", "dispatch.hpp"})
]
# What an instruction set may compile is what no other unit instantiates: headers without code.
WITHOUT_CODE = {"cstdint", "cstddef", "immintrin.h", "arm_neon.h"}
LAYERS = ["bindings", "plans", "targets", "kernels", "simd"]


def included_at_last(path: Path) -> set[str]:
    """Return what a file includes from outside, by itself or by what it includes."""
    found = set()
    for name in includes(path):
        found |= included_at_last(CPP / name) if (CPP / name).exists() else {name}
    return found


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_only_the_bindings_know_python(path: Path) -> None:
    text = path.read_text()
    if path.parent.name == "bindings":
        assert "pybind11" in text or "bindings/bindings.hpp" in includes(path)
    else:
        assert "pybind11" not in text
        assert "Python.h" not in text


@pytest.mark.parametrize("path", KERNEL_SIDE, ids=name_of)
def test_instruction_sets_compile_no_code_of_the_standard_library(path: Path) -> None:
    assert included_at_last(path) <= WITHOUT_CODE


@pytest.mark.parametrize("path", KERNEL_SIDE, ids=name_of)
def test_kernels_neither_throw_nor_allocate(path: Path) -> None:
    code = re.sub(r"//.*", "", path.read_text())
    assert not re.search(r"\b(throw|new|delete|malloc|free|try|catch)\b", code)


@pytest.mark.parametrize("path", [p for p in SOURCES if p.parent.name in LAYERS], ids=name_of)
def test_layers_include_only_what_lies_below(path: Path) -> None:
    folders = {name.partition("/")[0] for name in includes(path) if "/" in name}
    assert not folders & set(LAYERS[: LAYERS.index(path.parent.name)])


@pytest.mark.parametrize("path", sorted((CPP / "exact").iterdir()), ids=name_of)
def test_exact_arithmetic_includes_nothing_of_the_others(path: Path) -> None:
    assert {name.partition("/")[0] for name in includes(path) if "/" in name} <= {"exact"}


@pytest.mark.parametrize("path", [p for p in SOURCES if p.suffix == ".hpp"], ids=name_of)
def test_headers_are_included_once_and_say_what_they_hold(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert lines[0].startswith("// ")
    assert lines.count("#pragma once") == 1


@pytest.mark.parametrize("path", sorted((CPP / "bindings").glob("*.cpp")), ids=name_of)
def test_a_family_bears_one_name_in_every_folder(path: Path) -> None:
    if path.stem not in {"module", "arrays"}:  # what the families share
        assert (PYTHON / f"_{path.stem}.py").exists()
        assert (ROOT / "tests" / f"test_{path.stem}.py").exists()


# Layers of the library

MODULES = sorted(PYTHON.rglob("*.py"))


def imported_from_ropewalk(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ropewalk"):
            inside = (node.module or "").split(".")[1:2]
            names.update(inside or (alias.name for alias in node.names))
    return names


def test_plots_are_imported_by_nobody_but_plots_and_the_command_line() -> None:
    importers = {path for path in MODULES if "plot" in imported_from_ropewalk(path)}
    outside = {path.name for path in importers if "plot" not in path.parts}
    # The package says so to checkers of types alone: what it loads is tested elsewhere.
    assert outside == {"__init__.py", "__main__.py"}


def test_the_foundations_import_nothing_above_them() -> None:
    assert imported_from_ropewalk(PYTHON / "_options.py") == set()
    assert imported_from_ropewalk(PYTHON / "_arrays.py") == {"_core", "_options"}
    of_results = imported_from_ropewalk(PYTHON / "_results.py")
    assert of_results == {"_core", "_options", "_arrays", "_runtime"}
    assert imported_from_ropewalk(PYTHON / "_runtime.py") == {"_core", "_options"}
    of_conversions = imported_from_ropewalk(PYTHON / "_conversions.py")
    assert of_conversions == {"_core", "_results", "_runtime"}
    below = {"_core", "_options", "_arrays", "_results", "frequencies"}
    for path in (PYTHON / "frequencies").glob("*.py"):
        assert imported_from_ropewalk(path) <= below


# Names


def test_the_public_names_are_sorted_and_exist() -> None:
    assert rw.__all__ == sorted(rw.__all__)
    assert len(set(rw.__all__)) == len(rw.__all__)
    assert [name for name in rw.__all__ if not hasattr(rw, name)] == []


def test_the_public_names_are_what_dir_shows_with_the_modules_of_extras() -> None:
    assert dir(rw) == sorted([*rw.__all__, "dask", "explorer", "plot"])


def test_without_extras_all_public_names_are_there_and_can_be_looked_at(
    run_python: RunPython,
) -> None:
    result = run_python("""
import inspect
import sys

sys.modules |= dict.fromkeys(["anywidget", "dask", "matplotlib"])  # not there
import ropewalk
from ropewalk import *

print(dir(ropewalk) == ropewalk.__all__)
print({name for name, _ in inspect.getmembers(ropewalk)} >= set(ropewalk.__all__))
print(attention is ropewalk.attention)
try:
    ropewalk.plot
except ImportError as error:
    print(error)
""")
    told = "ropewalk.plot needs Matplotlib: pip install 'ropewalk[plot]'"
    assert (result.stdout, result.stderr) == (f"True\nTrue\nTrue\n{told}\n", "")


def test_every_public_name_of_the_package_is_in_all() -> None:
    public = {name for name in vars(rw) if not name.startswith("_")}
    modules = {name for name in public if isinstance(vars(rw)[name], ModuleType)}
    assert public - modules - {"TYPE_CHECKING", "import_module", "suppress"} <= set(rw.__all__)


def test_an_unknown_name_says_so() -> None:
    with pytest.raises(AttributeError, match="module 'ropewalk' has no attribute 'rope'"):
        rw.rope  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.parametrize(
    "module",
    [rw.articles, rw.bias, rw.dask, rw.explorer, rw.frequencies, rw.geometry, rw.properties],
)
def test_the_names_of_a_public_module_are_sorted_and_exist(module: ModuleType) -> None:
    names = module.__all__
    assert names == sorted(names)
    assert [name for name in names if not hasattr(module, name)] == []


def test_no_file_is_a_drawer_for_odds_and_ends() -> None:
    words = {"util", "utils", "common", "helper", "helpers", "misc"}
    paths = [path for path in ROOT.rglob("*") if in_the_tree(path)]
    assert len(paths) > 40
    assert [name_of(path) for path in paths if words & set(re.split(r"[._]", path.name))] == []


# Documentation

FUNCTIONS: dict[str, Any] = {
    f"{module.__name__}.{name}": vars(module)[name]
    for module in (
        rw,
        rw.articles,
        rw.bias,
        rw.dask,
        rw.explorer,
        rw.frequencies,
        rw.geometry,
        rw.properties,
    )
    for name in module.__all__
    if inspect.isroutine(vars(module).get(name))
}
FROM_PAPERS = [name for name in FUNCTIONS if not re.search("threads|config", name)]
functions = pytest.mark.parametrize("name", FUNCTIONS)


def sections(function: Any) -> list[str]:
    text = inspect.getdoc(function) or ""
    return re.findall(r"^(\w[\w ]*)\n-{3,}$", text, re.MULTILINE)


def test_there_are_functions_to_look_at() -> None:
    assert {"ropewalk.sinusoidal_encoding", "ropewalk.frequencies.linear"} <= set(FROM_PAPERS)


@functions
def test_a_function_documents_its_parameters(name: str) -> None:
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    assert ("Parameters" in sections(FUNCTIONS[name])) == bool(parameters)
    described = (inspect.getdoc(FUNCTIONS[name]) or "").partition("Returns\n---")[0]
    heads = re.findall(r"^(?:\*\*)?(\w+(?:, \w+)*)(?: :.*)?$", described, re.MULTILINE)
    assert set(parameters) <= {name for head in heads for name in head.split(", ")}


@functions
def test_a_function_documents_what_it_returns(name: str) -> None:
    returned = inspect.signature(inspect.unwrap(FUNCTIONS[name])).return_annotation
    nothing = returned in {"None", "Iterator[None]"}
    assert ("Returns" in sections(FUNCTIONS[name])) == (not nothing)


# As notebooks and help() show it: evaluated, `ArrayLike` alone has 300 characters.
def assert_types_are_named(function: Any) -> None:
    signature = inspect.signature(function)
    types = [parameter.annotation for parameter in signature.parameters.values()]
    assert all(isinstance(found, str) for found in [*types, signature.return_annotation])


@functions
def test_a_signature_names_its_types_as_the_source_does(name: str) -> None:
    assert_types_are_named(FUNCTIONS[name])


@pytest.mark.parametrize("name", rw.plot.__all__)
def test_a_plot_names_its_types_as_the_source_does(name: str) -> None:
    assert_types_are_named(vars(rw.plot)[name])


@functions
def test_a_function_has_examples(name: str) -> None:
    assert "Examples" in sections(FUNCTIONS[name])
    assert ">>> " in (inspect.getdoc(FUNCTIONS[name]) or "")


@pytest.mark.parametrize("name", FROM_PAPERS)
def test_an_encoding_or_schedule_names_its_source(name: str) -> None:
    assert "References" in sections(FUNCTIONS[name])
    sources = (inspect.getdoc(FUNCTIONS[name]) or "").partition("References\n---")[2]
    assert re.search(r"\b(19|20)\d\d\b", sources)


@functions
def test_sections_come_in_the_order_of_numpydoc(name: str) -> None:
    known = ["Parameters", "Returns", "Raises", "See Also", "Notes", "References", "Examples"]
    found = sections(FUNCTIONS[name])
    assert found == sorted(found, key=known.index)


@functions
def test_the_first_line_is_a_sentence(name: str) -> None:
    first = (inspect.getdoc(FUNCTIONS[name]) or "").splitlines()[0]
    assert first[0].isupper()
    assert first.endswith(".")
    assert len(first) < 80


# Agreement


def test_the_stub_lists_the_names_of_the_core() -> None:
    names = set()
    for node in ast.parse((PYTHON / "_core.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    assert names == {name for name in vars(_core) if not name.startswith("_")}


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert rw.__version__ == _core.version == metadata.version("ropewalk") == project["version"]


def test_the_package_is_typed() -> None:
    assert (PYTHON / "py.typed").exists()

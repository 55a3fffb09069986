"""What the READMEs show runs, the files they name are there, and both say the same."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
JAPANESE = (ROOT / "README.ja.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
LINK = r"\]\((?!https?:)([^)#]+)\)"


@pytest.mark.parametrize("code", BLOCKS, ids=range(1, len(BLOCKS) + 1))
def test_code_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    exec(compile(code, "README.md", "exec"), {})
    plt.close("all")


def test_shapes_in_comments_are_those_of_the_results() -> None:
    said = {}
    for code in BLOCKS:
        names: dict[str, object] = {}
        shapes = re.findall(r"^(\w+) = .*  # .*?\((\d+(?:, \d+)+)\)", code, re.MULTILINE)
        if shapes:
            exec(compile(code, "README.md", "exec"), names)
        for name, shape in shapes:
            said[name] = shape
            assert str(np.shape(names[name])) == f"({shape})"  # type: ignore[call-overload]
    assert {"batch", "out", "weights"} <= said.keys()


def test_code_is_found() -> None:
    assert BLOCKS


@pytest.mark.parametrize("target", sorted(set(re.findall(LINK, README + JAPANESE))))
def test_linked_files_exist(target: str) -> None:
    assert (ROOT / target).exists()


@pytest.mark.parametrize("language", ["python", "sh"])
def test_both_languages_show_the_same_code(language: str) -> None:
    code = rf"```{language}\n(.*?)```"
    assert re.findall(code, JAPANESE, re.DOTALL) == re.findall(code, README, re.DOTALL)


def links(text: str) -> set[str]:
    """What a README links to, but for the language that it is in."""
    found = {target.replace("notebooks/ja/", "notebooks/") for target in re.findall(LINK, text)}
    return {target.replace(".ja.md", ".md") for target in found} - {"README.md"}


def test_both_languages_link_to_the_same_files() -> None:
    assert links(JAPANESE) == links(README)


def test_both_languages_have_the_same_parts() -> None:
    part = r"^(#+ |- \*\*|\||!\[|cpp/|python/|tests |notebooks |benchmarks |docs )"
    assert re.findall(part, JAPANESE, re.MULTILINE) == re.findall(part, README, re.MULTILINE)


def test_the_japanese_prose_has_every_number_of_the_english() -> None:
    prose = [re.sub(r"```.*?```", "", text, flags=re.DOTALL) for text in (README, JAPANESE)]
    english, japanese = (set(re.findall(r"\d[\d,.^]*\d", text)) for text in prose)
    assert english <= japanese

"""What a release needs agrees with itself: versions, links, workflows, hooks, pages."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAGES = sorted(
    page for part in ("*.md", "docs/*.md", "docs/performance/*.md") for page in ROOT.glob(part)
)
repository = pytest.mark.skipif(not (ROOT / ".github").exists(), reason="an sdist has no workflows")


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def steps(workflow: Any) -> list[Any]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def commands(workflow: Any) -> list[str]:
    return [step["run"] for step in steps(workflow) if "run" in step]


# Versions


def test_the_citation_names_this_version() -> None:
    citation, project = read("CITATION.cff"), PROJECT["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert citation["title"].startswith(project["name"] + ": ")


def test_every_hook_has_a_version_that_the_extra_dev_allows() -> None:
    requirements = map(Requirement, PROJECT["project"]["optional-dependencies"]["dev"])
    allowed = {requirement.name: requirement.specifier for requirement in requirements}
    found = {}
    for repository in read(".pre-commit-config.yaml")["repos"]:
        name = re.sub("^mirrors-|-pre-commit$", "", repository["repo"].rpartition("/")[2])
        found[name] = repository["rev"].removeprefix("v")
    tools = {"check-jsonschema", "clang-format", "codespell", "mypy", "ruff", "rumdl", "zizmor"}
    assert tools <= set(found)
    assert [name for name in tools if not allowed[name].contains(found[name])] == []


# Links and pages


def anchors(text: str) -> set[str]:
    """What GitHub and MyST make of the headings."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), target


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    entries = re.findall(r"^(?:.*<)?([\w./]+?)>?$", index, re.MULTILINE)
    linked = {(ROOT / "docs" / f"{entry}.md").resolve() for entry in entries}
    assert {page.resolve() for page in PAGES} - linked == {ROOT / "docs" / "index.md"}


def test_the_reference_has_every_public_module() -> None:
    folder = ROOT / "python" / "ropewalk"
    modules = {path.name.removesuffix(".py") for path in folder.iterdir() if path.name[0] != "_"}
    public = {
        name for name in modules if (folder / name).is_dir() or (folder / f"{name}.py").exists()
    }
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert public == set(re.findall(r"^   ropewalk\.(\w+)$", reference, re.MULTILINE))


# Workflows


@repository
def test_there_are_workflows() -> None:
    assert [path.stem for path in WORKFLOWS] == ["ci", "release"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=name_of)
def test_a_workflow_may_read_and_nothing_else(path: Path) -> None:
    assert read(name_of(path))["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=name_of)
def test_actions_are_pinned_to_a_commit(path: Path) -> None:
    used = [step["uses"] for step in steps(read(name_of(path))) if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=name_of)
def test_jobs_wait_for_jobs_that_exist(path: Path) -> None:
    jobs = read(name_of(path))["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(jobs)


@repository
def test_the_workflow_runs_the_commands_of_a_contributor() -> None:
    run = commands(read(".github/workflows/ci.yml"))
    assert "bash .ci/run" in run
    assert PROJECT["tool"]["poe"]["tasks"]["check"] in run
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tests = next(line for line in readme.splitlines() if line.endswith("&& pytest"))
    assert tests in run


@repository
def test_only_the_last_job_of_a_release_may_publish() -> None:
    jobs = read(".github/workflows/release.yml")["jobs"]
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert "password" not in str(jobs["publish"])


def test_wheels_are_tested_with_files_that_exist() -> None:
    command = PROJECT["tool"]["cibuildwheel"]["test-command"]
    names = re.findall(r"\{project\}/(\S+)", command)
    assert len(names) > 3
    assert [name for name in names if not (ROOT / name).exists()] == []

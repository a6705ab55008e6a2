"""What README and docs say is true: their code runs, their files exist, their links lead somewhere."""

import re
from pathlib import Path

import pytest
import yaml

import worldloom as wl
from worldloom.core.project import load_project
from worldloom.worlds.market.body import MarketBody, Mechanism

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("graphs/*/README.md"),
    ]
)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_python_example_of_the_readme_runs_and_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = blocks(ROOT / "README.md", "python")
    assert len(example.strip().splitlines()) <= 15
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102  # our own text
    shown = capsys.readouterr().out
    assert "careful: 1.00" in shown
    assert "literal: 0.00" in shown
    assert "{'completed': 4}" in shown
    assert set(re.findall(r"None|'[^']*diverges", shown)) == {"None"}
    assert "graph TD" in shown


def test_the_project_file_of_the_models_page_loads(tmp_path: Path) -> None:
    (text,) = blocks(ROOT / "docs" / "models.md", "yaml")
    file = tmp_path / "worldloom.yaml"
    file.write_text(text, "utf-8")
    project = load_project(file)
    assert project.models["agent"].model in project.prices


def test_the_study_of_the_studies_page_is_played_by_its_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "docs" / "studies.md"
    (study,), (example,) = blocks(page, "yaml"), blocks(page, "python")
    (tmp_path / "study.yaml").write_text(study, "utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "studies.md", "exec"), {})  # noqa: S102  # our own text
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == ["steps=2", "steps=5", "steps=20"]


def test_the_market_of_the_markets_page_is_played_and_studied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "docs" / "market.md"
    (market, _, study), (example,) = blocks(page, "yaml"), blocks(page, "python")
    (tmp_path / "two-trades.yaml").write_text(market, "utf-8")
    (tmp_path / "study.yaml").write_text(study, "utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "market.md", "exec"), {})  # noqa: S102  # our own text
    assert "'gini': 0." in capsys.readouterr().out
    assert [row.variant.name for row in wl.sweep("study.yaml").rows] == ["capacity=1", "capacity=3"]


def test_the_markets_page_shows_each_shock_and_every_key_of_the_mechanism_with_its_default() -> None:
    _, levers, _ = blocks(ROOT / "docs" / "market.md", "yaml")
    body = MarketBody.model_validate(yaml.safe_load(levers)["world"])
    assert body.mechanism == Mechanism()
    assert body.mechanism.model_fields_set == set(Mechanism.model_fields)
    assert [shock.type for shock in body.shocks] == ["recession", "market_change"]
    assert all(shock.model_fields_set == set(type(shock).model_fields) for shock in body.shocks)


def test_the_folders_of_the_readme_exist() -> None:
    (tree,) = blocks(ROOT / "README.md", "text")
    top = [line.split()[0] for line in tree.splitlines() if line and not line.startswith(" ")]
    inner = [line.split()[0] for line in tree.splitlines() if line.startswith("    ")]
    assert len(top) >= 8
    assert all((ROOT / name).exists() for name in top)
    assert all((ROOT / "src" / "worldloom" / name).exists() for name in inner)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"

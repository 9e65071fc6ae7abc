"""Under which name, and from which folders, adapters are imported as they were at home."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.intake.programs.source_facts import SourceFacts

ANY_PACKAGE = "submission"


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """How adapters are imported.

    `module` and `import_paths` as in `Submission`, relative to the folder that holds the
    submission's files. `package` is set when that folder is itself a package to its files: it
    must have this name, the folder above it must be on the path too, and `module` starts with it.
    """

    module: str
    import_paths: tuple[str, ...]
    package: str | None = None


def plan_imports(
    root: Path, home_name: str, adapters: PurePosixPath, facts: SourceFacts
) -> ImportPlan:
    """Decide from the adapters' own imports and from which files lie where.

    `adapters` is their file relative to `root`; `home_name` is what the root was called at home.
    """
    folders = adapters.parts[:-1]
    own_folder = root.joinpath(*folders)
    dotted = ".".join((*folders, adapters.stem))
    at_root = tuple(_import_paths(root, folders))
    own = ("/".join(folders),) if folders else ()

    if facts.relative_level > len(folders) or (
        not folders and _imports_by_name(root, home_name, facts)
    ):
        package = home_name if _imports_by_name(root, home_name, facts) else ANY_PACKAGE
        return ImportPlan(f"{package}.{dotted}", at_root, package)

    siblings = bool(folders) and _imports_siblings(root, own_folder, facts)
    package_style = bool(folders) and (
        facts.relative_level > 0
        or _imports_by_name(root / folders[0], folders[0], facts)
        or ((own_folder / "__init__.py").is_file() and not siblings)
    )
    if package_style and not any("." in folder for folder in folders):
        return ImportPlan(dotted, (*at_root, *(own if siblings else ())))
    return ImportPlan(adapters.stem, tuple(dict.fromkeys((*own, *at_root))))


def _import_paths(root: Path, folders: tuple[str, ...]) -> Iterator[str]:
    """The folders above the adapters' own, nearest first, up to the root; each with its `src`."""
    for depth in range(max(len(folders) - 1, 0), -1, -1):
        path = "/".join(folders[:depth]) or "."
        yield path
        if root.joinpath(*folders[:depth], "src").is_dir():
            yield f"{path}/src".removeprefix("./")


def _imports_by_name(folder: Path, name: str, facts: SourceFacts) -> bool:
    """Whether what lies in a folder is imported as part of a package of the folder's name."""
    if _module_in(folder, name):
        return False
    below = (dotted.split(".")[1] for dotted in facts.imports if dotted.startswith(f"{name}."))
    return any(_module_in(folder, module) for module in below)


def _imports_siblings(root: Path, own_folder: Path, facts: SourceFacts) -> bool:
    """Whether a plain import names what lies beside the adapters, and nowhere else."""
    tops = {name.split(".")[0] for name in facts.imports}
    return any(
        _module_in(own_folder, name)
        and (name == own_folder.name or not _module_in(root, name))
        and not _module_in(root / "src", name)
        for name in tops
    )


def _module_in(folder: Path, name: str) -> bool:
    try:
        return (folder / f"{name}.py").is_file() or (folder / name).is_dir()
    except OSError:  # a longer name than a file can have
        return False

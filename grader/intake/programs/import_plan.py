"""Plans how adapters are imported: the module's name and the import paths.

Before that, the files of a private copy get the names and suffixes that programs expect.
"""

from __future__ import annotations

import contextlib
import html
import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.core.names import shortened
from grader.core.submission import Unreadable
from grader.intake.limits import CopyLimits, name_as_written
from grader.intake.open_folder import is_file_at, is_folder_at, read_bounded
from grader.intake.programs.source_facts import SourceFacts, read_facts

_NOTEBOOK = re.compile(rb'\s*\{.*"(?:cells|worksheets)"', re.DOTALL)
# The files in which Canvas and Moodle keep typed text, and a web address.
_TYPED = ("text entry.html", "onlinetext.html")
_ADDRESS = "web address.html"
_TAG = re.compile(r"<[^>]*>")
_SEARCHED, _SHOWN = 1000, 60


def put_as_written(copy: Path, limits: CopyLimits) -> None:
    """Gives the files and folders of a copy the names that programs expect.

    Raises:
        Unreadable: if there is nothing but typed text, or a web address.
    """
    for path in sorted(copy.rglob("*"), reverse=True):  # a folder after what is in it
        if not os.path.lexists(target := path.with_name(composed(path.name))):
            with contextlib.suppress(OSError):
                path.rename(target)
    for file in sorted(path for path in copy.rglob("*") if path.is_file()):
        name = name_as_written(file.name)
        if name != file.name:
            with contextlib.suppress(OSError):
                os.link(file, file.with_name(name))
                file = file.with_name(name)
        if name.endswith(".py") and _is_notebook(file, limits):
            with contextlib.suppress(OSError):
                os.link(file, file.with_suffix(".ipynb"))
                file.unlink()
    files = [path for path in copy.rglob("*") if path.is_file()]
    if len(files) == 1:
        _refuse_typed(files[0], limits)


def composed(name: str) -> str:
    """Returns a name in NFC, in which Python looks modules up; archives of macOS may have NFD."""
    return unicodedata.normalize("NFC", name)


def _is_notebook(file: Path, limits: CopyLimits) -> bool:
    beginning = read_bounded(file, limits.source.bytes_each)
    return _NOTEBOOK.match(beginning) is not None and not read_facts([beginning]).adapters


def _refuse_typed(file: Path, limits: CopyLimits) -> None:
    """Refuses text that was typed into a platform, and a web address."""
    if file.name not in (*_TYPED, _ADDRESS):
        return
    page = read_bounded(file, limits.source.bytes_each).decode("utf-8", "replace")
    text = html.unescape(_TAG.sub(" ", page[:_SEARCHED]))
    said = shortened(" ".join(text.split())[:_SHOWN]) or "it is empty"
    if file.name == _ADDRESS:
        raise Unreadable(f"it is a web address, which is not opened ({said}): hand in the files")
    raise Unreadable(f"it is text that was typed into the platform ({said}): hand in a file")


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
    """Decides from the adapters' own imports and from the places of files.

    `adapters` is their file relative to `root`; `home_name` is the name of the root at home.
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
    """Yields the folders above the adapters' own up to the root, each with its `src`."""
    for depth in range(max(len(folders) - 1, 0), -1, -1):
        path = "/".join(folders[:depth]) or "."
        yield path
        if root.joinpath(*folders[:depth], "src").is_dir():
            yield f"{path}/src".removeprefix("./")


def _imports_by_name(folder: Path, name: str, facts: SourceFacts) -> bool:
    """Returns whether a folder's files import each other as a package of the folder's name."""
    if _module_in(folder, name):
        return False
    below = (dotted.split(".")[1] for dotted in facts.imports if dotted.startswith(f"{name}."))
    return any(_module_in(folder, module) for module in below)


def _imports_siblings(root: Path, own_folder: Path, facts: SourceFacts) -> bool:
    """Returns whether a plain import names a module that lies beside the adapters only."""
    tops = {name.split(".")[0] for name in facts.imports}
    return any(
        _module_in(own_folder, name)
        and (name == own_folder.name or not _module_in(root, name))
        and not _module_in(root / "src", name)
        for name in tops
    )


def _module_in(folder: Path, name: str) -> bool:
    return is_file_at(folder / f"{name}.py") or is_folder_at(folder / name)

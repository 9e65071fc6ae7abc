"""The packages that a class's submissions need, and those of an assignment."""

from __future__ import annotations

import importlib.metadata
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from grader.core.assignment import Assignment, BadAssignment
from grader.core.names import KNOWN_PACKAGES, SILENT, several
from grader.core.text import plain, quantity
from grader.worker.packages import is_installed

_OTHERWISE_CALLED = {
    "cv2": "opencv-python",
    "hydra": "hydra-core",
    "IPython": "ipython",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}


def distribution_of(package: str) -> str | None:
    """Returns the distribution of a well-known package; None for any other package.

    A stranger's import does not justify a distribution that happens to have the same name.
    """
    if package not in KNOWN_PACKAGES:
        return None
    return _OTHERWISE_CALLED.get(package, package.replace("_", "-"))


def required_distributions(assignment: Assignment, with_preload: bool) -> list[str]:
    """Returns pip's names of the packages that an assignment lists in its table.

    The names are those of the distributions installed here. A module in `preload` that is not
    installed is left out, as it is by the grader.

    Raises:
        BadAssignment: if one of `packages` is neither installed nor well known.
    """
    here, found = importlib.metadata.packages_distributions(), set[str]()
    for package in assignment.packages:
        names = here.get(package) or [*filter(None, [distribution_of(package)])]
        if not names and package not in sys.stdlib_module_names:
            raise BadAssignment(
                f"[tool.grader] packages: {package} is not installed here, so pip's name for it "
                "is not known: install it first"
            )
        found.update(names)
    for module in assignment.preload if with_preload else ():
        found.update(here.get(module.partition(".")[0], ()))
    return sorted(map(canonicalize_name, found))


_LISTED = 5
_LISTED_NEEDS = 30


@dataclass(frozen=True, slots=True)
class PackageNeed:
    """A package that submissions import, and whether it is installed here.

    `importing` counts the submissions that import it.
    """

    package: str
    importing: int
    is_here: bool

    @property
    def is_replaced(self) -> bool:
        """Returns whether it is not installed, but its stub package suffices."""
        return not self.is_here and self.package in SILENT

    @property
    def is_missing(self) -> bool:
        """Returns whether code that uses the package fails here."""
        return not self.is_here and not self.is_replaced


def needs_of(
    imported: Mapping[str, int],
    own: Iterable[str] = (),
    is_here: Callable[[str], bool] = is_installed,
) -> list[PackageNeed]:
    """Returns the packages that a class imports except the course's `own`, most imported first."""
    found = [PackageNeed(name, n, is_here(name)) for name, n in imported.items() if name not in own]
    return sorted(found, key=lambda need: (-need.importing, need.package))[:_LISTED_NEEDS]


def needs_in_words(needs: Iterable[PackageNeed]) -> Iterator[str]:
    """Yields sentences on absent packages: how many import each, and how to install it."""
    needs = list(needs)
    for need in needs:
        if need.is_missing:
            who = quantity(need.importing, "submission")
            yield (
                f"not installed here: {plain(need.package)}, which {who} "
                f"import{'s' if need.importing == 1 else ''}"
            )
    replaced = [plain(need.package) for need in needs if need.is_replaced]
    if replaced:
        yield f"not installed here, and not needed: {', '.join(replaced)}"
    missing = [need.package for need in needs if need.is_missing]
    if missing:
        yield "an import alone costs nothing; code that uses a missing package fails"
    names = [name for name in map(distribution_of, missing) if name is not None]
    if names:
        yield f"to install them: {shlex.quote(sys.executable)} -m pip install {' '.join(names)}"
    unknown = [plain(name) for name in missing if distribution_of(name) is None]
    if unknown:
        yield (
            f"unknown to the grader, so check them before you install them: {', '.join(unknown)} "
            "(perhaps a file of their own that was not handed in)"
        )


def missing_in_words(packages: Mapping[str, int]) -> str:
    """Returns a sentence on the packages that are not installed; "" if there are none.

    For example: "not installed here: einx (12 submissions)".
    """
    told = [f"{plain(name)} ({quantity(many, 'submission')})" for name, many in packages.items()]
    listed = several(told, shown=_LISTED)
    return f"not installed here: {listed}; see grader doctor SUBMISSIONS" if told else ""


def not_preloaded_in_words(failed: Mapping[str, str]) -> Iterator[str]:
    """Yields a sentence for each `preload` module that could not be loaded."""
    for name, why in failed.items():
        yield f"preload: {name} could not be imported, and is left out: {plain(why)}"

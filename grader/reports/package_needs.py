"""The packages that a class's submissions need, and those of an assignment."""

from __future__ import annotations

import importlib.metadata
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

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


def needs_in_words(
    imported: Mapping[str, int],
    own: Iterable[str] = (),
    is_here: Callable[[str], bool] = is_installed,
) -> Iterator[str]:
    """Yields sentences on the packages that are absent: how many import each, how to install it.

    The course's `own` packages are left out.
    """
    order = sorted(imported.items(), key=lambda one: (-one[1], one[0]))
    absent = [one for one in order if one[0] not in own and not is_here(one[0])][:_LISTED_NEEDS]
    missing = [(name, importing) for name, importing in absent if name not in SILENT]
    for name, importing in missing:
        who = quantity(importing, "submission")
        imports = "imports" if importing == 1 else "import"
        yield f"not installed here: {plain(name)}, which {who} {imports}"
    replaced = [plain(name) for name, _ in absent if name in SILENT]
    if replaced:
        yield f"not installed here, and not needed: {', '.join(replaced)}"
    if not missing:
        yield "nothing is missing"
        return
    yield "an import alone costs nothing; code that uses a missing package fails"
    names = [name for name in (distribution_of(name) for name, _ in missing) if name is not None]
    if names:
        yield f"to install them: {shlex.quote(sys.executable)} -m pip install {' '.join(names)}"
    unknown = [plain(name) for name, _ in missing if distribution_of(name) is None]
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

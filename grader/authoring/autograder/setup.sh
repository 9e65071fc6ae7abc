#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the autograder's image.
# It makes a virtual environment with what requirements.txt names. Where pip finds that is set by
# requirements.txt itself, by pip's configuration, or by PIP_* variables exported here.
set -euo pipefail

root=${AUTOGRADER_ROOT:-/autograder}
source=$root/source
export DEBIAN_FRONTEND=noninteractive PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# Prints the name of a Python that can run the grader, if there is one.
find_python() {
    local name
    for name in python3.13 python3.12 python3.11 python3; do
        if "$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
            2>/dev/null; then
            echo "$name"
            return
        fi
    done
}

python=$(find_python)
if [ -z "$python" ]; then
    apt-get update
    for version in 3.12 3.11; do
        apt-get install -y --no-install-recommends "python$version" "python$version-venv" && break
    done
    python=$(find_python)
fi
if [ -z "$python" ]; then
    echo "The grader needs Python 3.11 or newer, which this image has no package of:" \
        "choose a newer base image in the autograder's settings." >&2
    exit 1
fi

"$python" -m venv "$root/venv"
if ! "$root/venv/bin/pip" install --constraint "$source/constraints.txt" \
    --requirement "$source/requirements.txt"; then
    echo "pip could not install what requirements.txt names. If it is torch that pip did not find:" \
        "CPU builds are in an index of PyTorch's own; make the zip anew with" \
        "'grader gradescope-zip --torch-index URL', the URL from PyTorch's installation page." >&2
    exit 1
fi

export PYTHONPATH=$source/engine
"$root/venv/bin/python" -m compileall -q "$source/engine" "$source/course"
"$root/venv/bin/python" -m grader doctor || echo "The grader will use what isolation there is."
# Where submissions run, nobody but root looks into the tests and solutions.
chmod o= "$source"

"""The test files that the pages show: each indented block that begins with `# test_NAME.py`, run by pytest. Tests that need
Triton, torch or nvcc are left out where there is none.

    pages.py FOLDER_OF_THE_REPOSITORY
"""

import importlib.metadata
import pathlib
import re
import sys
import tempfile
import textwrap

try:
    import numpy  # noqa: F401
    import pytest
except ImportError:
    print("without pytest or numpy")
    sys.exit()

import ptxasw
from ptxasw._module import nvcc

BLOCK = re.compile(r"^    # (test_\w+\.py)\n(?:(?:    .*)?\n)+", re.MULTILINE)
docs = pathlib.Path(sys.argv[1], "docs")
found = [match for page in ("python.md", "prove.md") for match in BLOCK.finditer((docs / page).read_text())]
assert len(found) == 4, found


def can(text: str) -> bool:
    """Whether what a file needs is there."""
    try:
        if "import triton" in text:
            import triton  # noqa: F401

            if "import torch" in text:
                import torch  # noqa: F401
        else:
            nvcc()
    except (ImportError, ptxasw.Error) as error:
        print(f"left out: {error}")
        return False
    return True


def is_installed() -> bool:
    """Whether the module comes from a wheel, which declares the plugin."""
    try:
        return bool(importlib.metadata.distribution("ptxasw"))
    except importlib.metadata.PackageNotFoundError:
        return False


with tempfile.TemporaryDirectory() as folder:
    files = {match[1]: textwrap.dedent(match[0]) for match in found}
    chosen = [name for name, text in files.items() if can(text)]
    for name in chosen:
        pathlib.Path(folder, name).write_text(files[name])
    plugin = [] if is_installed() else ["-p", "ptxasw._pytest"]
    if chosen:
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *plugin, *(f"{folder}/{name}" for name in chosen)]))

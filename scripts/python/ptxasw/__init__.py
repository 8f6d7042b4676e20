"""ptxasw from Python: what the memory accesses of a kernel cost, what can be replaced, proofs, and execution without a GPU.

``lint``, ``candidates``, ``trace``, ``rewrite``, ``verify`` and ``asm`` take PTX text, a path, or a compiled kernel of
Triton, Numba or CuPy, and return the JSON of the program's subcommand of the same name as a dict, which a notebook shows
as a table. ``run`` executes a kernel on numpy arrays, ``Module`` has the kernels of a CUDA source, and ``triton.activate``
executes Triton's. ``equivalent`` compares two algorithms, also of functions with ``@triton.jit``, and
``assert_same_function`` is the assertion for a test. Further keyword arguments are the options of the subcommand:
``lint(kernel, block="16x16")`` is ``ptxasw lint --block 16x16``. Anything that fails raises ``Error``.
"""

import importlib
from typing import Any

from ._equivalence import Launch, assert_same_function, equivalent, launch
from ._launch import run
from ._memory import SYMBOL, concrete
from ._module import Module
from ._program import Error, Fault, Option, program
from ._report import Assembly, Candidates, Equivalence, Lint, Report, Rewritten, Run, Trace, Verification
from ._source import Source, report, text, written

__all__ = [
    "Assembly", "Candidates", "Equivalence", "Error", "Fault", "Launch", "Lint", "Module", "Option", "Report", "Rewritten", "Run",
    "SYMBOL", "Source", "Trace", "Verification", "asm", "assert_same_function", "candidates", "concrete", "equivalent", "launch",
    "lint", "program", "rewrite", "run", "text", "trace", "verify"]


def __getattr__(name: str) -> Any:
    if name == "triton":
        # Not imported with the package: Triton need not be there.
        return importlib.import_module(".triton", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def lint(kernel: Source, /, **options: Option) -> Lint:
    """What each memory access costs, and findings with advice. Options: ``block="16x16"``, ``kernel=NAME``,
    ``level="warning"``, ``pointer_align=BYTES``."""
    return Lint(report("lint", kernel, options))


def candidates(kernel: Source, /, **options: Option) -> Candidates:
    """Every global load, what was decided, and why. Options: ``strategy="reuse,wide"``, ``arch="sm_90"``, ``kernel=NAME``."""
    return Candidates(report("candidates", kernel, options))


def trace(kernel: Source, /, **options: Option) -> Trace:
    """The symbolic memory trace. Option: ``kernel=NAME``."""
    return Trace(report("trace", kernel, options))


def rewrite(kernel: Source, /, **options: Option) -> Rewritten:
    """The rewritten text under ``"ptx"``, beside what ``candidates`` says. Options: those of ``candidates``."""
    import json
    import pathlib
    import tempfile

    from ._program import call

    with tempfile.TemporaryDirectory() as folder:
        decided = pathlib.Path(folder, "report.json")
        with written(kernel) as (name, stdin):
            done = call(["rewrite", name, "--report", str(decided)], options, stdin)
        return Rewritten(json.loads(decided.read_text()), ptx=done.stdout.decode())


def verify(original: Source, rewritten: Source, /, **options: Option) -> Verification:
    """Whether the second program does what the first one does: ``"verdict"`` is ``"equal"``, ``"different"`` or
    ``"unknown"``. Options: ``block="128"``, ``kernel=NAME``, ``against=NAME``, ``launch=FILE``."""
    with written(original, to_file=True) as (first, _), written(rewritten, to_file=True) as (second, _):
        return Verification(report("verify", first, options, second))


def asm(kernel: Source, /, **options: Option) -> Assembly:
    """Resources and the static schedule of the machine code. PTX is assembled by the real ptxas; of a kernel of Triton its
    machine code is read. Options: ``arch="sm_90"``, ``kernel=NAME``."""
    return Assembly(report("asm", kernel, options))

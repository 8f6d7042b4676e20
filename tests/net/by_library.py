"""Compiles Triton's or Numba's kernels to PTX, in the environment that has them.

    by_library.py triton|numba        reads a JSON list of jobs from standard input

A job has `source` (a path), `function`, `number` (90 for sm_90), `compile` (keywords) and `output` (where
the PTX goes). Prints a JSON object from output to the error message of those that failed."""

import importlib.util
import json
import pathlib
import sys


def load(source):
    """The module in a file."""
    spec = importlib.util.spec_from_file_location(pathlib.Path(source).stem, source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def by_triton(function, signature, job):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types, block = signature
    source = ASTSource(fn=function, signature={**types, "BLOCK": "constexpr"}, constexprs={"BLOCK": block})
    return triton.compile(source, target=GPUTarget("cuda", job["number"], 32), options=job["compile"]).asm["ptx"]


def by_numba(function, signature, job):
    from numba import cuda

    capability = divmod(job["number"], 10)
    return cuda.compile(function, signature, cc=capability, output="ptx", abi="numba", **job["compile"])[0]


def main():
    compiler = {"triton": by_triton, "numba": by_numba}[sys.argv[1]]
    failures = {}
    for job in json.load(sys.stdin):
        module = load(job["source"])
        function = getattr(module, job["function"])
        try:
            text = compiler(function, module.SIGNATURES[function], job)
            pathlib.Path(job["output"]).write_text(text)
        except Exception as error:  # whatever a compiler throws is a line in the table
            failures[job["output"]] = f"{type(error).__name__}: {error}"
    json.dump(failures, sys.stdout)


main()

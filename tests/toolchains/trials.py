"""The trials of compilers that start a ptxas: each takes a Bench and notes what it saw."""

import filecmp
import os

import producers
from bench import SOURCES

TRITON = """
import sys; sys.path.insert(0, sys.argv[1])
import triton_kernels as kernels, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
for function, (types, block) in kernels.SIGNATURES.items():
    source = ASTSource(fn=function, signature={**types, "BLOCK": "constexpr"}, constexprs={"BLOCK": block})
    made = triton.compile(source, target=GPUTarget("cuda", 80, 32))
    open(f"{sys.argv[2]}/{function.__name__}.cubin", "wb").write(made.asm["cubin"])
"""


def nvcc(bench):
    """Everything nvcc makes, through a private toolkit."""
    program = bench.toolkit() / "bin/nvcc"
    source = bench.source()

    def one(what, words, output, expected):
        if bench.succeeds(what, bench.run(program, *words, "-o", output, source)) and expected is not None:
            found = bench.shuffles(output)
            bench.check(f"{what}: {'SHFL' if expected else 'no SHFL'} in the machine code",
                        (found > 0) == expected and found >= 0, f"{found} SHFL")

    one("-cubin", ["-cubin", "-arch=sm_80"], "a.cubin", True)
    one("-fatbin, two -gencode, -t 4", ["-fatbin", "-t", "4", "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90,code=[sm_90,compute_90]"], "a.fatbin", True)
    one("-c", ["-c", "-arch=sm_86"], "a.o", True)
    one("-c -lineinfo", ["-c", "-arch=sm_86", "-lineinfo"], "lines.o", True)
    one("-G is left alone", ["-cubin", "-arch=sm_86", "-G"], "debug.cubin", False)
    one("PTX only", ["-fatbin", "-gencode=arch=compute_80,code=compute_80"], "p.fatbin", None)
    done = bench.run(program, "-cubin", "-arch=sm_80", "-Xptxas", "-v", "-o", "v.cubin", source)
    bench.check("-Xptxas -v is passed on", done.returncode == 0 and "registers" in done.stderr + done.stdout, done.stderr)
    keep = bench.folder / "keep"
    keep.mkdir()
    bench.succeeds("--keep", bench.run(program, "-cubin", "-arch=sm_80", "--keep", "--keep-dir", keep, "-o", "k.cubin", source))
    ptx = bench.folder / "k.ptx"
    bench.succeeds("-ptx", bench.run(program, "-ptx", "-arch=compute_80", "-o", ptx, source))
    bench.check("-ptx: the text is what nvcc makes", filecmp.cmp(ptx, bench.ptx(), shallow=False))
    kept = next(keep.glob("*.ptx"), None)
    bench.check("--keep: the text kept is nvcc's", kept and "shfl" not in kept.read_text(), kept)
    (bench.folder / "main.cu").write_text(
        "__device__ float other(float x) { return x; }\n"
        "extern __device__ float far(float);\n__global__ void near(float* p) { *p = far(*p) + other(*p); }\n"
        "int main() { near<<<1, 1>>>(nullptr); }\n")
    (bench.folder / "far.cu").write_text(
        "__device__ float far(float x) { return x + 1; }\n"
        "__global__ void three(float* o, const float* p, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i + 2 < n) o[i] = p[i] + p[i + 1] + p[i + 2];\n}\n")
    if bench.succeeds("-dc", bench.run(program, "-dc", "-arch=sm_80", "main.cu", "far.cu")):
        if bench.succeeds("device link", bench.run(program, "-dlink", "-arch=sm_80", "-o", "linked.o", "main.o", "far.o")):
            bench.check("-dc: SHFL in the object", bench.shuffles(bench.folder / "far.o") > 0)
    bench.check("no temporary file is left", not bench.leftovers(), bench.leftovers())


def clang(bench):
    """--ptxas-path; --cuda-path leads clang to the folder's own bin/ptxas."""
    program = producers.debian("clang")
    words = [program, "-x", "cuda", "--cuda-device-only", "-c", "-w", "-std=c++17", "-nocudainc", "-nocudalib",
             "--cuda-gpu-arch=sm_80", "-O2", bench.source(), "-o"]
    if bench.succeeds("--ptxas-path", bench.run(
            *words, "by-path.cubin", f"--ptxas-path={bench.stand_in}", PTXASW_PTXAS=bench.ptxas)):
        bench.check("--ptxas-path: SHFL", bench.shuffles(bench.folder / "by-path.cubin") > 0)
    toolkit = bench.toolkit()
    if not (toolkit / "nvvm/libdevice").exists():
        bench.check("--cuda-path: the toolkit has libdevice", False, toolkit)
    if bench.succeeds("--cuda-path", bench.run(*words, "by-folder.cubin", f"--cuda-path={toolkit}")):
        bench.check("--cuda-path: SHFL", bench.shuffles(bench.folder / "by-folder.cubin") > 0)


def triton(bench):
    """TRITON_PTXAS_PATH, kernels compiled to cubin without a GPU."""
    python = producers.environment("triton")
    out = bench.folder / "out"
    out.mkdir()
    reports = bench.folder / "reports"
    done = bench.run(python, write(bench, "kernels.py", TRITON), SOURCES, out, TRITON_PTXAS_PATH=bench.stand_in,
                     TRITON_CACHE_DIR=bench.folder / "cache", PTXASW_PTXAS=bench.ptxas, PTXASW_REPORT=reports)
    bench.check("TRITON_PTXAS_PATH: every kernel compiles", done.returncode == 0, done.stderr[-200:])
    made = sorted(out.glob("*.cubin"))
    bench.check("cubins load", made and all(bench.shuffles(path) >= 0 for path in made), f"{len(made)} cubins")
    seen = list(reports.glob("*.json")) if reports.exists() else []
    bench.check("Triton called this ptxas", len(seen) >= len(made) > 0, f"{len(seen)} reports")


def nvhpc(bench):
    """A stand-in for its folders, and its recorded command line."""
    place = bench.folder / "Linux_x86_64/25.1/cuda/12.6/bin"
    place.mkdir(parents=True)
    (place / "ptxas").symlink_to(bench.program)
    (place / "ptxas.real").symlink_to(bench.ptxas)
    ptx = bench.ptx("sm_75")
    before = ptx.read_bytes()
    done = bench.run(place / "ptxas", "-arch=sm_75", "-w", "-m64", "-O3", "-o", "x.bin", "--compile-only", ptx)
    if bench.succeeds("-arch=sm_75 -w -m64 -O3 -o x.bin --compile-only x.ptx", done):
        bench.check("SHFL", bench.shuffles(bench.folder / "x.bin") > 0)
    bench.check("the user's PTX is untouched", ptx.read_bytes() == before)


def recorded(bench):
    """Command lines of compilers that cannot be installed here: the same status, messages and, where
    nothing is rewritten, machine code as from the real ptxas."""
    ptx = bench.ptx()
    lines = {
        "CUDA.jl": ["--verbose", "--gpu-name", "sm_80", "--output-file", "julia.cubin", ptx],
        "CUDA.jl, debug": ["--verbose", "--gpu-name", "sm_80", "--output-file", "j.cubin", ptx, "--device-debug"],
        "Rust CUDA": ["--gpu-name=sm_80", "--output-file=rust.cubin", ptx],
        "GCC's check": ["-c", "-o", "/dev/null", ptx, "--gpu-name", "sm_80", "-O0"],
        "XLA": [ptx, "-o", "xla.cubin", "-arch=sm_80", "--warn-on-spills", "-v"],
        "an option file": ["--options-file", write(bench, "words", "-arch=sm_80 -o opt.cubin"), ptx],
        "version": ["--version"],
        "help": ["--help"],
    }
    for who, words in lines.items():
        plain = bench.run(bench.ptxas, *words)
        ours = bench.run(bench.stand_in, *words, PTXASW_PTXAS=bench.ptxas)
        first = lambda done: (done.returncode, [line for line in done.stdout.splitlines() if "registers" not in line
                                                and "ompile time" not in line and "bytes stack" not in line])
        bench.check(f"{who}: {' '.join(map(str, words[:3]))} ...", first(plain) == first(ours), ours.stderr)
    bench.check("rewritten for CUDA.jl", bench.shuffles(bench.folder / "julia.cubin") > 0)


def numba(bench):
    """Numba hands PTX to the driver or to nvJitLink: it calls no ptxas, which this notes."""
    python = producers.environment("numba")
    reports = bench.folder / "reports"
    done = bench.run(python, "-c", f"import sys; sys.path.insert(0, {str(SOURCES)!r})\n"
                     "import numba_kernels as n; from numba import cuda\n"
                     "[cuda.compile(f, s, cc=(8, 0), output='ptx', abi='numba') for f, s in n.SIGNATURES.items()]",
                     PTXASW_PTXAS=bench.ptxas, PTXASW_REPORT=reports, PATH=f"{bench.folder}/bin:{os.environ['PATH']}")
    bench.check("compiles to PTX", done.returncode == 0, done.stderr[-200:])
    bench.check("calls no ptxas, so there is nothing to stand in for", not reports.exists())


def write(bench, name, text):
    """A file of the bench."""
    path = bench.folder / name
    path.write_text(text)
    return path

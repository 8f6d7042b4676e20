"""Trials of libraries that compile kernels themselves: which of them start a ptxas, and how."""

import json
import os

import producers
from bench import SOURCES

producers.PACKAGES["cupy"] = ["cupy-cuda13x==14.2.0", "nvidia-cuda-nvrtc==13.5.37"]
producers.PACKAGES["jax"] = ["jax==0.10.2", "jaxlib==0.10.2", "jax-cuda13-plugin==0.10.2", "jax-cuda13-pjrt==0.10.2",
                           "nvidia-cuda-nvcc==13.5.37", "nvidia-nvvm==13.5.37"]

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

KERNEL = """
extern "C" __global__ void three(float* o, const float* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 2 < n) o[i] = p[i] + p[i + 1] + p[i + 2];
}
"""

CUPY = """
import sys
from cupy.cuda import compiler
source, folder = open(sys.argv[1]).read(), sys.argv[2]
# What RawKernel and RawModule call; above it CuPy asks for a device.
made, _ = compiler._NVRTCProgram(source, "kernel.cu", method="cubin").compile(("--gpu-architecture=sm_80",))
# (CuPy drops the last byte, as of a C string; the driver is given no length.)
open(f"{folder}/nvrtc.cubin", "wb").write(made + bytes(1))
if len(sys.argv) > 3:
    open(f"{folder}/nvcc.cubin", "wb").write(compiler.compile_using_nvcc(source, (), "80"))
"""

# XLA compiles ahead of time for a device that is described; only what its passes divide by or compare
# with matters here.
DEVICE = """
gpu_device_info {
  cuda_compute_capability { major: 8 }
  core_count: 108 fpus_per_core: 64 threads_per_warp: 32
  threads_per_block_limit: 1024 threads_per_core_limit: 2048
  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  registers_per_block_limit: 65536 registers_per_core_limit: 65536
  shared_memory_per_block: 49152 shared_memory_per_block_optin: 166912 shared_memory_per_core: 167936
  l2_cache_size: 41943040 device_memory_size: 40000000000 memory_bandwidth: 1555200000000 clock_rate_ghz: 1.41
  driver_version: "13.0.0" runtime_version: "13.0.0" compile_time_toolkit_version: "13.0.0" dnn_version: "9.10.0"
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 }
device_description_str: "described"
"""

JAX = """
import sys
if len(sys.argv) > 2:
    sys.modules["nvidia"] = None  # as where JAX has brought no CUDA packages along
import jax, jax.numpy as jnp
from jax.experimental import topologies
device = topologies.get_topology_desc(platform="cuda", topology="1x1x1", target_config=open(sys.argv[1]).read())
mesh = jax.sharding.Mesh(device.devices, ("x",))
where = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
def row(a): return a[:-2] + 2 * a[1:-1] + a[2:]
def plane(a): return a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1] - 4 * a[1:-1, 1:-1]
def softmax(a): return jax.nn.softmax(a, axis=-1)
def scan(a): return jnp.cumsum(jnp.sort(a))
for function, shape, type in ((row, (4099,), jnp.float32), (plane, (129, 517), jnp.float32),
                              (plane, (129, 517), jnp.float64), (softmax, (64, 1000), jnp.float32),
                              (scan, (5000,), jnp.int32)):
    jax.jit(function).trace(jax.ShapeDtypeStruct(shape, type, sharding=where)).lower().compile()
    print(function.__name__)
"""


def triton(bench):
    """TRITON_PTXAS_PATH, kernels compiled to cubin without a GPU."""
    python = producers.environment("triton")
    out = bench.folder / "out"
    out.mkdir()
    reports = bench.folder / "reports"
    done = bench.run(python, bench.write("kernels.py", TRITON), SOURCES, out, TRITON_PTXAS_PATH=bench.stand_in,
                     TRITON_CACHE_DIR=bench.folder / "cache", PTXASW_PTXAS=bench.ptxas, PTXASW_REPORT=reports)
    bench.check("TRITON_PTXAS_PATH: every kernel compiles", done.returncode == 0, last(done.stderr))
    made = sorted(out.glob("*.cubin"))
    bench.check("cubins load", made and all(bench.shuffles(path) >= 0 for path in made), f"{len(made)} cubins")
    seen = list(reports.glob("*.json")) if reports.exists() else []
    bench.check("Triton called this ptxas", len(seen) >= len(made) > 0, f"{len(seen)} reports")


def numba(bench):
    """Numba hands PTX to the driver or to nvJitLink: it calls no ptxas, which this notes."""
    python = producers.environment("numba")
    reports = bench.folder / "reports"
    done = bench.run(python, "-c", f"import sys; sys.path.insert(0, {str(SOURCES)!r})\n"
                     "import numba_kernels as n; from numba import cuda\n"
                     "[cuda.compile(f, s, cc=(8, 0), output='ptx', abi='numba') for f, s in n.SIGNATURES.items()]",
                     PTXASW_PTXAS=bench.ptxas, PTXASW_REPORT=reports, PATH=f"{bench.folder}/bin:{os.environ['PATH']}")
    bench.check("compiles to PTX", done.returncode == 0, last(done.stderr))
    bench.check("calls no ptxas, so there is nothing to stand in for", not reports.exists())


def cupy(bench):
    """CuPy compiles with NVRTC, which has its own assembler: no ptxas is called. Its backend nvcc
    starts the one beside nvcc."""
    python, source = producers.environment("cupy"), bench.write("kernel.cu", KERNEL)
    script, reports = bench.write("compile.py", CUPY), bench.folder / "reports"
    common = {"CUPY_CACHE_DIR": bench.folder / "cache", "PTXASW_REPORT": reports, "CUDA_PATH": bench.toolkit()}
    done = bench.run(python, script, source, bench.folder, PATH=f"{bench.folder}/bin:{os.environ['PATH']}",
                     PTXASW_PTXAS=bench.ptxas, **common)
    bench.check("NVRTC: compiles", done.returncode == 0, last(done.stderr))
    bench.check("NVRTC: calls no ptxas, so there is nothing to stand in for",
                bench.shuffles("nvrtc.cubin") == 0 and not reports.exists())
    done = bench.run(python, script, source, bench.folder, "nvcc", NVCC=bench.toolkit() / "bin/nvcc", **common)
    if bench.succeeds("backend nvcc: compiles", done):
        bench.check("backend nvcc: SHFL", bench.shuffles("nvcc.cubin") > 0)


def jax(bench):
    """XLA compiles ahead of time, for a described GPU. JAX has it use the ptxas below CUDA_ROOT, else that
    of the CUDA packages that JAX brought along; only where there are none --xla_gpu_cuda_data_dir counts."""
    python = producers.environment("jax")
    script, device = bench.write("compile.py", JAX), bench.write("device.txt", DEVICE)
    common = {"JAX_PLATFORMS": "cuda,cpu", "JAX_ENABLE_X64": 1, "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": 1}

    def compiles(what, *more, **settings):
        reports = bench.folder / what.replace(" ", "-")
        done = bench.run(python, script, device, *more, PTXASW_REPORT=reports, **common, **settings)
        bench.check(f"{what}: five functions compile, and nothing is said", done.returncode == 0
                    and "ptxasw:" not in done.stderr and done.stdout.split() == ["row", "plane", "plane", "softmax", "scan"],
                    last(done.stderr))
        seen = [json.loads(path.read_text())["kernels"] for path in reports.glob("*.json")] if reports.exists() else []
        return len(seen), sum(kernel["shuffles"] for kernels in seen for kernel in kernels)

    seen, shuffles = compiles("CUDA_ROOT", CUDA_ROOT=bench.toolkit(), PTXASW_PTXAS=bench.recorder())
    bench.check("CUDA_ROOT: XLA called this ptxas", seen >= 5, f"{seen} reports")
    made = sorted((bench.folder / "made").iterdir())
    counts = [bench.shuffles(path) for path in made]
    bench.check("CUDA_ROOT: the machine code loads, some of it rewritten", len(made) == seen
                and min(counts, default=-1) >= 0 < shuffles, f"SHFL in them: {counts}")
    bench.check("PTXASW=off", compiles("off", CUDA_ROOT=bench.toolkit(), PTXASW="off") == (0, 0))
    flags = f"--xla_gpu_cuda_data_dir={bench.toolkit()}"
    bench.check("XLA_FLAGS, where JAX has no CUDA packages", compiles("XLA_FLAGS", "bare", XLA_FLAGS=flags) == (seen, shuffles))
    bench.check("XLA_FLAGS, where it has: they come first", compiles("XLA_FLAGS beside packages", XLA_FLAGS=flags) == (0, 0))
    place = next(python.parent.parent.glob("lib/python*/site-packages/nvidia/cu13"))
    done = bench.run(bench.program, "install", place)
    bench.check("install, into JAX's CUDA packages", done.returncode == 0, done.stderr)
    try:
        bench.check("installed: XLA finds it by itself", compiles("installed") == (seen, shuffles))
    finally:
        done = bench.run(bench.program, "uninstall", place)
        bench.check("uninstall", done.returncode == 0 and not (place / "bin/ptxas.real").exists(), done.stderr)
    left = [name for name in bench.leftovers() if name.startswith("ptxasw")]
    bench.check("no temporary file of ours is left", not left, left)


def last(text):
    """The last line, where Python says what went wrong."""
    return text.strip().rsplit("\n", 1)[-1]

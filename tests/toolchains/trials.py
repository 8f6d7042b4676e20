"""Trials of compilers that start a ptxas: each takes a Bench and notes what it saw."""

import filecmp
import hashlib

import elf
import producers


def nvcc(bench):
    """Everything nvcc makes, through a private toolkit."""
    program, plain = bench.toolkit() / "bin/nvcc", bench.cuda / "bin/nvcc"
    source = bench.source()

    def one(what, words, output, expected):
        if bench.succeeds(what, bench.run(program, *words, "-o", output, source)) and expected is not None:
            found = bench.shuffles(output)
            bench.check(f"{what}: {'SHFL' if expected else 'no SHFL'} in the machine code",
                        (found > 0) == expected and found >= 0, f"{found} SHFL")

    def listed(kind, path):
        return bench.run(bench.cuda / "bin/cuobjdump", f"-l{kind}", path).stdout.count(f".{kind}") if kind == "ptx" \
            else bench.run(bench.cuda / "bin/cuobjdump", "-lelf", path).stdout.count("ELF file")

    one("-cubin", ["-cubin", "-arch=sm_80"], "a.cubin", True)
    one("-fatbin", ["-fatbin", "-arch=sm_80"], "one.fatbin", True)
    one("-fatbin, three -gencode, -t 4", ["-fatbin", "-t", "4", "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-gencode=arch=compute_120,code=sm_120"], "a.fatbin", True)
    bench.check("three -gencode: machine code for three targets, PTX for one",
                (listed("elf", "a.fatbin"), listed("ptx", "a.fatbin")) == (3, 1))
    one("-c", ["-c", "-arch=sm_86"], "a.o", True)
    one("-c -lineinfo", ["-c", "-arch=sm_86", "-lineinfo"], "lines.o", True)
    one("-cubin -lineinfo", ["-cubin", "-arch=sm_86", "-lineinfo"], "lines.cubin", True)
    lines = bench.run(bench.cuda / "bin/nvdisasm", "-g", "-c", "lines.cubin").stdout
    bench.check("-lineinfo: the lines are those of the source", f'{source.name}", line 10' in lines)
    one("-G is left alone", ["-cubin", "-arch=sm_86", "-G"], "debug.cubin", False)
    bench.succeeds("-G, the plain nvcc", bench.run(plain, "-cubin", "-arch=sm_86", "-G", "-o", "plain.cubin", source))
    bench.check("-G: the machine code is the plain nvcc's",
                elf.code(bench.folder / "debug.cubin") == elf.code(bench.folder / "plain.cubin"))
    for name, words in {"-gencode, PTX only": ["-gencode=arch=compute_80,code=compute_80"],
                        "-arch=compute_80 -code=compute_80": ["-arch=compute_80", "-code=compute_80"]}.items():
        one(name, ["-fatbin", *words], "p.fatbin", None)
        text = bench.run(bench.cuda / "bin/cuobjdump", "-ptx", "p.fatbin").stdout
        bench.check(f"{name}: the text is nvcc's", ".entry row3" in text and "shfl" not in text)
    registers = {}
    for which, nvcc_ in (("plain", plain), ("ours", program)):
        done = bench.run(nvcc_, "-cubin", "-arch=sm_80", "-Xptxas", "-v", "-o", "v.cubin", source)
        said = (done.stdout + done.stderr).splitlines()
        registers[which] = sorted(line for line in said if "entry function" in line)
        bench.check(f"-Xptxas -v, {which}", done.returncode == 0 and any("registers" in line for line in said))
    bench.check("-Xptxas -v: the same kernels", registers["plain"] == registers["ours"] != [])
    keep = bench.folder / "keep"
    keep.mkdir()
    bench.succeeds("--keep", bench.run(program, "-cubin", "-arch=sm_80", "--keep", "--keep-dir", keep, "-o", "k.cubin", source))
    kept = next(keep.glob("*.ptx"), None)
    bench.check("--keep: the text kept is nvcc's", kept and "shfl" not in kept.read_text(), kept)
    users_text(bench, program, source)
    linked(bench, program)
    bench.check("no temporary file is left", not bench.leftovers(), bench.leftovers())


def users_text(bench, program, source):
    """PTX that the user has nvcc write and assemble: it stays what it is."""
    ptx = bench.folder / "k.ptx"
    bench.succeeds("-ptx -o k.ptx", bench.run(program, "-ptx", "-arch=compute_80", "-o", ptx, source))
    bench.check("-ptx: the text is what the plain nvcc makes", filecmp.cmp(ptx, bench.ptx(), shallow=False))
    before = hashlib.sha256(ptx.read_bytes()).digest()
    for words in (["-cubin", "-arch=sm_80"], ["-fatbin", "-arch=sm_80"], ["-dc", "-arch=sm_80"]):
        what = f"{words[0]} k.ptx"
        if bench.succeeds(what, bench.run(program, *words, "-o", "user.out", ptx)):
            bench.check(f"{what}: SHFL, and k.ptx is untouched", bench.shuffles("user.out") > 0
                        and hashlib.sha256(ptx.read_bytes()).digest() == before)


def linked(bench, program):
    """Separate compilation: objects, the device linker, a whole program."""
    bench.write("main.cu",
        "__device__ float other(float x) { return x; }\n"
        "extern __device__ float far(float);\n__global__ void near(float* p) { *p = far(*p) + other(*p); }\n"
        "__global__ void three(float*, const float*, int);\n"
        "int main() { near<<<1, 1>>>(nullptr); three<<<1, 1>>>(nullptr, nullptr, 0); }\n")
    bench.write("far.cu",
        "__device__ float far(float x) { return x + 1; }\n"
        "__global__ void three(float* o, const float* p, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i + 2 < n) o[i] = p[i] + p[i + 1] + p[i + 2];\n}\n")
    if bench.succeeds("-dc", bench.run(program, "-dc", "-arch=sm_80", "main.cu", "far.cu")):
        bench.check("-dc: SHFL in the object", bench.shuffles("far.o") > 0)
        if bench.succeeds("-dlink -cubin", bench.run(program, "-dlink", "-cubin", "-arch=sm_80", "-o", "linked.cubin",
                                                     "main.o", "far.o")):
            bench.check("-dlink: SHFL in what nvlink made", bench.shuffles("linked.cubin") > 0)
        if bench.succeeds("the objects as a program", bench.run(program, "-arch=sm_80", "-o", "program", "main.o", "far.o")):
            bench.check("a program: SHFL in it", bench.shuffles("program") > 0)


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
    """Command lines of compilers that cannot be installed here, or not everywhere: the status and the
    messages of the real ptxas, and whether the machine code is a rewritten one."""
    ptx = bench.ptx()
    # Names as XLA and GCC give them: no ending, or another one.
    nameless = bench.write("tempfile-host-0123456789abcdef-77-5e7a", ptx.read_text())
    checked = bench.write("ccXYZ.o", ptx.read_text())
    words = bench.write("words", "-arch=sm_80 -o options.cubin")
    lines = (
        ("CUDA.jl", ["--verbose", "--gpu-name", "sm_80", "--output-file", "julia.cubin", ptx], "julia.cubin", True),
        ("CUDA.jl, relocatable", ["--verbose", "--gpu-name", "sm_80", "--output-file", "c.cubin", ptx, "--compile-only"],
         "c.cubin", True),
        ("CUDA.jl, debug", ["--verbose", "--gpu-name", "sm_80", "--output-file", "g.cubin", ptx, "--device-debug"],
         "g.cubin", False),
        ("Rust CUDA", ["--gpu-name=sm_80", "--output-file=rust.cubin", ptx], "rust.cubin", True),
        ("XLA", [nameless, "-o", "xla", "-arch=sm_80", "--warn-on-spills"], "xla", True),
        ("XLA, verbose", [nameless, "-o", "xla-v", "-arch=sm_80", "--warn-on-spills", "-v", "-O3"], "xla-v", True),
        ("GCC's check", ["-c", "-o", "/dev/null", checked, "--gpu-name", "sm_80", "-O0"], None, None),
        ("NVHPC", ["-arch=sm_80", "-w", "-m64", "-O3", "-o", "x.bin", "--compile-only", ptx], "x.bin", True),
        ("an option file", ["--options-file", words, ptx], "options.cubin", True),
        ("version", ["--version"], None, None),
        ("help", ["--help"], None, None),
    )
    for who, arguments, output, rewritten in lines:
        before = {path: path.read_bytes() for path in (ptx, nameless, checked)}
        bench.compare(f"{who}: its status and messages", arguments, lines=0)
        if output:
            found = bench.shuffles(output)
            bench.check(f"{who}: {'SHFL' if rewritten else 'no SHFL'}", found >= 0 and (found > 0) == rewritten, f"{found} SHFL")
        bench.check(f"{who}: the inputs are untouched", all(path.read_bytes() == was for path, was in before.items()))

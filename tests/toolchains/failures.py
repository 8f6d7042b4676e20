"""Trials of what goes wrong: the user gets what the plain ptxas gives, and at most one line of ours."""

import resource
import time

from trials import write

# Budgets for a text of 300 MB and for a kernel of 100,000 instructions, beyond what ptxas needs.
LARGE_SECONDS, LARGE_KBYTES = 60, 4 << 20
LONG_SECONDS = 60

KERNEL = """.visible .entry {name}(.param .u64 out) {{
  .reg .b32 %r<4>;
  .reg .b64 %p<3>;
  ld.param.u64 %p1, [out];
  cvta.to.global.u64 %p2, %p1;
  mov.u32 %r1, %tid.x;
{body}  st.global.u32 [%p2], %r1;
  ret;
}}
"""
HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"


def compare(bench, what, words, lines=1, real=None, **more):
    """Runs the plain ptxas and the stand-in on the same words: the same status, and at most so many
    lines of ours."""
    plain = bench.run(real or bench.ptxas, *words, **more)
    ours = bench.run(bench.stand_in, *words, PTXASW_PTXAS=real or bench.ptxas, **more)
    said = [line for line in ours.stderr.splitlines() if line.startswith("ptxasw:")]
    theirs = [line for line in (ours.stderr + ours.stdout).splitlines() if not line.startswith("ptxasw:")]
    bench.check(what, plain.returncode == ours.returncode and len(said) <= lines
                and theirs == (plain.stderr + plain.stdout).splitlines(), ours.stderr)


def failure(bench):
    ptx = bench.ptx()
    words = ["-arch=sm_80", "-o", "x.cubin", ptx]
    done = bench.run(bench.stand_in, *words, PTXASW_PTXAS="/nowhere/ptxas", PATH="/usr/bin:/bin")
    bench.check("the real ptxas is missing: status 2 and one message", done.returncode == 2
                and done.stderr.startswith("ptxasw: error"), done.stderr)
    crash = write(bench, "crash", "#!/bin/sh\nkill -s SEGV $$\n")
    crash.chmod(0o755)
    done = bench.run(bench.stand_in, *words, PTXASW_PTXAS=crash)
    bench.check("the real ptxas crashes: the same signal", done.returncode == -11, done.returncode)
    compare(bench, "TMPDIR is not there", words, TMPDIR=bench.folder / "nowhere")
    compare(bench, "TMPDIR is full (/dev/full as a folder)", words, TMPDIR="/dev/full")
    compare(bench, "the input is missing", ["-arch=sm_80", "-o", "x.cubin", "missing.ptx"])
    rubbish = bench.folder / "rubbish.ptx"
    rubbish.write_bytes(bytes(range(256)) * 400)
    compare(bench, "binary rubbish", ["-arch=sm_80", "-o", "x.cubin", rubbish])
    rubbish.write_bytes(HEAD.encode() + bytes(range(256)) * 400)
    compare(bench, "binary rubbish behind a header", ["-arch=sm_80", "-o", "x.cubin", rubbish])
    cut = write(bench, "cut.ptx", ptx.read_text()[: len(ptx.read_text()) * 2 // 3])
    compare(bench, "a text that ends in the middle", ["-arch=sm_80", "-o", "x.cubin", cut])
    compare(bench, "the output cannot be written", ["-arch=sm_80", "-o", "/nowhere/x.cubin", ptx])
    newer = write(bench, "newer.ptx", ptx.read_text().replace(".version ", ".version 9", 1))
    compare(bench, "a PTX version that ptxas does not know", ["-arch=sm_80", "-o", "x.cubin", newer])
    compare(bench, "an option that ptxas does not know", ["-arch=sm_80", "--nonsense", "-o", "x.cubin", ptx])
    disk(bench, ptx)
    long(bench)
    large(bench)
    bench.check("no temporary file is left", not bench.leftovers(), bench.leftovers())


def disk(bench, ptx):
    """The rewritten text does not fit: files may have 4 KiB, the output 64 KiB is /dev/null."""
    script = 'ulimit -f 4; trap "" XFSZ; exec "$0" -arch=sm_80 -o /dev/null "$1"'
    done = bench.run("sh", "-c", script, bench.stand_in, ptx, PTXASW_PTXAS=bench.ptxas)
    plain = bench.run("sh", "-c", script, bench.ptxas, ptx)
    bench.check("files may have 2 KiB (as on a full disk)", done.returncode == plain.returncode
                and sum(line.startswith("ptxasw:") for line in done.stderr.splitlines()) <= 1, done.stderr)


def long(bench):
    """A kernel of 100,000 instructions is at most passed through."""
    body = "  ld.global.u32 %r2, [%p2+4];\n  add.u32 %r1, %r1, %r2;\n" * 50_000
    path = write(bench, "long.ptx", HEAD + KERNEL.format(name="long", body=body))
    start = time.monotonic()
    done = bench.run(bench.program, "rewrite", path, "-o", "long.out.ptx", limit=LONG_SECONDS)
    bench.check(f"a kernel of 100,000 instructions within {LONG_SECONDS} s", done.returncode == 0,
                f"{time.monotonic() - start:.1f} s")


def large(bench):
    """300 MB of text: time and memory of ptxasw itself; a ptxas that does nothing stands behind it."""
    path = bench.folder / "large.ptx"
    one = KERNEL.format(name="k{}", body="  ld.global.u32 %r2, [%p2];\n  add.u32 %r1, %r1, %r2;\n" * 40)
    body = one.split("{", 1)
    with path.open("w") as file:
        file.write(HEAD)
        number = 0
        while file.tell() < 300_000_000:
            file.write("".join(
                f"{body[0].removesuffix('k')}k{number + i}{body[1].removeprefix('}')}" for i in range(1000)))
            number += 1000
    nothing = write(bench, "nothing", "#!/bin/sh\nexit 0\n")
    nothing.chmod(0o755)
    start = time.monotonic()
    done = bench.run(bench.stand_in, "-arch=sm_80", "-o", "x.cubin", path, PTXASW_PTXAS=nothing, limit=600)
    took = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    bench.check(f"PTX of 300 MB within {LARGE_SECONDS} s and {LARGE_KBYTES >> 20} GiB",
                done.returncode == 0 and took < LARGE_SECONDS and used < LARGE_KBYTES,
                f"{took:.1f} s, {used >> 10} MiB, {done.stderr}")
    path.unlink()

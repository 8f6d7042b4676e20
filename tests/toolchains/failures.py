"""Trials of what goes wrong: the user gets what the plain ptxas gives, and at most one line of ours."""

import os
import subprocess
import tempfile
import threading
import time

# Budgets beyond what ptxas needs: for a text that is only just rewritten, for one that is handed over
# since it is larger than 64 MiB, and for a kernel of 100,000 instructions.
LARGE_SECONDS, LARGE_KBYTES = 60, 4 << 20
UNREAD_SECONDS, UNREAD_KBYTES = 5, 512 << 10
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


def failure(bench):
    ptx = bench.ptx()
    words = ["-arch=sm_80", "-o", "x.cubin", ptx]
    done = bench.run(bench.stand_in, *words, PTXASW_PTXAS="/nowhere/ptxas", PATH="/usr/bin:/bin")
    bench.check("the real ptxas is missing: status 2 and one message", done.returncode == 2
                and done.stderr.startswith("ptxasw: error"), done.stderr)
    crash = bench.write("crash", "#!/bin/sh\nkill -s SEGV $$\n", 0o755)
    done = bench.run(bench.stand_in, *words, PTXASW_PTXAS=crash)
    bench.check("the real ptxas crashes: the same signal", done.returncode == -11, done.returncode)
    bench.compare("TMPDIR is not there", words, TMPDIR=bench.folder / "nowhere")
    bench.compare("TMPDIR is no folder", words, TMPDIR="/dev/full")
    bench.compare("the input is missing", ["-arch=sm_80", "-o", "x.cubin", "missing.ptx"])
    rubbish = bench.folder / "rubbish.ptx"
    rubbish.write_bytes(bytes(range(256)) * 400)
    bench.compare("binary rubbish", ["-arch=sm_80", "-o", "x.cubin", rubbish])
    rubbish.write_bytes(HEAD.encode() + bytes(range(256)) * 400)
    bench.compare("binary rubbish behind a header", ["-arch=sm_80", "-o", "x.cubin", rubbish])
    cut = bench.write("cut.ptx", ptx.read_text()[: len(ptx.read_text()) * 2 // 3])
    bench.compare("a text that ends in the middle", ["-arch=sm_80", "-o", "x.cubin", cut])
    bench.compare("the output cannot be written", ["-arch=sm_80", "-o", "/nowhere/x.cubin", ptx])
    newer = bench.write("newer.ptx", ptx.read_text().replace(".version ", ".version 9", 1))
    bench.compare("a PTX version that ptxas does not know", ["-arch=sm_80", "-o", "x.cubin", newer])
    bench.compare("an option that ptxas does not know", ["-arch=sm_80", "--nonsense", "-o", "x.cubin", ptx])
    disk(bench, ptx)
    long(bench)
    large(bench)
    bench.check("no temporary file is left", not bench.leftovers(), bench.leftovers())


def disk(bench, ptx):
    """The rewritten text does not fit: on a full disk, and where files may have 2 KiB."""
    said = lambda done: [line for line in done.stderr.splitlines() if line.startswith("ptxasw:")]
    script = 'ulimit -f 4; trap "" XFSZ; exec "$0" -arch=sm_80 -o /dev/null "$1"'
    done = bench.run("sh", "-c", script, bench.stand_in, ptx, PTXASW_PTXAS=bench.ptxas)
    plain = bench.run("sh", "-c", script, bench.ptxas, ptx)
    bench.check("files may have 2 KiB", done.returncode == plain.returncode and len(said(done)) <= 1, done.stderr)
    # A file system of 4 KiB for temporary files, seen by these calls only.
    place = bench.folder / "full"
    place.mkdir()
    script = 'mount -t tmpfs -o size=4k tmpfs "$TMPDIR" && "$0" -arch=sm_80 -o x.cubin "$1" && ls -A "$TMPDIR"'
    private = ("unshare", "--mount", "--map-root-user", "sh", "-c")
    if bench.run(*private, 'mount -t tmpfs tmpfs "$TMPDIR"', TMPDIR=place).returncode:
        bench.skip("a full disk", "nothing can be mounted")
        return
    done = bench.run(*private, script, bench.stand_in, ptx, PTXASW_PTXAS=bench.ptxas, TMPDIR=place)
    bench.check("a full disk: the original is assembled, with one warning", done.returncode == 0 and len(said(done)) == 1
                and "No space left" in done.stderr and bench.shuffles("x.cubin") == 0, done.stderr)
    bench.check("a full disk: no temporary file is left", not done.stdout.strip(), done.stdout)


def long(bench):
    """A kernel of 100,000 instructions is at most passed through."""
    body = "  ld.global.u32 %r2, [%p2+4];\n  add.u32 %r1, %r1, %r2;\n" * 50_000
    path = bench.write("long.ptx", HEAD + KERNEL.format(name="long", body=body))
    status, _, took, used = measured(bench, bench.program, "rewrite", path, "-o", "long.out.ptx")
    bench.check(f"a kernel of 100,000 instructions within {LONG_SECONDS} s", status == 0 and took < LONG_SECONDS,
                f"{took:.1f} s, {used >> 10} MiB")


def large(bench):
    """Large texts: what ptxasw itself needs is seen with a ptxas behind it that does nothing."""
    nothing = bench.write("nothing", "#!/bin/sh\nexit 0\n", 0o755)
    body = "  ld.global.u32 %r2, [%p2];\n  add.u32 %r1, %r1, %r2;\n" * 40
    kernels = lambda first: "".join(KERNEL.format(name=f"k{first + i}", body=body) for i in range(1000))
    for what, size, seconds, kbytes in (("60 MB of kernels, rewritten", 60_000_000, LARGE_SECONDS, LARGE_KBYTES),
                                        ("300 MB of kernels, handed over", 300_000_000, UNREAD_SECONDS, UNREAD_KBYTES)):
        path = grow(bench, size, HEAD, kernels)
        status, error, took, used = measured(bench, bench.stand_in, "-arch=sm_80", "-o", "x.cubin", path,
                                             PTXASW_PTXAS=nothing)
        bench.check(f"{what}, within {seconds} s and {kbytes >> 10} MiB", status == 0 and not error
                    and took < seconds and used < kbytes, f"{took:.1f} s, {used >> 10} MiB, {error}")
    # The real one, with little to do: comments.
    path = grow(bench, 300_000_000, bench.ptx().read_text(), lambda _: "// A line of a comment, and nothing else.\n" * 1000)
    words = ("-arch=sm_80", "-o", "x.cubin", path)
    status, error, plain, _ = measured(bench, bench.ptxas, *words)
    again = measured(bench, bench.stand_in, *words, PTXASW_PTXAS=bench.ptxas)
    bench.check(f"300 MB for the real ptxas: its status and words, {UNREAD_SECONDS} s more at most",
                again[:2] == (status, error) and again[2] < plain + UNREAD_SECONDS,
                    f"status {status}, {plain:.1f} s, {again[2]:.1f} s")
    path.unlink()


def grow(bench, size, head, more):
    """A text of at least so many bytes: a head, then what `more` gives for the number of each call."""
    path, number = bench.folder / "large.ptx", 0
    with path.open("w") as file:
        file.write(head)
        while file.tell() < size:
            file.write(more(number))
            number += 1000
    return path


def measured(bench, *words, limit=600, **more):
    """Runs a command to its end: status, standard error, seconds, and the most memory it had in KiB."""
    with tempfile.TemporaryFile() as error:
        start = time.monotonic()
        child = subprocess.Popen([str(word) for word in words], cwd=bench.folder, env=bench.environment(**more),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=error)
        timer = threading.Timer(limit, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        error.seek(0)
        return child.returncode, error.read().decode(errors="replace"), time.monotonic() - start, usage.ru_maxrss

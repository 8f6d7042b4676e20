"""Trials of make and ninja with many files at once: to the end, interrupted, ended and killed."""

import os
import pathlib
import signal
import time

import producers

producers.DEBIAN["ninja"] = ("ninja", ["ninja-build"])
FILES, JOBS = 50, 8


def make(bench):
    """50 files with make -j."""
    objects = " ".join(f"{i}.cubin" for i in range(FILES))
    bench.write("Makefile", f"all: {objects}\n%.cubin:\n\t@{bench.stand_in} -arch=sm_80 -o $@ {bench.ptx()}\n")
    builds(bench, ("make", f"-j{JOBS}", "all"))


def ninja(bench):
    """50 files with ninja."""
    program = producers.debian("ninja")
    rules = [f"rule assemble\n  command = {bench.stand_in} -arch=sm_80 -o $out {bench.ptx()}\n"]
    bench.write("build.ninja", "".join(rules + [f"build {i}.cubin: assemble\n" for i in range(FILES)]))
    builds(bench, (program, "-j", JOBS))


def builds(bench, words):
    """A whole build, then builds that end early; each of those is followed by one that completes it."""
    plain = bench.folder / "plain.out"
    bench.run(bench.ptxas, "-arch=sm_80", "-o", plain, bench.ptx())
    called = " ".join(str(word) for word in words[:2]).replace("/usr/bin/", "")
    complete(bench, words, f"{called}, {FILES} files")
    bench.check("they are rewritten", bench.shuffles("0.cubin") > 0)
    bench.check("no temporary file is left", not bench.leftovers(), bench.leftovers())
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        clean(bench)
        running = started(bench, words)
        # As a terminal does, to the build and all that it started, whatever groups it has put them in.
        send(running.pid, getattr(signal, name))
        running.communicate(timeout=60)
        bench.check(f"{name}: all of it ends", wait_for_quiet(running.pid))
        bench.check(f"{name}: no temporary file is left", not bench.leftovers(), bench.leftovers())
        complete(bench, words, f"the build after {name}")
    clean(bench)
    running = started(bench, words)
    send(running.pid, signal.SIGKILL)
    running.communicate(timeout=60)
    wait_for_quiet(running.pid)
    left = bench.leftovers()
    bench.check("SIGKILL leaves at most one folder per call that was running", len(left) <= JOBS, f"{len(left)} left")
    complete(bench, words, "the build after SIGKILL")
    bench.check("folders of killed calls stay while they are young", bench.leftovers() == left)
    for name in left:
        os.utime(bench.tmp / name, (time.time() - 7200,) * 2)
    clean(bench)
    complete(bench, words, "a build two hours later")
    bench.check("which removes them", not bench.leftovers(), f"{len(left)} before, {len(bench.leftovers())} after")


def complete(bench, words, what):
    """A build that must succeed, and leave all files alike."""
    done = bench.run(*words, PTXASW_PTXAS=bench.ptxas)
    made = [path.read_bytes() for path in bench.folder.glob("*.cubin")]
    bench.check(what, done.returncode == 0 and "ptxasw:" not in done.stdout + done.stderr and len(made) == FILES
                and len(set(made)) == 1, done.stderr or f"{len(made)} files, {len(set(made))} kinds")


def clean(bench):
    for path in bench.folder.glob("*.cubin"):
        path.unlink()


def started(bench, words):
    """A build in which calls of ptxasw are at work."""
    running = bench.start(*words, PTXASW_PTXAS=bench.ptxas)
    for _ in range(400):
        if len(bench.leftovers()) >= 2 and any(bench.folder.glob("*.cubin")):
            break
        time.sleep(0.01)
    return running


def members(session):
    """The processes of a session that are alive."""
    found = []
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rsplit(") ", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(place.name))
    return found


def send(session, number):
    """A signal to each process of a session that this trial has started, parents first."""
    for process in sorted(members(session)):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def wait_for_quiet(session):
    """Whether no process of the session is left, within 30 seconds."""
    for _ in range(300):
        if not members(session):
            return True
        time.sleep(0.1)
    return False

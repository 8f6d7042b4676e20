"""What the toolchain trials share: folders, links, running, and noting what was seen."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = ROOT / "tests/net/sources"
sys.path.insert(0, str(ROOT / "tests/net"))

import producers  # noqa: E402


# What `-v` says of registers, stack and time differs where something was replaced.
NUMBERS = ("registers", "bytes stack", "ompile time")

RECORDER = """#!/bin/sh
"{ptxas}" "$@" || exit $?
output=
for word in "$@"; do
    [ "$output" = -o ] && cp "$word" "{made}/$$.cubin"
    output=$word
done
exit 0
"""


class Bench:
    """A throw-away folder in which ptxasw stands before the real ptxas, and the results of one trial."""

    def __init__(self, name, program):
        self.name, self.results, self.untried = name, [], 0
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"trial-{name}-"))
        nvcc = pathlib.Path(os.path.realpath(producers.find_nvcc()))
        self.cuda = nvcc.parent.parent
        self.ptxas = self.cuda / "bin/ptxas"
        self.program = pathlib.Path(program).resolve()
        (self.folder / "bin").mkdir()
        self.stand_in = self.folder / "bin/ptxas"
        self.stand_in.symlink_to(self.program)
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir()

    def toolkit(self, cuda=None):
        """A private copy of a toolkit (of the bench's own) made of links, in which `ptxas` is ptxasw.
        nvcc itself is copied, since it looks for the others beside itself."""
        cuda = cuda or self.cuda
        place = self.folder / ("toolkit" if cuda == self.cuda else f"toolkit-{cuda.parts[-6]}")
        if not place.exists():
            (place / "bin").mkdir(parents=True)
            for entry in cuda.iterdir():
                if entry.name != "bin":
                    (place / entry.name).symlink_to(entry)
            for entry in (cuda / "bin").iterdir():
                if entry.name in ("nvcc", "nvcc.profile"):
                    shutil.copy2(entry, place / "bin" / entry.name)
                else:
                    (place / "bin" / ("ptxas.real" if entry.name == "ptxas" else entry.name)).symlink_to(entry)
            (place / "bin/ptxas").symlink_to(self.program)
        return place

    def environment(self, **more):
        """Of this process, without settings of ptxasw; PATH ends with the toolkit's tools."""
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("PTXASW", "CCACHE", "SCCACHE"))}
        return {**plain, "PTXASW_STRATEGY": "paper", "PTXASW_CHECK": "off", "TMPDIR": str(self.tmp), **{k: str(v) for k, v in more.items()}}

    def run(self, *words, limit=300, cwd=None, **more):
        """Runs a command in the bench's folder to its end."""
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace",
                              check=False, cwd=cwd or self.folder, env=self.environment(**more), timeout=limit,
                              stdin=subprocess.DEVNULL)

    def start(self, *words, **more):
        """Starts a command in a process group of its own, with the signals a terminal would give it."""
        def defaults():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
        return subprocess.Popen([str(word) for word in words], cwd=self.folder, env=self.environment(**more),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                start_new_session=True, preexec_fn=defaults)

    def check(self, what, good, detail=""):
        """Notes one thing that was tried, and whether it was as it should be."""
        text = next((line for line in str(detail).splitlines() if line.strip()), "")[:200]
        self.results.append((what, bool(good), text))
        print(f"{'ok  ' if good else 'FAIL'} {self.name}: {what}{f' ({text})' if text else ''}", flush=True)

    def skip(self, what, reason):
        """Notes one thing that cannot be tried here."""
        self.untried += 1
        print(f"--   {self.name}: {what}: cannot be tried here: {reason}", flush=True)

    def succeeds(self, what, done):
        """Notes a command that must succeed without a warning of ours."""
        self.check(what, done.returncode == 0 and "ptxasw:" not in done.stderr, done.stderr)
        return done.returncode == 0

    def compare(self, what, words, lines=1, real=None, **more):
        """Runs the plain ptxas and the stand-in on the same words: the same status and the same messages
        (but for the numbers of `-v`), and at most so many lines of ours."""
        plain = self.run(real or self.ptxas, *words, **more)
        ours = self.run(self.stand_in, *words, PTXASW_PTXAS=real or self.ptxas, **more)
        said = [line for line in ours.stderr.splitlines() if line.startswith("ptxasw:")]

        def theirs(stream):
            return [line for line in stream.splitlines()
                    if not line.startswith("ptxasw:") and not any(word in line for word in NUMBERS)]
        self.check(what, plain.returncode == ours.returncode and len(said) <= lines
                   and (theirs(plain.stdout), theirs(plain.stderr)) == (theirs(ours.stdout), theirs(ours.stderr)), ours.stderr)

    def shuffles(self, path):
        """How many SHFL there are in a file with machine code; -1 where it cannot be read."""
        done = self.run(self.cuda / "bin/cuobjdump", "-sass", path)
        if done.returncode or "Function" not in done.stdout:
            done = self.run(self.cuda / "bin/nvdisasm", "-c", path)
        return done.stdout.count("SHFL") if done.returncode == 0 else -1

    def leftovers(self):
        """The names of what was left in the folder for temporary files."""
        return sorted(entry.name for entry in self.tmp.iterdir())

    def source(self, name="rows"):
        """A source of the net in the bench's folder, with the header it needs."""
        place = self.folder / f"{name}.cu"
        shutil.copyfile(SOURCES / f"plain/{name}.cu", place)
        shutil.copyfile(SOURCES / "plain.h", self.folder / "plain.h")
        return place

    def ptx(self, arch="sm_80", name="rows"):
        """The PTX of such a source, made by the untouched toolkit."""
        place = self.folder / f"{name}.{arch}.ptx"
        if not place.exists():
            done = self.run(self.cuda / "bin/nvcc", "-ptx", f"-arch={arch.replace('sm', 'compute')}", "-o", place,
                            self.source(name))
            if done.returncode:
                raise RuntimeError(done.stderr)
        return place

    def write(self, name, text, mode=0o644):
        """A file of the bench."""
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def recorder(self):
        """A ptxas that is the real one and keeps what it makes in a folder `made`. To be the real ptxas
        behind ptxasw, where a compiler hides the machine code."""
        (self.folder / "made").mkdir(exist_ok=True)
        return self.write("recorder", RECORDER.format(ptxas=self.ptxas, made=self.folder / "made"), 0o755)

    def close(self):
        """Removes the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

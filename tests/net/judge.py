"""What is demanded of one file of the net:

- `ptxasw parse --all` parses it in full;
- where the real ptxas accepts it, ptxasw called as ptxas does so, with the same messages and without a
  warning of its own; where the real ptxas refuses it, it is refused with the same words;
- where nothing was rewritten, the text that reaches the real ptxas is the original, byte for byte;
- a function in which nothing was rewritten has the same machine code, byte for byte;
- under the default strategy, `auto`, no kernel has fewer warps resident than it had, and none more stack, by
  what `cuobjdump` says of both cubins.

All but the last is seen under `paper`, which rewrites the most. Which text reaches the real ptxas is seen by a recorder in front of it."""

import collections
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import elf
import resources

# Keeps each input file of a call, then becomes the real ptxas.
RECORDER = """#!/bin/sh
mkdir -p "$NET_RECORD"
number=$(ls "$NET_RECORD" | wc -l)
for word in "$@"; do
    case $word in *.ptx) cp "$word" "$NET_RECORD/$number.ptx" ;; esac
done
exec "$NET_PTXAS" "$@"
"""

# How the names of functions begin that ptxas adds to an object for linking, for instance for a shuffle.
OWN_FUNCTIONS = "__cuda_sm"

# How long a proof may take.
PROOF_SECONDS = 60


@dataclasses.dataclass
class Verdict:
    """What became of a file."""

    failures: list
    accepted: bool = True  # by the real ptxas, as it came
    shuffles: int = 0
    functions: int = 0  # whose machine code was compared
    notes: list = dataclasses.field(default_factory=list)  # worth knowing, and no failure
    proof: str = ""  # what `verify` says, where it was asked
    # Under `auto`:
    kernels: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # by strategy
    loads: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # removed, by strategy
    changed: int = 0  # kernels whose machine code is another
    compared: int = 0  # kernels whose resources were compared
    taken_back: int = 0  # kernels that were rewritten, and lost by it
    lost: list = dataclasses.field(default_factory=list)


def removed(kernel):
    """Loads that a kernel does not perform any more, by strategy: a vector is still one load, and a row two."""
    count = collections.Counter(load["decision"] for load in kernel["loads"] if load["decision"] != "keep")
    for strategy, left in (("wide", 1), ("window", 2)):
        groups = {load.get("source_line", load["line"]) for load in kernel["loads"]
                  if load["decision"] == strategy}
        count[strategy] -= left * len(groups)
    return +count


class Judge:
    """The program and the real ptxas, and a folder for what they leave."""

    def __init__(self, program, ptxas):
        self.program, self.ptxas = str(program), str(ptxas)

    def environment(self, **more):
        plain = {k: v for k, v in os.environ.items() if not k.startswith("PTXASW")}
        return {**plain, "PTXASW_PTXAS": self.ptxas, **more}

    def assemble(self, program, path, options, output, **more):
        """Called as a compiler would; `program` are the words in front of ptxas's own."""
        return subprocess.run([*program, *options, "-o", str(output), str(path)], capture_output=True,
                              text=True, check=False, env=self.environment(**more), timeout=600)

    @property
    def stand_in(self):
        return [self.program, "ptxas", "--"]

    def judge(self, path, options, prove=False):
        """Judges one file."""
        verdict = Verdict([])
        parsed = subprocess.run([self.program, "parse", "--all", str(path)], capture_output=True, text=True,
                                check=False, timeout=600)
        if parsed.returncode:
            verdict.failures.append(f"parse: {first_line(parsed.stderr)}")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.compare(path, options, folder, verdict, prove)
            if verdict.accepted:
                self.weigh(path, options, folder, verdict)
        return verdict

    def weigh(self, path, options, folder, verdict):
        """What the default strategy gains and loses, by the reports and by the cubins."""
        output, reports = folder / "auto.cubin", folder / "auto"
        ours = self.assemble(self.stand_in, path, options, output, PTXASW_REPORT=str(reports))
        if ours.returncode:
            verdict.failures.append(f"auto: exit status {ours.returncode}: {first_line(ours.stderr)}")
            return
        # There is no report about what is handed over as it is, as with `-g`.
        for report in reports.glob("*.json"):
            for kernel in json.loads(report.read_text())["kernels"]:
                gained = removed(kernel)
                verdict.loads += gained
                verdict.kernels.update(set(gained))
                verdict.kernels["any"] += bool(gained)
                verdict.taken_back += "taken back" in (kernel.get("skipped") or "")
        before, after = elf.code(folder / "plain.cubin"), elf.code(output)
        verdict.changed = sum(before[name] != after[name] for name in before.keys() & after.keys())
        if not verdict.changed:
            return
        cuobjdump = pathlib.Path(self.ptxas).parent / "cuobjdump"
        if not cuobjdump.exists():
            verdict.notes.append("there is no cuobjdump beside ptxas to compare what kernels take")
            return
        before = resources.usage(cuobjdump, folder / "plain.cubin")
        after = resources.usage(cuobjdump, output)
        verdict.compared = len(before.keys() & after.keys())
        capability = resources.capability(options)
        verdict.lost = resources.losses(capability, path.read_text(), before, after)
        verdict.failures += [f"auto: {line}" for line in verdict.lost]

    def compare(self, path, options, folder, verdict, prove):
        plain = self.assemble([self.ptxas], path, options, folder / "plain.cubin")
        if plain.returncode:
            verdict.accepted = False
            ours = self.assemble(self.stand_in, path, options, folder / "ours.cubin")
            if (ours.returncode, ours.stdout, ours.stderr) != (plain.returncode, plain.stdout, plain.stderr):
                verdict.failures.append(f"refused with other words: {first_line(ours.stderr)}")
            return
        recorder, record, reports = folder / "recorder", folder / "record", folder / "reports"
        recorder.write_text(RECORDER)
        recorder.chmod(0o755)
        ours = self.assemble(
            self.stand_in, path, options, folder / "ours.cubin", PTXASW_PTXAS=str(recorder),
            PTXASW_STRATEGY="paper", PTXASW_CHECK="off", PTXASW_REPORT=str(reports), NET_RECORD=str(record), NET_PTXAS=self.ptxas)
        if (ours.returncode, ours.stdout, ours.stderr) != (0, plain.stdout, plain.stderr):
            verdict.failures.append(f"exit status {ours.returncode}: {first_line(ours.stderr or ours.stdout)}")
            return
        kernels = [kernel for report in reports.glob("*.json") if reports.is_dir()
                   for kernel in json.loads(report.read_text())["kernels"]]
        rewritten = {kernel["name"]: kernel["shuffles"] for kernel in kernels if kernel["shuffles"]}
        verdict.shuffles = sum(rewritten.values())
        calls = sorted(record.iterdir())
        if len(calls) != 1:
            verdict.failures.append(f"the real ptxas was called {len(calls)} times")
        same_text = calls[-1].read_bytes() == path.read_bytes()
        if same_text == bool(rewritten):
            verdict.failures.append(f"{verdict.shuffles} shuffles, but the text is "
                                    f"{'the original' if same_text else 'another'}")
        before, after = elf.code(folder / "plain.cubin"), elf.code(folder / "ours.cubin")
        own = {name for name in after.keys() - before.keys() if name.startswith(OWN_FUNCTIONS)}
        if before.keys() != after.keys() - own:
            verdict.failures.append(f"functions {sorted(before.keys() ^ after.keys())} on one side only")
        if own:
            verdict.notes.append(f"ptxas adds functions of its own: {', '.join(sorted(own))}")
        for name in sorted((before.keys() & after.keys()) - callers(path.read_text(), set(rewritten))):
            verdict.functions += 1
            if before[name] != after[name]:
                verdict.failures.append(f"the machine code of {name}, which was left alone, differs")
        if prove and rewritten:
            self.prove(path, calls[-1], verdict)

    def prove(self, path, rewritten, verdict):
        """Asks `verify`, for a limited time: what takes longer is as good as unknown."""
        try:
            done = subprocess.run([self.program, "verify", str(path), str(rewritten)], capture_output=True,
                                  text=True, check=False, timeout=PROOF_SECONDS)
        except subprocess.TimeoutExpired:
            verdict.proof = f"not within {PROOF_SECONDS} s"
            return
        verdict.proof = {0: "equal", 1: "different", 3: "unknown"}.get(done.returncode, "error")
        if verdict.proof in ("different", "error"):
            verdict.failures.append(f"verify: {first_line(done.stdout + done.stderr)}")

    def times(self, path, options, pairs):
        """The shortest time of the plain ptxas and of the stand-in in seconds, called in turn."""
        best = [float("inf")] * 2
        with tempfile.TemporaryDirectory() as name:
            output = pathlib.Path(name) / "out.cubin"
            for _ in range(pairs):
                for which, program in enumerate([[self.ptxas], self.stand_in]):
                    start = time.perf_counter()
                    self.assemble(program, path, options, output)
                    best[which] = min(best[which], time.perf_counter() - start)
        return best


def callers(text, names):
    """These functions of a module and all that name one of them, directly or not: where a function is
    rewritten, ptxas may make other code of those into which it puts it."""
    bodies = {}
    for part in re.split(r"^(?=[ \t.a-z]*\.(?:entry|func)\b)", text, flags=re.M):
        words = re.findall(r"[\w$%.]+", part.split("{", 1)[0])
        bodies.setdefault(" ".join(words), set()).update(re.findall(r"[\w$]+", part))
    found = set(names)
    while True:
        more = {word for words in bodies.values() if words & found for word in words} & {
            word for head in bodies for word in head.split()} - found
        if not more:
            return found
        found |= more


def first_line(text):
    """The first line that is not empty; a table has room for one."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "no message")

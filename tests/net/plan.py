"""What the net consists of: plan.json, read into a list of files to make.

A producer compiles each source of a group in each variant of the group. A variant says which target it
compiles for, the compiler's options and those with which ptxas assembles the outcome."""

import dataclasses
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "sources"

# The oldest target that every toolkit in use can assemble for.
OLDEST_TARGET = 75


@dataclasses.dataclass(frozen=True, eq=False)
class Item:
    """One file of the net."""

    producer: str
    source: pathlib.Path
    function: str  # which function of a Python source; empty where a source is one PTX file
    variant: str
    target: str
    compile: object  # words for a compiler that is a program, keywords for one that is a library
    assemble: tuple

    @property
    def name(self):
        parts = [self.source.stem, self.function, self.variant]
        return f"{self.producer}/{'.'.join(part for part in parts if part)}"

    @property
    def number(self):
        """The compute capability as a number: 90 of sm_90a."""
        return int("".join(c for c in self.target if c.isdigit()))

    @property
    def options(self):
        """The words for ptxas; an older target is assembled for the oldest one."""
        arch = self.target if self.number >= OLDEST_TARGET else f"sm_{OLDEST_TARGET}"
        return (f"-arch={arch}", *self.assemble)


def functions(source):
    """The names of the functions in SIGNATURES of a Python source; it is not imported."""
    if source.suffix != ".py":
        return [""]
    table = source.read_text().split("\nSIGNATURES = {\n")[1]
    return [line.strip().split(":")[0] for line in table.splitlines() if ": " in line]


def items():
    """Every file of the net, in a fixed order."""
    found = []
    for producer, plan in json.loads((HERE / "plan.json").read_text()).items():
        for group in plan["groups"]:
            sources = [path for glob in group["sources"] for path in sorted(SOURCES.glob(glob))]
            if not sources:
                raise ValueError(f"plan.json: no source matches {group['sources']}")
            for source in sources:
                for function in functions(source):
                    for name in group["variants"]:
                        variant = plan["variants"][name]
                        found.append(Item(
                            producer, source, function, name, variant["target"],
                            variant["compile"], tuple(variant.get("assemble", []))))
    return found

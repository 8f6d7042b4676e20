"""Reports: dicts of the program's JSON that notebooks show as tables."""

import html
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence


#: What the program says of an element that both kernels write.
DIFFERENT = "not the same element of the algebra"


class Report(Dict[str, Any]):
    """A dict with the JSON of a subcommand."""

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return "".join(self._tables())

    def _tables(self) -> Iterator[str]:
        return iter(())


class Lint(Report):
    """What ``lint`` says."""

    def _tables(self) -> Iterator[str]:
        for kernel in kernels(self):
            rows = [[one["level"], one["rule"], place(one), one["message"], one.get("label"), one["help"], one["waste"]]
                    for one in kernel["findings"]]
            title = f"{kernel['demangled']}, {len(kernel['accesses'])} accesses, findings: {len(rows)}"
            if kernel.get("skipped"):
                title = f"{kernel['demangled']}: {kernel['skipped']}"
            yield table(title, ["level", "rule", "place", "fact", "", "what to do", "waste"], rows)


class Candidates(Report):
    """What ``candidates`` says."""

    def _tables(self) -> Iterator[str]:
        for kernel in kernels(self):
            rows = [[place(one), one["register"], one["bytes"], count(one), one["decision"], one.get("delta"),
                     one.get("reason")] for one in kernel["loads"]]
            title = f"{kernel['name']}, global loads: {kernel['global_loads']}"
            yield table(title, ["place", "register", "bytes", "sectors", "decision", "delta", "reason"], rows)


class Rewritten(Candidates):
    """What ``candidates`` says, and the rewritten text under ``"ptx"``."""


class Trace(Report):
    """What ``trace`` says."""

    def _tables(self) -> Iterator[str]:
        for kernel in kernels(self):
            rows = [[place(one), one.get("kind"), one.get("space"), one.get("address"), count(one)]
                    for one in kernel["accesses"]]
            yield table(kernel["name"], ["place", "kind", "space", "address", "sectors, wavefronts"], rows)


class Verification(Report):
    """What ``verify`` says."""

    def _tables(self) -> Iterator[str]:
        rows = [[one["name"], one["verdict"]] for one in self["functions"]]
        yield table(f"{self['verdict']}", ["function", "verdict"], rows)


class Equivalence(Report):
    """What ``verify --over`` says; as text, for people."""

    def __str__(self) -> str:
        lines = [self.sentence()]
        witness = self["witness"]
        if witness:
            found = witness.get("smallest", witness)
            if found is witness:
                inputs = [f"inputs {witness['inputs']}"]
            else:
                inputs = [f"{element(one)} = {one['value']:.7g}" for one in found["inputs"]]
                inputs.append(f"{found['others']} for all {'other ' if inputs else ''}inputs")
            lines.append(f"{element(found)} is {found['original']} by the first and {found['rewritten']} by the second kernel, "
                         f"with {', '.join(inputs)}")
        else:
            # Differences are listed below.
            reason = self.get("reason") or ""
            lines += list(filter(None, [reason.partition("; ")[2] if self.get("differences") else reason]))
            lines += [f"at {at(self['place'])}"] if self.get("place") else []
        groups: Dict[str, List[str]] = {}
        for one in self.get("differences", []):
            what = "elements that differ" if witness and one["what"] == DIFFERENT else one["what"]
            groups.setdefault(what, []).append(element(one))
        lines += [f"{what}: {', '.join(places[:4])}{', ...' if places[4:] else ''}" for what, places in groups.items()]
        if self["unpaired"]:
            lines.append(f"a buffer of one launch alone: {', '.join(self['unpaired'])}")
        if self["verdict"] != "different":
            lines += [f"{one['bits']} is read as {one['as']}" for one in self["readings"]]
        return "\n  ".join(lines)

    def sentence(self) -> str:
        """The verdict."""
        over = "over the reals" if self["over"] == "reals" else "to the bit"
        if self["verdict"] == "equal":
            blocks = self["blocks"]
            sample = "all" if blocks["executed"] == blocks["of"] else f"{blocks['executed']} of"
            return (f"the kernels are the same function {over}: {self['elements']} elements, {sample} {blocks['of']} blocks, "
                    f"error bound {self['error_bound']:.1e}")
        if self["verdict"] == "different":
            return f"the kernels are different functions {over}"
        return f"it is unknown whether the kernels are the same function {over}"

    def _tables(self) -> Iterator[str]:
        yield "<br>".join(html.escape(line) for line in str(self).split("\n"))


def element(found: Mapping[str, Any]) -> str:
    """An element of a buffer: ``y[0, 3]``."""
    return f"{found['buffer']}[{', '.join(map(str, found.get('at', [found['index']])))}]"


def at(place: Mapping[str, Any]) -> str:
    """A place of ``verify --over``."""
    source, line = place.get("source"), f"line {place['line']} of the PTX"
    return f"{source} ({line})" if source else f"{line} ({place['file']})"


class Assembly(Report):
    """What ``asm`` says."""

    def _tables(self) -> Iterator[str]:
        columns = ["name", "registers", "stack", "spill_stores", "shared", "instructions", "warps", "issue_cycles"]
        rows = [[one.get(column) for column in columns] for one in self["kernels"]]
        yield table(f"sm_{self['arch']}", columns, rows)


class Run(Report):
    """What ``run`` has counted."""

    def _tables(self) -> Iterator[str]:
        counted = self["counters"].items()
        yield table(self["kernel"], ["event", "count"], [[name, value] for name, value in counted if value])


def kernels(report: Mapping[str, Any]) -> Iterable[Dict[str, Any]]:
    """The kernels of one file or of several."""
    for file in report.get("files", [report]):
        yield from file["kernels"]


def place(found: Mapping[str, Any]) -> str:
    """The place in the source where it is known, the line of the PTX otherwise."""
    source = found.get("source")
    return f"{source['file'].rsplit('/', 1)[-1]}:{source['line']}" if source else f"line {found['line']}"


def count(access: Mapping[str, Any]) -> Optional[str]:
    """The sectors or wavefronts of an access: ``4 to 32 (ideal 4)``."""
    counts = access.get("sectors") or access.get("wavefronts")
    if not counts:
        return None
    least, most, ideal = counts["min"], counts["max"], counts["ideal"]
    numbers = str(most) if least == most else f"{least} to {most}"
    return numbers if most == ideal else f"{numbers} (ideal {ideal})"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table with a title; a column without a value is left out, a table without rows is its title."""
    if not rows:
        return f"<p>{html.escape(title)}</p>"
    kept = [at for at, _ in enumerate(columns) if any(row[at] is not None for row in rows)]

    def cells(tag: str, row: Sequence[Any]) -> str:
        return "".join(f"<{tag} style='text-align:left'>{shown(row[at])}</{tag}>" for at in kept)

    lines: List[str] = [f"<tr>{cells('th', columns)}</tr>", *(f"<tr>{cells('td', row)}</tr>" for row in rows)]
    return f"<table><caption style='text-align:left'>{html.escape(title)}</caption>{''.join(lines)}</table>"


def shown(value: Any) -> str:
    """A value in a cell."""
    return "" if value is None else html.escape(str(value))

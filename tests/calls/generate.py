"""Random calls of ptxas: words, files, environment, streams, limits, signals.

A call is plain data (`Call`), so that it can be printed, repeated and made smaller. Which options there are is read from
`ptxas --help`; nothing here knows any program that stands in for it."""

import dataclasses
import re

HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"


def kernel(name, body="", loads=1):
    """A kernel that adds up so many neighbours of its own element."""
    taps = "".join(f"ld.global.nc.f32 %f1, [%d6+{4 * load}];\nadd.f32 %f2, %f2, %f1;\n" for load in range(loads))
    return (f".visible .entry {name}(.param .u64 a, .param .u64 b)\n{{\n.reg .b32 %r<5>;\n.reg .f32 %f<9>;\n"
            f".reg .b64 %d<9>;\n.reg .pred %p<3>;\nld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\n"
            "cvta.to.global.u64 %d3, %d1;\ncvta.to.global.u64 %d4, %d2;\nmov.u32 %r1, %tid.x;\n"
            f"mul.wide.u32 %d5, %r1, 4;\nadd.s64 %d6, %d3, %d5;\nadd.s64 %d7, %d4, %d5;\nmov.f32 %f2, 0f00000000;\n{body}"
            f"{taps}st.global.f32 [%d7], %f2;\nret;\n}}\n")


PLAIN = HEAD + kernel("k")
ROW = HEAD + kernel("k", loads=4)

# Texts by name; `{n}` makes the names of kernels different in several files of a call.
TEXTS = {
    "plain": PLAIN,
    "row": ROW,
    "two": HEAD + kernel("k", loads=3) + kernel("m{n}"),
    "long": HEAD + kernel("k", loads=40),
    "other": HEAD + kernel("o{n}", loads=3),
    "syntax": ROW.replace("st.global", "st.glbal"),
    "symbol": ROW.replace("add.f32 %f2, %f2, %f1", "add.f32 %f2, %f7, %g1"),
    "pragma": HEAD + kernel("k", '.pragma "foo in line 12";\n', 4),
    "quoted": HEAD + kernel("k", ".pragma \"it's in line 3\";\n", 4),
    "vote": HEAD.replace("7.0", "6.3").replace("sm_80", "sm_75") + kernel("k", "vote.all.pred %p1, %p1;\n", 4),
    "double": HEAD + kernel("k", ".reg .f64 z;\ncvt.f64.f32 z, %f1;\nst.global.f64 [%d7], z;\n", 4),
    "extern": HEAD + ".extern .func ext{n}();\n" + kernel("k", "call ext{n}, ();\n", 4),
    "lines": HEAD + '.file 1 "a.cu"\n' + kernel("k", ".loc 1 3 5\n", 4),
    "shared": HEAD + kernel("k", ".shared .b32 s[20];\n.local .b32 l[9];\nst.local.u32 [l+4], %r1;\n", 4),
    "bounds": HEAD + kernel("k", loads=4).replace("{\n", ".maxntid 64, 1, 1\n{\n", 1),
    "crlf": ROW.replace("\n", "\r\n"),
    "open end": ROW[:-1],
    "cut off": ROW[:-2],
    "comment": "/* one\n   two */ // three\n\n" + ROW,
    "open comment": ROW + "/* and",
    "nul": ROW + "\0",
    "nul and more": ROW + "\0\0what\n",
    "nul within": ROW.replace("ret;", "re\0t;"),
    "ctrl-z": ROW + "\x1a",
    "mark": "\ufeff" + ROW,
    "new version": ROW.replace("7.0", "99.9"),
    "new target": ROW.replace("sm_80", "sm_999"),
    "no version": ROW[len(".version 7.0\n"):],
    "debug": ROW.replace("sm_80", "sm_80, debug"),
    "nothing": "",
    "blank": " \n\n",
    "words": "-arch sm_80 -v\n",
    "bytes": "\x7fELF\x02\x01\x01\x00\x00",
    "latin": "// \xe9\n" + ROW,
}
USUAL = ["plain", "row", "two", "long", "other", "vote", "lines"]
NAMES = ["a.ptx", "b.ptx", "a b.ptx", "./c.ptx", "sub/d.ptx", "e", "f.cubin", "g'h.ptx", 'i"j.ptx', "line 5.ptx", "in line 7",
         "\u00e4.ptx", "-k.ptx", "l=m.ptx", "n,o.ptx", "x\\y.ptx", "$p.ptx", "q\n.ptx", "k"]
OUTPUTS = ["out", "out.cubin", "sub/out", "missing/out", "there", "closed", "link", "dangling", "sub", "/dev/null", "/dev/stdout",
           "/dev/full", "-", "", "a.ptx", "o u t", "in line 3", "./out"]
STDIN = {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}
VALUES = ["0", "1", "2", "3", "4", "24", "32", "64", "255", "256", "9999", "-1", "1.5", "true", "false", "yes", "", "sm_80", "sm_75",
          "ca", "cg", "cs", "lu", "cv", "wb", "min", "mid", "max", "archmax", "archmin", "k", "nobody", "32,1,1", "x", "a,b"]
TARGETS = ["sm_80", "sm_80", "sm_80", "sm_86", "sm_90", "sm_75", "sm_35", "sm_999", "compute_80", "lto_80", "sm_80,sm_90", ""]
# Settings that a build may have; the last ones are documented switches of the program that stands in.
SETTINGS = [("TMPDIR", ""), ("TMPDIR", "missing"), ("TMPDIR", "."), ("TMPDIR", "/dev/null"), ("HOME", "/missing"), ("LANG", "de_DE.UTF-8"),
            ("LC_ALL", "C"), ("PATH", "/missing"), ("MAKEFLAGS", "-j --jobserver-auth=3,4"), ("TMP", "/missing"), ("LD_BIND_NOW", "1"),
            ("PTXASW", "off"), ("PTXASW", "OFF "), ("PTXASW_CHECK", "off"), ("PTXASW_STRATEGY", "auto")]
# As the shell's `ulimit` takes them: descriptors, blocks of 512 bytes of a file, KiB of stack, address space and data, seconds.
LIMITS = [("n", 5), ("n", 6), ("n", 9), ("n", 14), ("f", 0), ("f", 1), ("f", 4), ("f", 6), ("f", 12), ("c", 0), ("t", 9), ("s", 1024),
          ("s", 65536), ("v", 1 << 21), ("v", 1 << 19), ("d", 1 << 20), ("p", 10000)]
IGNORED = ["PIPE", "HUP", "INT", "TERM", "QUIT", "XFSZ", "XCPU", "CHLD"]
SENT = ["TERM", "INT", "HUP", "QUIT", "KILL", "USR1", "PIPE", "XCPU"]


def named(text):
    """A text for people: its name, where it is one of ours."""
    for kind, known in TEXTS.items():
        pattern = re.escape(known).replace(re.escape(" k("), r" k\d*\(").replace(re.escape("{n}"), r"\d")
        if isinstance(text, str) and text and re.fullmatch("(--input-as-string=|-ias=)?" + pattern, text):
            return f"<{kind}>"
    return repr(text)


@dataclasses.dataclass
class Call:
    """A call of the assembler in a folder of its own."""
    words: list
    files: dict  # name: text, or None for a folder, or ("link", target)
    env: list = dataclasses.field(default_factory=list)
    stdin: tuple = ("null", "")  # null, closed, file, pipe; text
    stdout: str = "pipe"  # pipe, file, closed, full, broken
    stderr: str = "pipe"
    limits: list = dataclasses.field(default_factory=list)
    ignored: list = dataclasses.field(default_factory=list)
    umask: int = 0o022
    pipe: str = ""  # what can be read once from /dev/fd/9
    sent: str = ""  # a signal that comes while standard input stays open

    def smaller(self):
        """The calls with one thing less."""
        change = dataclasses.replace
        for count in (2, 1):
            for at in range(len(self.words) - count + 1):
                yield change(self, words=self.words[:at] + self.words[at + count:])
        for field in ("env", "limits", "ignored"):
            values = getattr(self, field)
            for at in range(len(values)):
                yield change(self, **{field: values[:at] + values[at + 1:]})
        for name in self.files:
            yield change(self, files={other: text for other, text in self.files.items() if other != name})
        for name, text in self.files.items():
            for simple in (PLAIN, ROW):
                if isinstance(text, str) and len(text) > len(simple):
                    yield change(self, files={**self.files, name: simple})
            if isinstance(text, str) and text.count("\n") > 1 and not text.startswith("."):
                for line in text.splitlines(keepends=True):
                    yield change(self, files={**self.files, name: text.replace(line, "", 1)})
        for field in dataclasses.fields(self):
            if field.name in ("words", "files"):
                continue
            plain = field.default if field.default is not dataclasses.MISSING else field.default_factory()
            if getattr(self, field.name) != plain:
                yield change(self, **{field.name: plain})

    def __str__(self):
        """For people: the words, and what is not usual."""
        words = (word if re.fullmatch(r"[\w./=+,-]+", word) else named(word) for word in self.words)
        shown = [" ".join(words) or "(no words)"]
        for name, text in self.files.items():
            shown.append(f"  file {name!r}: {named(text)}")
        for field in dataclasses.fields(self):
            plain = field.default if field.default is not dataclasses.MISSING else None
            value = getattr(self, field.name)
            if field.name not in ("words", "files") and value and value != plain:
                value = tuple(map(named, value)) if field.name == "stdin" else named(value)
                shown.append(f"  {field.name}: {value}")
        return "\n".join(shown)


def options(help_text):
    """The options that the assembler names: long name, short name, whether it shows a value, the values it allows."""
    found = []
    for part in re.split(r"^(?=--\w)", help_text, flags=re.M)[1:]:
        head = re.match(r"--([\w-]+)(.*?)\(-([\w-]+)\)", part)
        if head:
            allowed = re.search(r"Allowed values[^:]*:(.*)", part, re.S)
            values = re.findall(r"'([^']+)'", allowed.group(1)) if allowed else []
            found.append((head[1], head[3], "<" in head[2] or "..." in head[2] or bool(values), values))
    return found


class Source:
    """Random calls for an assembler that has these options."""

    def __init__(self, chance, known):
        self.chance, self.known = chance, known

    def maybe(self, share):
        return self.chance.random() < share

    def text(self, number):
        kind = self.chance.choice(USUAL) if self.maybe(0.7) else self.chance.choice(list(TEXTS))
        text = TEXTS[kind]
        if number:
            text = text.replace(" k(", f" k{number}(")
        return text.replace("{n}", str(number))

    def spelled(self, long, short, value):
        """The words of an option, in one of the ways that are right, or nearly."""
        name = self.chance.choice(["--" + long, "-" + short])
        if self.maybe(0.03):
            name = self.chance.choice(["-" + long, "--" + short, "--" + long[:-1], name.upper(), name + "x"])
        if value is None:
            return [name]
        if self.maybe(0.04):
            return [name]
        if self.maybe(0.1) and short in ("O", "m"):
            return ["-" + short + value]
        return [name, value] if self.maybe(0.6) else [f"{name}={value}"]

    def option(self):
        long, short, takes, allowed = self.chance.choice(self.known)
        if long in ("output-file", "gpu-name", "options-file", "input-as-string"):
            return []
        if long in ("help", "version", "list-arch", "list-version") and not self.maybe(0.1):
            return []
        values = allowed if allowed and self.maybe(0.8) else VALUES
        value = self.chance.choice(values) if takes or self.maybe(0.2) else None
        return self.spelled(long, short, value)

    def call(self):
        call = Call([], {"sub": None, "there": "old contents\n", "link": ("link", "sub/target"), "dangling": ("link", "no/where")})
        words = []
        if self.maybe(0.9):
            words.append(self.spelled("gpu-name", "arch", self.chance.choice(TARGETS)))
        for _ in range(self.chance.choice([0, 0, 1, 1, 2, 3, 5])):
            words.append(self.option())
        for _ in range(self.chance.choice([0, 1, 1, 1, 1, 1, 1, 2])):
            words.append(self.spelled("output-file", "o", self.chance.choice(OUTPUTS)))
        for number in range(self.chance.choice([0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3])):
            words.append(self.input(call, number))
        self.chance.shuffle(words)
        call.words = [word for group in words for word in group]
        if self.maybe(0.12):
            self.options_file(call)
        self.surroundings(call)
        return call

    def input(self, call, number):
        text = self.text(number)
        way = self.chance.random()
        if way < 0.72:
            name = self.chance.choice(NAMES[:2]) if self.maybe(0.5) else self.chance.choice(NAMES)
            if not self.maybe(0.02):
                call.files[name] = text
            return [name]
        if way < 0.84:
            call.stdin = (self.chance.choice(["file", "pipe", "pipe"]), text)
            return [self.chance.choice(sorted(STDIN))]
        if way < 0.9:
            call.pipe = text
            return ["/dev/fd/9"]
        if "\0" in text or way > 0.98:
            return [self.chance.choice(["missing.ptx", "sub", "", "/dev/null"])]
        return self.spelled("input-as-string", "ias", text)

    def options_file(self, call):
        """Puts some words into an options file, or two."""
        for _ in range(self.chance.choice([1, 1, 2])):
            at = self.chance.randrange(len(call.words) + 1)
            inside, call.words[at:] = call.words[at:], []
            quote = [word if re.fullmatch(r"[^\s\"]+", word) and self.maybe(0.8) else f'"{word}"' for word in inside]
            text = self.chance.choice([" ", "\n", "\t", " \n "]).join(quote) + self.chance.choice(["", "\n", " # x", "\\"][:2] * 5 + [" # x", "\\"])
            name = self.chance.choice(["options", "opt file", "sub/options"])
            if self.maybe(0.15) and not call.pipe:
                call.pipe, name = text, "/dev/fd/9"
            elif self.maybe(0.1) and call.stdin[0] == "null":
                call.stdin, name = (self.chance.choice(["file", "pipe"]), text), "/dev/stdin"
            else:
                call.files[name] = text
            if self.maybe(0.05):
                name += ",missing"
            call.words += self.spelled("options-file", "optf", name)

    def surroundings(self, call):
        if self.maybe(0.25):
            call.env.append(self.chance.choice(SETTINGS))
        if self.maybe(0.12):
            call.limits.append(self.chance.choice(LIMITS))
        if self.maybe(0.1):
            call.ignored.append(self.chance.choice(IGNORED))
        if self.maybe(0.05):
            call.umask = self.chance.choice([0o000, 0o077, 0o777])
        if self.maybe(0.06):
            call.stdout = self.chance.choice(["file", "closed", "full", "broken"])
        if self.maybe(0.06):
            call.stderr = self.chance.choice(["file", "closed", "full", "broken"])
        if call.stdin[0] == "null" and self.maybe(0.05):
            call.stdin = ("closed", "")
        if call.stdin[0] == "pipe" and set(call.words) & STDIN and self.maybe(0.1):
            call.sent = self.chance.choice(SENT)

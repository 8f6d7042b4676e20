"""The Python module: what its functions return for samples, how they fail, and that `run` changes arrays as the kernel does.

    module.py FOLDER_OF_THE_REPOSITORY
"""

import json
import os
import pathlib
import sys
import types

import ptxasw
from ptxasw._module import declared

root = pathlib.Path(sys.argv[1])
sample = root / "ptx-samples/jacobi/jacobi.sm_80.ptx"
bad = root / "tests/lint/uncoalesced-load.bad.ptx"

# A path, its text and its bytes say the same.
reports = [ptxasw.lint(form) for form in (bad, str(bad), bad.read_text(), bad.read_bytes())]
for report in reports:
    finding = report["kernels"][0]["findings"][0]
    assert (finding["rule"], finding["waste"]) == ("uncoalesced-load", 28), finding
    assert "uncoalesced-load" in report._repr_html_() and "4*m" in report._repr_html_()
assert isinstance(reports[0], dict) and reports[0]["file"] == str(bad)
assert ptxasw.lint(bad, deny="all")["kernels"][0]["findings"]
assert not ptxasw.lint(bad, deny="all", level="warning", kernel="k", pointer_align=256)["kernels"][0].get("skipped")


class Compiled:
    """As Triton has them."""

    asm = {"ptx": sample.read_text()}


class Dispatcher:
    """As Numba has them."""

    def __init__(self, texts):
        self.texts = texts

    def inspect_asm(self):
        return dict(enumerate(self.texts))


for kernel in (Compiled(), Dispatcher([sample.read_text()]), sample):
    candidates = ptxasw.candidates(kernel, strategy="paper")
    kernel = candidates["kernels"][0]
    assert (kernel["name"], kernel["shuffles"]) == ("jacobi", 6), kernel
    assert kernel["loads"][0]["sectors"]["ideal"] == 4 and kernel["loads"][0]["lane_stride"] == 4, kernel["loads"][0]
    assert "shuffle" in candidates._repr_html_()
trace = ptxasw.trace(sample)
assert any(access.get("sectors") for access in trace["kernels"][0]["accesses"])
assert "jacobi_param_0" in trace._repr_html_()

rewritten = ptxasw.rewrite(sample, strategy="paper")
assert "shfl.sync" in rewritten["ptx"] and rewritten["kernels"][0]["shuffles"] == 6
proved = ptxasw.verify(sample, rewritten["ptx"])
assert proved["verdict"] == "equal" and "equal" in proved._repr_html_()
wrong = rewritten["ptx"].replace("add.f32", "sub.f32", 1)
assert ptxasw.verify(sample.read_text(), wrong, no_run=True)["verdict"] != "equal"


def raises(kind, part, call):
    try:
        call()
    except kind as error:
        assert part in str(error), error
        return error
    raise AssertionError(f"no {kind.__name__}")


raises(ptxasw.Error, "none.ptx", lambda: ptxasw.lint("none.ptx"))
raises(ptxasw.Error, "error", lambda: ptxasw.trace(".version nonsense"))
raises(ptxasw.Error, "no function `other`", lambda: ptxasw.lint(bad, kernel="other"))
raises(ptxasw.Error, "2 signatures", lambda: ptxasw.lint(Dispatcher(["", ""])))
raises(TypeError, "not int", lambda: ptxasw.lint(3))

# Two kernels of a file, with launch files and with dicts.
over = root / "tests/over"
softmax, launches = over / "pairs/softmax.ptx", [over / f"pairs/softmax{end}.json" for end in ("", ".against")]
equal = ptxasw.equivalent(softmax, softmax, launches[0], launch_against=str(launches[1]))
assert equal["verdict"] == "equal" and equal["elements"] == 256 and equal["error_bound"] < 1e-9, equal
assert "the same function over the reals: 256 elements, all 2 blocks" in str(equal) and "log2(e)" in equal._repr_html_()
launches = [json.loads(launch.read_text()) for launch in launches]
text = softmax.read_text()
assert ptxasw.assert_same_function(text, text, launches[0], launch_against=launches[1]) == equal
assert ptxasw.equivalent(text, text, launches[0], "bits", launch_against=launches[1])["verdict"] == "unknown"
found = ptxasw.equivalent(text, text, launches[0], blocks="0")
assert (found["verdict"], found["blocks"]) == ("equal", {"executed": 1, "of": 2}), found
raises(TypeError, "a launch is expected", lambda: ptxasw.equivalent(text, text))
raises(ptxasw.Error, "no launch has a buffer `z`", lambda: ptxasw.equivalent(text, text, launches[0], compare="z"))

if os.environ.get("PTXASW_PTXAS"):
    assembled = ptxasw.asm(sample)
    assert assembled["kernels"][0]["registers"] > 0 and "jacobi" in assembled._repr_html_()

try:
    import numpy
except ImportError:
    print("without numpy")
    sys.exit()

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .f32 by, .param .u32 n, .param .u64 bits)
{
    .reg .pred %p; .reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %d<6>;
    ld.param.u64 %d1, [x]; ld.param.f32 %f1, [by]; ld.param.u32 %r1, [n]; ld.param.u64 %d4, [bits];
    cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d4, %d4;
    mov.u32 %r2, %tid.x; setp.ge.u32 %p, %r2, %r1; @%p bra DONE;
    mul.wide.u32 %d2, %r2, 4; add.s64 %d2, %d1, %d2; ld.global.f32 %f2, [%d2]; mul.f32 %f3, %f2, %f1; st.global.f32 [%d2], %f3;
    mul.wide.u32 %d5, %r2, 8; add.s64 %d5, %d5, %d4; ld.global.u64 %d3, [%d5]; not.b64 %d3, %d3; st.global.u64 [%d5], %d3;
DONE:
    ret;
}
"""
x = numpy.array([1.5, numpy.nan, numpy.inf, -0.0, 3.0], numpy.float32)
# A signalling NaN with a payload, and bits that no double has.
bits = numpy.array([0x7FF0000000000001, 2**63 + 1, 0, 7, 9], numpy.uint64)
ran = ptxasw.run(KERNEL, "scale", 1, (32, 1, 1), [x, 2, 4, bits])
assert x[0] == 3.0 and numpy.isnan(x[1]) and numpy.isinf(x[2]) and numpy.signbit(x[3]) and x[4] == 3.0, x
assert list(bits) == [~0x7FF0000000000001 & 2**64 - 1, 2**63 - 2, 2**64 - 1, 2**64 - 8, 9], bits
assert ran["counters"]["global_load_requests"] == 2 and "instructions" in ran._repr_html_()

# A view is a pointer into its array; both arguments may be one array.
whole = numpy.zeros((4, 6), numpy.float32, order="F")
whole[:] = numpy.arange(24).reshape(4, 6)
ptxasw.run(KERNEL, None, [1], 32, [whole.T[1:], numpy.float32(10), numpy.int32(3), numpy.zeros(3, numpy.int64)])
assert whole[:, 1].tolist() == [10.0, 70.0, 130.0, 19.0] and whole[0, 0] == 0, whole
frozen = numpy.ones(4, numpy.float32)
frozen.flags.writeable = False
raises(ptxasw.Error, "read-only", lambda: ptxasw.run(KERNEL, None, 1, 32, [frozen, 2.0, 4, bits]))
short = numpy.zeros(2, numpy.uint64)
fault = raises(ptxasw.Error, "", lambda: ptxasw.run(KERNEL, None, 1, 32, [x, 2.0, 4, short]))
assert fault.status == 3 and fault.report["fault"]["kind"] == "out-of-bounds", fault.report
raises(TypeError, "integer", lambda: ptxasw.run(KERNEL, None, 1, 32, [x, 2.0, 4.5, bits]))
raises(ptxasw.Error, "does not fit", lambda: ptxasw.run(KERNEL, None, 1, 32, [x, 2.0, 2**32, bits]))
raises(ptxasw.Error, "4 parameters", lambda: ptxasw.run(KERNEL, None, 1, 32, [x]))
raises(ptxasw.Error, "no kernel other", lambda: ptxasw.run(KERNEL, "other", 1, 32, [x]))
assert str(raises(ptxasw.Error, "", lambda: ptxasw.run(KERNEL, None, 1, 2048, [x, 2, 4, bits]))).startswith("a block of 2048")

# Launches as values: one array is one buffer in both; otherwise names count, and then places.
x, y = numpy.empty((2, 128), numpy.float32), numpy.empty((2, 128), numpy.float32)
first = ptxasw.launch(softmax, name="a")[2, 64](x, y)
assert first.file["buffers"]["a_param_0"] == {"type": "f32", "values": "symbolic", "len": 256}, first.file
other = ptxasw.launch(text, name="b")
for second in (other[2, 32](x, y), other[(2,), (32,), 0](x.copy(), y.copy()), other[2, 32](x=x, y=y)):
    assert ptxasw.assert_same_function(first, second)["elements"] == 256
named = lambda **arrays: other[2, 32](**arrays)
two, three = numpy.empty((2, 128), numpy.float32), numpy.empty((2, 128), numpy.float32)
assert ptxasw.equivalent(named(x=x, y=y), named(x=two, y=three))["verdict"] == "equal"
assert ptxasw.equivalent(named(x=x, y=y), named(y=two, x=three))["verdict"] != "equal"
alone = ptxasw.equivalent(first, other[2, 32](x, x))
assert alone["verdict"] != "equal" and alone["unpaired"] == ["a_param_1"] and "a_param_1" in str(alone), alone
raises(TypeError, "has its launch", lambda: ptxasw.equivalent(first, first, launches[0]))
raises(TypeError, "launch(ptx)[grid, block]", lambda: ptxasw.launch(text, name="a")[2](x, y))
raises(ptxasw.Error, "which kernel? There are a, b", lambda: ptxasw.launch(text)[2, 64](x, y))

# Numbers that count, an argument that stands for all numbers, and integers.
scale = ptxasw.launch(KERNEL)
by = lambda number, *data: scale[1, 32](x[:1], number, 4, bits, *data)
assert ptxasw.equivalent(by(2.0), by(2.0))["verdict"] == "equal"
found = ptxasw.equivalent(by(2.0), by(3.0))
assert found["verdict"] == "different" and found["witness"]["at"] == [0, 0], found
assert "x[0, 0] is" in str(ptxasw.equivalent(scale[1, 32](x=x, by=2.0, n=4, bits=bits), by(3.0)))
assert ptxasw.equivalent(by(ptxasw.SYMBOL), by(ptxasw.SYMBOL))["verdict"] == "equal"
assert ptxasw.equivalent(by(ptxasw.SYMBOL), by(2.0))["verdict"] != "equal"
ones, twos = (ptxasw.concrete(numpy.full(4, number, numpy.float32)) for number in (1, 2))
double = scale[1, 32](x=ones, by=2.0, n=4, bits=bits)
assert double.file["buffers"]["x"]["bytes"] == "0000803f" * 4, double.file
assert ptxasw.equivalent(double, scale[1, 32](x=twos, by=1.0, n=4, bits=bits))["verdict"] == "equal"
assert ptxasw.lint(first)["kernels"]

# A module: its kernels by name, its variables, which launches share.
COUNT = """.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 calls = 5;
.const .align 4 .b8 weights[8] = {0, 0, 128, 63};
.visible .entry _Z5countPfi(.param .u64 x, .param .u32 n);
.visible .entry _Z5countPfi(.param .u64 x, .param .u32 n)
{
    .reg .b32 %r<3>; .reg .f32 %f<4>; .reg .b64 %d<2>;
    ld.param.u64 %d1, [x]; cvta.to.global.u64 %d1, %d1; atom.global.add.u32 %r1, [calls], 1;
    ld.const.f32 %f1, [weights]; ld.const.f32 %f2, [weights+4]; add.f32 %f3, %f1, %f2; st.global.f32 [%d1], %f3;
    ret;
}
"""
module, left = ptxasw.Module(COUNT), numpy.zeros(1, numpy.float32)
assert module.symbol("weights", "f4").tolist() == [1, 0] and module.symbol("calls").tolist() == [5]
module.symbol("weights", numpy.float32)[1] = 2.5
for kernel in (module.count, module["count"], module["_Z5countPfi"]):
    ran = kernel[1, 1](left, 3)
    assert left == 3.5 and ran["counters"]["atomic_requests"] == 1, left
assert module.symbol("calls").tolist() == [8] and "count" in dir(module)
assert ptxasw.Module(COUNT).symbol("calls").tolist() == [5]
assert ptxasw.equivalent(ptxasw.launch(module.count)[1, 1](left, 3), ptxasw.launch(COUNT)[1, 1](left, 3))["verdict"] == "unknown"
raises(TypeError, "is `float*`, and the array has elements of float64, not float32", lambda: module.count[1, 1](numpy.zeros(1), 3))
raises(AttributeError, "no kernel other", lambda: module.other)
raises(ptxasw.Error, "no variable `other`; there are: calls, weights", lambda: module.symbol("other"))
raises(TypeError, "kernel[grid, block]", lambda: module.count[1])
raises(TypeError, "grid and block are missing", lambda: module.count(left, 3))
raises(ptxasw.Error, "2 parameters, not 1: float*, int", lambda: module.count[1, 1](left))
module.count[numpy.int64(1), (1,)](left, numpy.int64(3))
fault = raises(ptxasw.Fault, "which has 0 bytes", lambda: module.count[1, 1](left[:0].copy(), 3))
assert fault.kind == "out-of-bounds" and module.symbol("calls").tolist() == [9], fault

SPIN = ".version 8.0\n.target sm_80\n.visible .entry spin() { LOOP: bra.uni LOOP; }\n"
raises(ptxasw.Fault, "more than 1000 instructions, its limit", lambda: ptxasw.run(SPIN, None, 1, 32, [], limit=1000))

# Structs are tuples, and a list of arrays is an array of pointers.
PACKED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry packed(.param .align 8 .b8 p[24], .param .u64 rows)
{
    .reg .b32 %r<3>; .reg .f32 %f<4>; .reg .b64 %d<4>;
    ld.param.u32 %r1, [p]; ld.param.f32 %f1, [p+4]; ld.param.u64 %d1, [p+8]; ld.param.f32 %f2, [p+16];
    cvt.rn.f32.s32 %f3, %r1; fma.rn.f32 %f1, %f1, %f3, %f2; st.global.f32 [%d1], %f1;
    ld.param.u64 %d2, [rows]; ld.global.u64 %d3, [%d2+16]; st.global.f32 [%d3+4], %f1;
    ret;
}
"""
left, rows = numpy.zeros(1, numpy.float32), [numpy.zeros(2, numpy.float32), None, numpy.zeros(3, numpy.float32)]
ptxasw.Module(PACKED).packed[1, 1]((-3, 2.0, left, numpy.float32(0.5)), rows)
assert left == -5.5 and rows[2].tolist() == [0, -5.5, 0], (left, rows)
fault = raises(ptxasw.Fault, "packed.ptx:", lambda: ptxasw.Module(PACKED).packed[1, 1]((-3, 2.0, left, 0.5), [left, None, left]))
assert str(fault).startswith("packed.ptx:9:") and fault.report["file"] == "packed.ptx" and "of `p`" in str(fault), fault
raises(TypeError, "bytes or a tuple (a struct) are expected, not str", lambda: ptxasw.run(PACKED, None, 1, 1, ["x", rows]))

# The names of parameters in a CUDA source.
SOURCE = """// scale(float *a, int b) {
template <typename T, int N = 3> __global__ void scale(const T *__restrict__ x, /* n, */ int n, float by[]);
__global__ void scale(pair<int, float> *x, unsigned n, const float by[4]) { helper(x, n, by); }"""
kernel = {"names": ["_Z5scale", "void scale<float>(...)", "scale<float>"], "parameters": [{}] * 3}
assert declared(SOURCE, kernel) == ["x", "n", "by"] and not declared(SOURCE, {**kernel, "parameters": [{}]})
assert not declared("__global__ void k(int) { }", {"names": ["k"], "parameters": [{}]})
print("with numpy")

try:
    from ptxasw import _launch, _pytest
except ImportError:
    print("without pytest")
else:
    # A worker of pytest-xdist hands over what it has executed.
    worker = types.SimpleNamespace(workeroutput={})
    _pytest.pytest_sessionfinish(types.SimpleNamespace(config=worker))
    before, lines = _launch.SETTINGS.launches, []
    _pytest.pytest_testnodedown(worker)
    _pytest.pytest_testnodedown(object())
    _pytest.pytest_terminal_summary(types.SimpleNamespace(write_line=lines.append))
    assert before and lines[0].startswith(f"ptxasw: {2 * before} launches, ") and lines[0].endswith(" faults"), lines

try:
    from ptxasw.triton import here
except ImportError:
    print("without Triton")
else:
    # The cache has the path that a kernel's file had when it was compiled.
    code = types.SimpleNamespace(co_filename="/new/kernels.py")
    source = types.SimpleNamespace(fn=types.SimpleNamespace(fn=types.SimpleNamespace(__code__=code)))
    old = '.file 1 "/old/kernels.py" .file 2 "/a/b.py"'
    assert here(old, source) == old.replace("/old/", "/new/") and here(old, object()) == old
    assert here(old.replace("a/b", "b/kernels"), source) == old.replace("a/b", "b/kernels")

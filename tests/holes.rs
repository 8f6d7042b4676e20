//! Holes in people's own CUDA: filled, judged, assembled, and refused where they cannot be.
//!
//! `tests/holes/*.ptx` is what compilers make of the `.cu` files there and of `openacc-bench/holes/`; where nvcc or
//! clang is at hand, it is made anew and has to be filled alike.

#![allow(
    clippy::disallowed_methods,
    reason = "processes and the environment are the business of few modules of the program; a test \
              harness is outside of it"
)]

use crate::common::assembler;
use crate::common::missing::not_run;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assembler::Assembler;
use ptxasw::holes::{self, Filled, Kernel};
use ptxasw::interp;
use ptxasw::launch::{Argument, Buffer, DEFAULT_LIMIT, Launch, Meet, Type};
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file given relative to the root.
fn read(file: &Path) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

fn fixture(name: &str) -> SourceFile {
    let path = format!("tests/holes/{name}.ptx");
    SourceFile::new(path.clone(), read(Path::new(&path)))
}

fn filled(source: &SourceFile) -> Filled {
    match holes::fill(source) {
        Ok(Some(filled)) => filled,
        Ok(None) => panic!("{}: no holes", source.name()),
        Err(error) => panic!("{error}"),
    }
}

/// The message about a text that cannot be filled.
fn refused(text: &str) -> String {
    match holes::fill(&SourceFile::new("text.ptx", text)) {
        Ok(found) => panic!("filled: {found:?}"),
        Err(error) => error.to_string(),
    }
}

fn expressions(kernel: &Kernel) -> Vec<&str> {
    kernel.holes.iter().map(|hole| hole.expression.as_str()).collect()
}

/// What stands in the samples, by hand or by Swizzle Inventor, and how much work it may be to find it.
const SAMPLES: [(&str, &[&str], u64); 6] = [
    ("transpose", &["(i * 2 - lane * 2) % 7", "(lane * 7 + k) & 31", "i"], 2),
    ("conv", &["(lane >= k ? 0 : 1)", "(lane + k) & 31", "1"], 1),
    ("ffm", &["k", "(lane - k) & 31", "lane >= k", "lane < k"], 1),
    ("scan", &["(lane - k) & 31", "lane >= k"], 1),
    ("inline", &["(lane * 31 - 1) & 31"], 1),
    ("clang", &["(i * 2 + lane * 2 + 2) % 5", "(lane * 5 - k + 4) & 31", "(i * 4 - 1) % 5"], 2),
];

#[test]
fn samples_are_filled_with_little_work() {
    let assembler = Assembler::find();
    for (name, wanted, solutions) in SAMPLES {
        let source = fixture(name);
        let Filled { text, kernels, .. } = filled(&source);
        let [kernel] = &kernels[..] else { panic!("{name}: {kernels:?}") };
        assert_eq!(expressions(kernel), wanted, "{name}");
        assert_eq!(kernel.solutions, solutions, "{name}");
        let work = kernel.work;
        assert!(
            work.steps < 4_000 && work.nodes < 40_000 && work.tables < 4_096,
            "{name}: {work:?}"
        );
        for gone in ["ptxasw_xform", "ptxasw_part", "ptxasw_cond", "ptxasw_spec"] {
            assert!(!text.contains(gone), "{name}: {gone} is left");
        }
        if let Some(assembler) = &assembler {
            let folder = tempfile::tempdir().unwrap();
            let assembled = assembler.assemble(&text, &folder.path().join("out.cubin"));
            assembled.unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }
}

/// Runs a kernel of a filled sample on buffers of words.
fn run(text: &str, kernel: &str, buffers: &[&[u32]]) -> Vec<Vec<u32>> {
    let source = SourceFile::new("filled.ptx", text);
    let module = ptx::parse(&source, Depth::All).unwrap();
    let name = module.functions().map(|f| f.name.text).find(|name| name.contains(kernel)).unwrap();
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let names: Vec<String> = (0..buffers.len()).map(|at| format!("b{at}")).collect();
    let launch = Launch {
        pointers: Default::default(),
        kernel: Some(name.to_owned()),
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_shared: 0,
        buffers: names
            .iter()
            .zip(buffers)
            .map(|(name, words)| (name.clone(), Buffer { ty: Type::U32, bytes: bytes(words) }))
            .collect::<BTreeMap<_, _>>(),
        args: names
            .iter()
            .map(|name| Argument::Pointer { buffer: name.clone(), offset: 0 })
            .collect(),
        limit: DEFAULT_LIMIT,
        races: true,
        uninitialized: true,
        meet: Meet::default(),
        values: BTreeMap::new(),
        store_conflicts: true,
        variables: None,
        symbolic_args: BTreeMap::new(),
    };
    let outcome = interp::run(&module, &launch).unwrap_or_else(|fault| panic!("{kernel}: {fault}"));
    let words = |buffer: &Buffer| buffer.elements().map(|element| element as u32).collect();
    names.iter().map(|name| words(&outcome.buffers[name])).collect()
}

/// Against what the samples' first lines say, computed here.
#[test]
fn filled_samples_compute_what_they_are_for() {
    let random: Vec<u32> = (1..=256u32).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n << 7).collect();
    let out = vec![0; 224];
    let text = |name: &str| filled(&fixture(name)).text;

    let y = &run(&text("transpose"), "transpose", &[&random[..224], &out])[1];
    for lane in 0..32 {
        (0..7).for_each(|r| assert_eq!(y[32 * r + lane], random[7 * lane + r]));
    }

    let y = &run(&text("scan"), "scan", &[&random[..32], &out])[1];
    for lane in 0..32 {
        let sum = random[..=lane].iter().fold(0u32, |sum, word| sum.wrapping_add(*word));
        assert_eq!(y[lane], sum);
    }

    let z = &run(&text("ffm"), "multiply", &[&random[..32], &random[32..64], &out])[2];
    for place in 0..63 {
        let pairs = (0..32).filter(|i| (0..32).contains(&(place - i)));
        let word = |at: i32| random[at as usize];
        let product = pairs.fold(0, |sum, i| sum ^ word(i) & word(32 + place - i));
        // A lane has two coefficients: low those up to 31, high the others.
        assert_eq!(z[place as usize], product, "coefficient {place}");
    }

    let numbers: Vec<f32> = random.iter().map(|word| (*word >> 8) as f32 / 1e6).collect();
    let bits: Vec<u32> = numbers.iter().map(|number| number.to_bits()).collect();
    let y = &run(&text("conv"), "convolve", &[&bits[..64], &bits[100..105], &out])[2];
    for lane in 0..32 {
        let sum = (0..5).fold(0f32, |sum, k| numbers[100 + k].mul_add(numbers[lane + k], sum));
        assert_eq!(y[lane], sum.to_bits(), "lane {lane}");
    }
}

/// A judge that agrees with everything would let wrong expressions through.
#[test]
fn a_wrong_filling_is_not_let_through() {
    for (name, from, to) in [
        ("transpose", "and.b32", "or.b32"),
        ("conv", "setp.ge.s32", "setp.gt.s32"),
        ("scan", "setp.ge.s32", "setp.gt.s32"),
        ("ffm", "setp.lt.s32", "setp.le.s32"),
    ] {
        let source = fixture(name);
        let Filled { text, .. } = filled(&source);
        holes::judge(&source, &text).unwrap_or_else(|error| panic!("{error}"));
        // The last one of ours: an instruction on a register that the filling has made.
        let ours = |line: &&str| line.contains(from) && line.contains("ptxasw_hole");
        let line = text.lines().rfind(ours).unwrap_or_else(|| panic!("{name}: no {from}"));
        let wrong = text.replacen(line, &line.replace(from, to), 1);
        let error = holes::judge(&source, &wrong).unwrap_err().to_string();
        assert!(error.contains("is not its specification"), "{name}: {error}");
    }
}

#[test]
fn a_text_without_holes_is_left_alone() {
    let none = |text: &str| holes::fill(&SourceFile::new("text.ptx", text)).unwrap().is_none();
    // Not even PTX: it is not parsed.
    assert!(none("no holes here, and no PTX"));
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n// ptxasw_xform\n.visible .entry k() { ret; }\n";
    assert!(none(text));
}

/// One kernel and its specification; `body` is the kernel's.
fn module(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n\
         .visible .entry kernel(.param .u64 x, .param .u64 y);\n\
         .visible .entry wanted(.param .u64 x, .param .u64 y);\n\
         .global .align 8 .u64 ptxasw_spec_1[2] = {{kernel, wanted}};\n\
         .visible .entry wanted(.param .u64 x, .param .u64 y)\n{{\n{HEAD}\
         xor.b32 %r1, %r0, 1;\nmad.wide.u32 %d0, %r1, 4, %d0;\nld.global.u32 %r2, [%d0];\n\
         st.global.u32 [%d1], %r2;\nret;\n}}\n\
         .visible .entry kernel(.param .u64 x, .param .u64 y)\n{{\n{HEAD}{body}\nret;\n}}\n"
    )
}

const HEAD: &str = ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>;\n\
                    ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y];\nmov.u32 %r0, %tid.x;\n\
                    mad.wide.u32 %d1, %r0, 4, %d1;\n";
const LOAD: &str = "mad.wide.u32 %d2, %r0, 4, %d0;\nld.global.u32 %r2, [%d2];\n";
const CALL: &str = "call (%r3), ptxasw_xform, (0, %r0, 32, 0, 1);\n";
const SHUFFLE: &str = "shfl.sync.idx.b32 %r4, %r2, %r3, 31, -1;\n";
const STORE: &str = "st.global.u32 [%d1], %r4;\n";

/// Twins: the first one is filled, and each change of it is refused with its own reason.
#[test]
fn what_is_not_understood_is_an_error_that_says_what() {
    let good = [LOAD, CALL, SHUFFLE, STORE].concat();
    let found = filled(&SourceFile::new("text.ptx", module(&good)));
    assert_eq!(found.kernels[0].solutions, 1);
    for (from, to, why) in [
        (STORE, "", "the kernel does not store parameter 1[0], and its specification does"),
        (
            STORE,
            "st.global.u32 [%d1], %r4;\nst.global.u32 [%d1+128], %r4;\n",
            "its specification does not",
        ),
        (STORE, "st.global.u16 [%d1], %r4;\n", "accesses of another size"),
        (
            CALL,
            "call (%r3), ptxasw_xform, (0, %r2, 32, 0, 1);\n",
            "depends on loaded data or a hole",
        ),
        (CALL, "call (%r3), ptxasw_xform, (0, %r0, 16, 0, 1);\n", "is not below 16"),
        (CALL, "call (%r3), ptxasw_xform, (0, %r0, 99, 0, 1);\n", "1 to 64 values"),
        (CALL, "call (%r3), ptxasw_xform, (%r0, %r0, 32, 0, 1);\n", "one call is of several holes"),
        (CALL, "call (%r3), ptxasw_xform, (0, %r0);\n", "takes 5 arguments"),
        (CALL, "call (%r3), ptxasw_part, (0, %r0, 0, 2);\n", "cannot be filled"),
        (
            SHUFFLE,
            "vote.sync.ballot.b32 %r4, %p0, -1;\n",
            "`vote.sync.ballot.b32` is not understood",
        ),
        (SHUFFLE, "shfl.sync.idx.b32 %r4, %r3, %r2, 31, -1;\n", "depends on loaded data"),
        (
            SHUFFLE,
            "setp.eq.u32 %p0, %r3, 1;\n@%p0 shfl.sync.idx.b32 %r4, %r2, 1, 31, -1;\n",
            "whether `shfl` is executed",
        ),
        (SHUFFLE, "shfl.sync.idx.b32 %r4, %r2, %r3, 31, 65535;\n", "not all lanes"),
        (
            STORE,
            "selp.u32 %r4, %r4, 0, 0x8000000000000000;\nst.global.u32 [%d1], %r4;\n",
            "this constant as a predicate",
        ),
        (STORE, "selp.u32 %r4, 0, %r4, 0x100000000;\nst.global.u32 [%d1], %r4;\n", "this hole"),
        (
            LOAD,
            "mad.wide.u32 %d2, %r0, 4, %d0;\nld.volatile.global.u32 %r2, [%d2];\n",
            "`ld.volatile.global.u32`",
        ),
        (
            STORE,
            "setp.eq.u32 %p0, %r2, 1;\n@%p0 bra AWAY;\nst.global.u32 [%d1], %r4;\nAWAY:\n",
            "whether `st` is executed",
        ),
    ] {
        let text = module(&good.replace(from, to));
        let error = refused(&text);
        assert!(error.contains(why), "{why}: {error}");
    }
    let text = module(&good);
    let none = text.replace("ptxasw_spec_1", "another");
    assert!(refused(&none).contains("`kernel` has a hole and no specification"));
    let unclear = text.replace("{kernel, wanted}", "{kernel, nobody}");
    assert!(refused(&unclear).contains("does not name two kernels"));
    let away = text.replace("mov.u32 %r0, %tid.x;", "mov.u32 %r0, %tid.x; bra.uni DONE;\nDONE:");
    assert!(holes::fill(&SourceFile::new("text.ptx", away)).is_ok());
}

/// `ptxasw ptxas -- ARGUMENTS`
fn wrapper(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxasw"));
    command.args(["ptxas", "--"]).args(arguments).env_remove("PTXASW");
    command.envs(environment.iter().copied());
    command.output().unwrap()
}

#[test]
fn in_the_place_of_ptxas_holes_are_filled_whatever_is_asked_for() {
    let Some(Assembler { ptxas }) = Assembler::find() else { return };
    let ptxas = ptxas.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cubin = folder.path().join("out.cubin");
    let cubin = cubin.to_str().unwrap();
    let input = root().join("tests/holes/conv.ptx");
    let arguments = ["-arch=sm_80", "-o", cubin, input.to_str().unwrap()];
    let remarks = folder.path().join("remarks");
    std::fs::create_dir(&remarks).unwrap();
    let real = ("PTXASW_PTXAS", ptxas);
    for more in
        [&[][..], &[("PTXASW_STRATEGY", "none")], &[("PTXASW_REMARKS", remarks.to_str().unwrap())]]
    {
        let _ = std::fs::remove_file(cubin);
        let output = wrapper(&arguments, &[&[real], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{more:?}: {said}");
        assert!(Path::new(cubin).exists(), "{more:?}");
    }
    let yaml = std::fs::read_dir(&remarks).unwrap().next().unwrap().unwrap();
    let yaml = std::fs::read_to_string(yaml.path()).unwrap();
    assert!(yaml.contains("HoleFilled") && yaml.contains("'(lane + k) & 31'"), "{yaml}");

    // Without ptxasw, ptxas names the hole.
    let off = wrapper(&arguments, &[real, ("PTXASW", "off")]);
    let said = String::from_utf8_lossy(&off.stderr).into_owned();
    assert!(!off.status.success() && said.contains("ptxasw_part"), "{said}");

    // At the line of the CUDA, with the demand.
    let input = root().join("tests/holes/impossible.ptx");
    let output = wrapper(&["-arch=sm_80", "-o", cubin, input.to_str().unwrap()], &[real]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(255), "{said}");
    let line = read(Path::new("tests/holes/impossible.cu"));
    let line = line.lines().position(|line| line.contains("ptxasw_xform")).unwrap() + 1;
    assert!(said.contains(&format!("impossible.cu:{line}:")), "{said}");
    assert!(said.contains("parameter 0[32] cannot come through this hole"), "{said}");
    assert!(said.contains("parameter 1[31] has to hold it"), "{said}");
}

/// Two solutions: the cheapest is taken, and the remarks say how many there are.
#[test]
fn remarks_tell_of_other_solutions() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = folder.path().join("remarks.yaml");
    let output = Command::new(env!("CARGO_BIN_EXE_ptxasw"))
        .arg("rewrite")
        .arg(root().join("tests/holes/transpose.ptx"))
        .arg("--remarks")
        .arg(&yaml)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, filled(&fixture("transpose")).text);
    let yaml = std::fs::read_to_string(yaml).unwrap();
    assert!(
        yaml.contains("the cheapest of the solutions: ") && yaml.contains("Solutions:       '2'"),
        "{yaml}"
    );
}

/// The compilers, where they are, make of the sources what the fixtures were made of.
#[test]
fn compilers_keep_holes() {
    let include = format!("-I{}", root().join("src/synth/holes").display());
    let nvcc = Assembler::find().map(|found| found.ptxas.with_file_name("nvcc"));
    let nvcc = nvcc.filter(|path| path.exists()).or_else(|| which::which("nvcc").ok());
    let clang = which::which("clang-19").ok();
    for (name, wanted, _) in SAMPLES {
        let by_clang = name == "clang";
        let Some(compiler): Option<&PathBuf> = (if by_clang { &clang } else { &nvcc }).as_ref()
        else {
            not_run(&format!("holes: the compiler of {name} is missing"));
            continue;
        };
        let sample = root().join(format!("openacc-bench/holes/{name}.cu"));
        let own = root().join(format!("tests/holes/{name}.cu"));
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.ptx");
        let mut command = Command::new(compiler);
        if by_clang {
            command.args(
                "-O3 -x cuda --cuda-device-only -S -w -std=c++17 -nocudainc -nocudalib".split(' '),
            );
            command.args("-Xclang -target-feature -Xclang +ptx78 --cuda-gpu-arch=sm_80".split(' '));
        } else {
            command.args(["-ptx", "-arch=sm_80", "-lineinfo"]);
        }
        command
            .arg(&include)
            .arg(if sample.exists() { sample } else { own })
            .arg("-o")
            .arg(&output);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        let source = SourceFile::new(name, std::fs::read_to_string(&output).unwrap());
        assert_eq!(expressions(&filled(&source).kernels[0]), wanted, "{name}");
    }
}

#[test]
fn the_header_is_written_by_the_program() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_ptxasw")).args(["synth", "--header"]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        read(Path::new("src/synth/holes/ptxasw/hole.cuh"))
    );
}

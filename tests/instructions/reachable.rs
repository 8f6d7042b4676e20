//! Branches on results: for a form and operands, a kernel that branches on the result being what the interpreter
//! computes, and stores through an alias there. The branch is taken, so whoever takes it for dead is wrong.
//!
//! Three opinions about each result meet here: the interpreter's, the emulator's (the term of the result, and every
//! rewrite that rests on it), and the validator's (it must not call a text `equal` that drops the store's effect).

use std::fmt::Write as _;
use std::sync::LazyLock;

use ptxasw::interp;
use ptxasw::launch::Launch;
use ptxasw::pipeline::{self, Options};
use ptxasw::ptx::{self, Depth};
use ptxasw::select::{self, Strategies};
use ptxasw::source::SourceFile;
use ptxasw::verify::{self, Verdict};
use regex::Regex;

use super::check::stored;
use super::operands::Random;
use super::templates::head;

/// Values of registers: the ends and sign bits of all widths, and small numbers.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    u64::MAX,
    u64::MAX - 1,
    0x7f,
    0x80,
    0xff,
    0x100,
    200,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x3c00,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x3f80_0000,
    0x7fc0_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x3ff0_0000_0000_0000,
];

/// Constants that are put in the place of registers, by the registers' letter.
const LITERALS: &[(&str, &[&str])] = &[
    ("p", &["0", "1", "2", "-1", "-2", "0x100000000", "0x8000000000000000", "WARP_SZ"]),
    ("h", &["0", "-1", "2", "0x7fff", "0x8000", "0xffff", "0x10000", "0x12345", "-32769", "300"]),
    ("r", &["0", "-1", "2", "0x7fffffff", "0x80000000", "0x100000001", "200", "0f3f800000"]),
    ("r", &["1.5", "0d3ff8000000000000", "0f80000000", "0f7fc00000", "1e40", "-2147483649"]),
    ("x", &["0", "-1", "2", "0x7fffffffffffffff", "0x8000000000000000", "0xffffffff", "WARP_SZ"]),
    ("x", &["1.5", "0f3f800000", "0d8000000000000000", "0x80000000", "-0x80000000"]),
];

static REGISTER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"%([phrxq])([0-9])").unwrap());

/// Where the sources of a form begin: behind its destination.
fn behind_destination(form: &str) -> Option<usize> {
    let start = form.find(' ')? + 1;
    if form[start..].starts_with('[') {
        return None;
    }
    let mut depth = 0;
    form[start..]
        .bytes()
        .position(|byte| {
            depth += i32::from(byte == b'{') - i32::from(byte == b'}');
            byte == b',' && depth == 0
        })
        .map(|at| start + at)
}

/// The registers that a form writes: letter and number. None for a form without a result.
pub fn destinations(form: &str) -> Vec<String> {
    let Some(end) = behind_destination(form) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for register in REGISTER.captures_iter(&form[..end]) {
        let name = format!("{}{}", &register[1], &register[2]);
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// A form with a constant in the place of each of its source registers in turn, and of all of them.
pub fn with_literals(form: &str) -> Vec<String> {
    let Some(start) = behind_destination(form) else { return Vec::new() };
    let places: Vec<_> = REGISTER
        .captures_iter(&form[start..])
        .filter(|found| {
            let before = &form[start..start + found.get(0).unwrap().start()];
            // Neither an address nor a part of a register, nor one behind `!`.
            before.matches('[').count() == before.matches(']').count()
                && !before.ends_with(['!', '-'])
                && !form[start + found.get(0).unwrap().end()..].starts_with('.')
        })
        .map(|found| (start + found.get(0).unwrap().start(), found[1].to_owned()))
        .collect();
    let mut texts = Vec::new();
    for chosen in 0..places.len() {
        for literals in LITERALS.iter().filter(|(letter, _)| *letter == places[chosen].1) {
            for literal in literals.1 {
                texts.push(replaced(form, &places[chosen..=chosen], literal));
                if chosen == 0 && places.len() > 1 {
                    texts.push(replaced(form, &places, literal));
                }
            }
        }
    }
    texts
}

fn replaced(form: &str, places: &[(usize, String)], literal: &str) -> String {
    let mut text = form.to_owned();
    for (at, _) in places.iter().rev() {
        text.replace_range(at..&(at + 3), literal);
    }
    text
}

/// How the registers of a form get their values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Values {
    /// As constants of the text.
    Constants,
    /// From parameters, whose values an analysis does not know.
    Parameters,
}

/// A form with the values of its registers.
pub struct Case<'f> {
    form: &'f str,
    from: Values,
    values: [u64; 9],
    results: Vec<String>,
}

const REGISTERS: &str = ".reg .pred %is, %all; .reg .b32 %v<9>; .reg .b64 %w<30>;\n";
const LOAD: &str = "ld.global.u32 %v1, [%w1];\n";
const RELOAD: &str = "ld.global.u32 %v2, [%w1];\n";

impl<'f> Case<'f> {
    /// A form with values that its text decides.
    pub fn new(form: &'f str, from: Values) -> Case<'f> {
        let mut random = Random::new(form);
        let values = std::array::from_fn(|_| random.choose(EDGES));
        Case { form, from, values, results: destinations(form) }
    }

    fn with_parameters(&self) -> String {
        let values = (1..9).map(|at| format!(", .param .u64 u{at}")).collect::<String>();
        head(&format!(", .param .u64 out, .param .u64 other{values}"), REGISTERS)
    }

    fn beginning(&self) -> String {
        let mut text = self.with_parameters();
        text += "ld.param.u64 %x0, [p]; cvta.to.global.u64 %x0, %x0;\n\
                 ld.param.u64 %w1, [other]; cvta.to.global.u64 %w1, %w1;\n\
                 ld.param.u64 %w2, [out]; cvta.to.global.u64 %w2, %w2;\n";
        for at in 1..9 {
            let value = self.values[at];
            let line = match self.from {
                Values::Constants => format!(
                    "mov.b16 %h{at}, {}; mov.b32 %r{at}, {}; mov.b64 %x{at}, {value}; \
                     mov.pred %p{at}, {value};",
                    value as u16, value as u32
                ),
                Values::Parameters => format!(
                    "ld.param.u64 %x{at}, [u{at}]; cvt.u16.u64 %h{at}, %x{at}; \
                     cvt.u32.u64 %r{at}, %x{at}; setp.ne.u64 %p{at}, %x{at}, 0;"
                ),
            };
            writeln!(text, "{line} mov.b128 %q{at}, {{%x{at}, %x{at}}};").unwrap();
        }
        text
    }

    /// The 64-bit registers that hold the results: `%w10` and those that follow, and what fills them.
    fn collected(&self) -> (usize, String) {
        let (mut count, mut text) = (0, String::new());
        for register in &self.results {
            let w = 10 + count;
            count += 1;
            match &register[..1] {
                "p" => writeln!(text, "selp.u64 %w{w}, 1, 0, %{register};"),
                "h" => writeln!(text, "cvt.u64.u16 %w{w}, %{register};"),
                "r" => writeln!(text, "cvt.u64.u32 %w{w}, %{register};"),
                "x" => writeln!(text, "mov.b64 %w{w}, %{register};"),
                _ => {
                    count += 1;
                    writeln!(text, "mov.b128 {{%w{w}, %w{}}}, %{register};", w + 1)
                }
            }
            .unwrap();
        }
        (count, text)
    }

    /// A kernel that stores the results, or constants in their place.
    fn storing(&self, constants: Option<&[u64]>) -> String {
        let (count, collected) = self.collected();
        let mut text = format!("{}{}\n{collected}", self.beginning(), self.form);
        for at in 0..count {
            let w = 10 + at;
            if let Some(constants) = constants {
                writeln!(text, "mov.b64 %w{w}, {:#x};", constants[at]).unwrap();
            }
            writeln!(text, "st.global.u64 [%w2+{}], %w{w};", 8 * at).unwrap();
        }
        text + "ret;\n}\n"
    }

    /// A kernel that stores to `other` exactly if all results are these.
    fn branching(&self, results: &[u64]) -> String {
        let (_, collected) = self.collected();
        let mut text = format!("{}{LOAD}{}\n{collected}", self.beginning(), self.form);
        text += "mov.pred %all, 1;\n";
        for (at, result) in results.iter().enumerate() {
            writeln!(text, "setp.eq.and.u64 %all, %w{}, {result:#x}, %all;", 10 + at).unwrap();
        }
        text + "@%all bra X;\nbra Y;\nX: st.global.u32 [%w1], 77;\nY: "
            + RELOAD
            + "add.u32 %v3, %v1, %v2;\nst.global.u32 [%w2], %v3;\nret;\n}\n"
    }

    /// A kernel that stores a mark unless all results are these.
    pub fn marking(&self, results: &[u64]) -> String {
        let (_, collected) = self.collected();
        let mut text = format!("{}{}\n{collected}", self.beginning(), self.form);
        text += "mov.pred %all, 1;\n";
        for (at, result) in results.iter().enumerate() {
            writeln!(text, "setp.eq.and.u64 %all, %w{}, {result:#x}, %all;", 10 + at).unwrap();
        }
        text + "@!%all st.global.u32 [%w2+0x7654], 77;\nret;\n}\n"
    }

    /// The form and its values, in words.
    pub fn name(&self) -> String {
        format!("`{}` ({:x?})", self.form, &self.values[1..])
    }

    /// What the interpreter computes; `None` where it does not model the form.
    pub fn results(&self) -> Option<Vec<u64>> {
        let (count, _) = self.collected();
        let source = SourceFile::new("form.ptx", self.storing(None));
        let module = ptx::parse(&source, Depth::All).ok()?;
        let outcome = interp::run(&module, &self.launch()).ok()?;
        Some(outcome.buffers["out"].elements().take(count).collect())
    }

    fn launch(&self) -> Launch {
        let mut args = vec![
            serde_json::json!({"buffer": "b"}),
            serde_json::json!({"bytes": "00".repeat(128)}),
            serde_json::json!({"buffer": "out"}),
            serde_json::json!({"buffer": "other"}),
        ];
        args.extend(
            self.values[1..]
                .iter()
                .map(|value| serde_json::json!({"type": "u64", "value": format!("{value:#x}")})),
        );
        let text = serde_json::json!({
            "kernel": "k", "grid": [1], "block": [32], "races": false,
            "buffers": {"b": {"type": "u32", "len": 1024, "fill": "random", "seed": 5},
                        "out": {"type": "u64", "len": 32, "fill": 0},
                        "other": {"type": "u32", "len": 32, "fill": 0}},
            "args": args,
        });
        Launch::from_json(&text.to_string()).expect("a launch")
    }

    /// Holds the emulator, every strategy, and the validator against the interpreter's results.
    ///
    /// # Errors
    /// The first disagreement.
    pub fn check(&self, results: &[u64], judged: bool) -> Result<(), String> {
        let fail = |what: String| {
            let values = &self.values[1..];
            Err(format!("`{}` ({:?} {values:x?}) gives {results:x?}: {what}", self.form, self.from))
        };
        let (trace, terms) =
            stored(&self.storing(None)).map_err(|e| format!("{}: {e}", self.form))?;
        // Stores of the form itself come first.
        let terms = &terms[terms.len().saturating_sub(results.len())..];
        for (term, &result) in terms.iter().zip(results) {
            let Some(term) = *term else { continue };
            let range = trace.arena.range(term);
            let fits = (range.umin..=range.umax).contains(&result)
                && (range.smin..=range.smax).contains(&(result as i64))
                && result & range.zeros == 0
                && !result & range.ones == 0;
            if !fits {
                return fail(format!("the emulator has {range:x?}"));
            }
        }
        let branching = SourceFile::new("form.ptx", self.branching(results));
        for strategies in [Strategies::default(), *ALL] {
            let options = Options {
                select: select::Options { strategies, ..Default::default() },
                ..Options::default()
            };
            match pipeline::rewrite(&branching, &options) {
                Ok(rewritten) if rewritten.text.contains(RELOAD) => {}
                Ok(_) => return fail(format!("`{strategies}` takes the branch for dead")),
                Err(error) => return fail(error.to_string()),
            }
        }
        if !judged {
            return Ok(());
        }
        let without = branching.text().replace(RELOAD, "mov.b32 %v2, %v1;\n");
        let other: Vec<u64> = results.iter().map(|result| result ^ 1).collect();
        let storing = SourceFile::new("form.ptx", self.storing(None));
        for (original, changed) in [(&branching, without), (&storing, self.storing(Some(&other)))] {
            let changed = SourceFile::new("changed.ptx", changed);
            match verify::verify(original, &changed, &verify::Options::default()) {
                Ok(found) if found.verdict != Verdict::Equal => {}
                Ok(_) => {
                    return fail(format!("the validator takes for equal:\n{}", changed.text()));
                }
                Err(error) => return fail(error.to_string()),
            }
        }
        Ok(())
    }
}

/// Every strategy that works on loads.
static ALL: LazyLock<Strategies> =
    LazyLock::new(|| "reuse,wide,window,paper,aos".parse().expect("strategies"));

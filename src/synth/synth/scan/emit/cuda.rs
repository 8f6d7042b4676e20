//! An operator as a CUDA header: the state, the operator as a functor, and functions of a block.

use std::fmt::Write as _;

use super::Code;
use super::collectives::{Collective, REDUX};
use super::names::{Names, names};
use super::networks::{LANES, Networks};
use crate::ptx::write;
use crate::synth::network::emit::{HELPERS, function};
use crate::synth::scan::subject::{Kind, Read};
use crate::synth::scan::term::{self, GIVEN, INFINITY, INPUT, Op, RIGHT, Shared, Sort, Term};

/// Arithmetic of sketches.
pub const ARITHMETIC: &str = include_str!("arithmetic.cuh");

/// Scans and reductions of blocks, built from a warp's networks; `SCAN` and `REDUCE` are these.
const BLOCKS: &str = include_str!("blocks.cuh");

/// The functions of a list; `NAME`, `ARRAYS`, `READ`, `OUTPUTS` and `WRITE` are the operator's.
const LIST: &str = include_str!("list.cuh");

/// The type of a value.
fn c_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Boolean => "bool",
        Kind::Signed(8) => "signed char",
        Kind::Signed(16) => "short",
        Kind::Signed(32) => "int",
        Kind::Signed(_) => "long long",
        Kind::Unsigned(8) => "unsigned char",
        Kind::Unsigned(16) => "unsigned short",
        Kind::Unsigned(32) => "unsigned",
        Kind::Unsigned(_) => "unsigned long long",
        Kind::Float(32) => "float",
        Kind::Float(_) => "double",
    }
}

impl Code<'_> {
    /// The type of a value that is computed with.
    fn c_type(&self, sort: Sort) -> &'static str {
        c_type(self.kind(sort))
    }

    /// A number of the type that values of a sort are computed with.
    fn literal(&self, number: i64, sort: Sort) -> String {
        let sign = |suffix: &str, least: i64| match number {
            _ if number == least => format!("(-{}{suffix} - 1)", (least + 1).unsigned_abs()),
            ..0 => format!("({number}{suffix})"),
            _ => format!("{number}{suffix}"),
        };
        match self.kind(sort) {
            // (What `INFINITY` of C's header stands for: no header is needed.)
            Kind::Float(32) if number == INFINITY => "__builtin_inff()".to_owned(),
            Kind::Float(32) if number == -INFINITY => "(-__builtin_inff())".to_owned(),
            Kind::Float(_) if number == INFINITY => "__builtin_inf()".to_owned(),
            Kind::Float(_) if number == -INFINITY => "(-__builtin_inf())".to_owned(),
            Kind::Unsigned(32) => format!("{}u", number as u32),
            Kind::Unsigned(_) => format!("{}ull", number as u64),
            Kind::Float(32) => format!("{number}.0f"),
            Kind::Float(_) => format!("{number}.0"),
            Kind::Signed(32) => sign("", i32::MIN.into()),
            _ => sign("ll", i64::MIN),
        }
    }

    /// A term in C++; one of literals alone is of the sort that is wanted.
    fn expression(&self, term: &Term, wanted: Sort, names: &dyn Fn(u32) -> String) -> String {
        let subject = self.subject();
        let sort = subject.sort_of(term).unwrap_or(wanted);
        let go = |term: &Shared, sort: Sort| self.expression(term, sort, names);
        match term {
            Term::Number(number) => self.literal(*number, sort),
            Term::Truth(truth) => truth.to_string(),
            Term::Variable(variable) => names(*variable),
            Term::Not(a) => format!("!{}", go(a, sort)),
            Term::If(c, a, b) => {
                format!("({} ? {} : {})", go(c, Sort::Boolean), go(a, sort), go(b, sort))
            }
            Term::Binary(op, a, b) => {
                let own = subject.sort_of(a).or_else(|| subject.sort_of(b));
                let own = own.unwrap_or_else(|| match sort {
                    Sort::Boolean => subject.literals(),
                    sort => sort,
                });
                let call = |name: &str| {
                    let (a, b) = (self.whole(a, own, names), self.whole(b, own, names));
                    format!("synth::{name}({a}, {b})")
                };
                let sign = match op {
                    Op::Div => return call("quotient"),
                    Op::Rem => return call("remainder"),
                    Op::Min => return call("least"),
                    Op::Max => return call("greatest"),
                    Op::Add => "+",
                    Op::Sub => "-",
                    Op::Mul => "*",
                    Op::Equal => "==",
                    Op::Less => "<",
                    Op::LessEqual => "<=",
                    Op::And => "&&",
                    Op::Or => "||",
                };
                format!("({} {sign} {})", go(a, own), go(b, own))
            }
        }
    }

    /// A term without parentheses around it.
    fn whole(&self, term: &Term, wanted: Sort, names: &dyn Fn(u32) -> String) -> String {
        let text = self.expression(term, wanted, names);
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        // The outer parentheses match each other if the text between them is balanced.
        let mut open = 0;
        let balanced = |inner: &&str| {
            inner.chars().all(|c| {
                open += i32::from(c == '(') - i32::from(c == ')');
                open >= 0
            })
        };
        inner.filter(balanced).map(str::to_owned).unwrap_or(text)
    }
}

/// A CUDA header. `comment` stands in front of it.
///
/// # Errors
/// A network has no code.
pub fn cuda(code: &Code, networks: &Networks, comment: &str) -> Result<String, String> {
    let mut text = write::comment(comment);
    text.push_str(
        "//\n// Lists that are longer than one block should take: cub::DeviceScan of the CUDA toolkit takes the operator as it\n\
         // is, with decoupled look-back.\n",
    );
    let blocks = blocks(networks)?;
    let _ = write!(text, "#pragma once\n\n{HELPERS}\n{ARITHMETIC}\n{blocks}\n{}", functions(code));
    Ok(text)
}

/// The functions of a warp and of a block, for any operator.
///
/// # Errors
/// A network has no code.
pub fn blocks(networks: &Networks) -> Result<String, String> {
    let network = |(network, solution): &_, name, open| function(network, solution, name, open);
    let scan = network(&networks.scan, "warp_scan", None)?;
    let reduce = network(&networks.reduce, "warp_reduce", Some(LANES))?;
    let blocks = BLOCKS.replace("SCAN\n//", &format!("{scan}\n//"));
    Ok(blocks.replace("REDUCE\n", &format!("{reduce}\n")))
}

/// The state, the operator as a functor, and the functions of a list.
pub fn functions(code: &Code) -> String {
    let (name, subject) = (&code.name, code.subject());
    let names = names(subject);
    let mut text = state(code, &names);
    text.push_str(&operator(code, &names));
    let arrays = subject.inputs.iter().zip(&names.inputs);
    let arrays: Vec<String> =
        arrays.map(|(read, name)| format!("const {} *{name}", c_type(read.kind))).collect();
    let read: Vec<String> = names.inputs.iter().map(|name| format!("{name}[i]")).collect();
    let results = names.results.iter().enumerate();
    let outputs: Vec<String> =
        results.map(|(at, name)| format!("{} *{name}", c_type(code.result(at)))).collect();
    let write = match &names.results[..] {
        [one] => format!("        {one}[i] = op.result(s);"),
        several => {
            let lines = several.iter().map(|name| format!("        {name}[i] = made.{name};"));
            let lines: Vec<String> = lines.collect();
            format!("        const {name}_result made = op.result(s);\n{}", lines.join("\n"))
        }
    };
    let list = LIST.replace("NAME", name).replace("ARRAYS", &arrays.join(", "));
    let list = list.replace("READ", &read.join(", ")).replace("OUTPUTS", &outputs.join(", "));
    text.push_str(&list.replace("WRITE", &write));
    text
}

/// The state's struct, and the result's if it has more than one value.
fn state(code: &Code, names: &Names) -> String {
    let (name, subject) = (&code.name, code.subject());
    let sorts: Vec<Sort> = subject.accumulators.iter().map(|own| own.sort).collect();
    // (Shuffles move words of four bytes.)
    let numbers = sorts.iter().any(|sort| *sort != Sort::Boolean);
    let align = if numbers { "" } else { "alignas(4) " };
    let mut text = format!("// The accumulators.\nstruct {align}{name}_state {{\n");
    for at in members(code) {
        let _ = writeln!(text, "    {} {};", code.c_type(sorts[at]), names.accumulators[at]);
    }
    text.push_str("};\n\n");
    if names.results.len() > 1 {
        let _ = writeln!(text, "// The results.\nstruct {name}_result {{");
        for (at, name) in names.results.iter().enumerate() {
            let _ = writeln!(text, "    {} {name};", c_type(code.result(at)));
        }
        text.push_str("};\n\n");
    }
    text
}

/// The accumulators in the order of members: the widest first, booleans, which are bytes, at the end.
fn members(code: &Code) -> Vec<usize> {
    let accumulators = &code.subject().accumulators;
    let mut order: Vec<usize> = (0..accumulators.len()).collect();
    let bits = |at: usize| code.kind(accumulators[at].sort).bits();
    order.sort_by_key(|&at| std::cmp::Reverse(bits(at)));
    order
}

/// The type and the expression of the result.
fn result(code: &Code, of: &dyn Fn(u32) -> String) -> (String, String) {
    let (name, subject) = (&code.name, code.subject());
    let whole = |result: &Shared| code.whole(result, code.sort(result), of);
    let results: Vec<String> = subject.result.iter().map(whole).collect();
    match &results[..] {
        [one] => (c_type(code.result(0)).to_owned(), one.clone()),
        several => {
            // (A sum of unsigned numbers may be a result with a sign.)
            let each = several.iter().enumerate().map(|(at, value)| match code.result(at) {
                kind if kind == code.kind(code.sort(&subject.result[at])) => value.clone(),
                kind => format!("({})({value})", c_type(kind)),
            });
            let each: Vec<String> = each.collect();
            (format!("{name}_result"), format!("{name}_result{{{}}}", each.join(", ")))
        }
    }
}

/// The operator as a functor.
fn operator(code: &Code, names: &Names) -> String {
    let (name, subject) = (&code.name, code.subject());
    let mut text =
        format!("// The operator.\nstruct {name}_operator {{\n    typedef {name}_state State;\n");
    for (read, name) in subject.givens.iter().zip(&names.givens) {
        let _ = writeln!(text, "    {} {name};", code.c_type(read.sort()));
    }
    let params = |reads: &[Read]| {
        let params = reads.iter().zip(&names.inputs);
        let params: Vec<String> =
            params.map(|(read, name)| format!("{} {name}", code.c_type(read.sort()))).collect();
        params.join(", ")
    };
    let params = params(&subject.inputs);
    let of = |left: &'static str| {
        move |variable: u32| {
            let at = (variable & 0xff) as usize;
            match variable & !0xff {
                INPUT => names.inputs[at].clone(),
                GIVEN => names.givens[at].clone(),
                RIGHT => format!("b.{}", names.accumulators[at]),
                _ => format!("{left}.{}", names.accumulators[at]),
            }
        }
    };
    let made = |terms: &[Shared], left: &'static str| {
        let lines = members(code).into_iter().map(|at| {
            let value = code.whole(&terms[at], subject.accumulators[at].sort, &of(left));
            format!("            {value}, // {}\n", names.accumulators[at])
        });
        format!("        return State{{\n{}        }};\n", lines.collect::<String>())
    };
    let start = |at: usize| {
        let own = &subject.accumulators[at];
        term::constant(own.sort, own.start)
    };
    let unit: Vec<Shared> = (0..subject.accumulators.len()).map(start).collect();
    let steps: Vec<Shared> = subject.accumulators.iter().map(|own| own.step.clone()).collect();
    let by = |variable: u32| match variable {
        0..INPUT => start(variable as usize),
        _ => term::variable(variable),
    };
    let lift: Vec<Shared> = steps.iter().map(|step| term::substitute(step, &by)).collect();
    let (kind, result) = result(code, &of("s"));
    for (about, head, body) in [
        ("no element", "static State unit()".to_owned(), made(&unit, "s")),
        ("one element", format!("State lift({params}) const"), made(&lift, "s")),
        (
            "one more element",
            format!("State step(const State &s, {params}) const"),
            made(&steps, "s"),
        ),
        (
            "two lists, from those after each",
            "State operator()(const State &a, const State &b) const".to_owned(),
            made(&code.found.combine, "a"),
        ),
    ] {
        let _ = write!(
            text,
            "\n    // The state after {about}.\n    __host__ __device__ {head}\n    {{\n{body}    }}\n"
        );
    }
    text.push_str(&prefixed(code, names));
    text.push_str(&reduced(code, names));
    let _ = write!(
        text,
        "\n    // The result, from the final state.\n    __host__ __device__ {kind} result(const State &s) const\n    \
         {{\n        return {result};\n    }}\n}};\n"
    );
    text
}

/// The member of an operator whose scan is a ballot for each accumulator; empty for others.
fn prefixed(code: &Code, names: &Names) -> String {
    let Some(ballots) = code.ballots() else { return String::new() };
    let lines = members(code).into_iter().map(|at| {
        let name = &names.accumulators[at];
        match ballots[at] {
            Op::And => format!(
                "            (__ballot_sync(0xffffffffu, !s.{name}) & up_to) == 0, // {name}\n"
            ),
            _ => format!(
                "            (__ballot_sync(0xffffffffu, s.{name}) & up_to) != 0, // {name}\n"
            ),
        }
    });
    format!(
        "\n    // The state after the lists of the lanes up to each one: all lanes call it together.\n    __device__ State \
         prefixed(const State &s, int lane) const\n    {{\n        const unsigned up_to = (2u << lane) - 1u;\n        \
         return State{{\n{}        }};\n    }}\n",
        lines.collect::<String>()
    )
}

/// The member of an operator for which a warp has an instruction; empty for others.
fn reduced(code: &Code, names: &Names) -> String {
    let Some(collectives) = code.collectives() else { return String::new() };
    let lines = members(code).into_iter().map(|at| {
        let (function, name) = (collectives[at].intrinsic(), &names.accumulators[at]);
        // (Votes give an integer.)
        let is_true = if matches!(collectives[at], Collective::Vote(_)) { " != 0" } else { "" };
        format!("            {function}(0xffffffffu, own.{name}){is_true}, // {name}\n")
    });
    let lines: String = lines.collect();
    let at_once = format!(
        "        const State own = synth::chosen(lane < lanes, s, unit());\n        return State{{\n{lines}        }};\n"
    );
    let body = match Collective::architecture(&collectives) {
        REDUX => format!(
            "#if __CUDA_ARCH__ >= {}\n{at_once}#else\n        return synth::warp_reduce(s, *this, lane, lanes);\n#endif\n",
            10 * REDUX
        ),
        _ => at_once,
    };
    format!(
        "\n    // The state after the lists of a warp's first `lanes` lanes, in lane 0: all lanes call it together.\n    \
         __device__ State reduced(const State &s, int lane, int lanes) const\n    {{\n{body}    }}\n"
    )
}

/// The entries `NAME_scan_kernel` and `NAME_reduce_kernel` around a header, with the params of those in PTX.
pub fn entries(code: &Code, header: &str) -> String {
    let (name, subject) = (&code.name, code.subject());
    let names = names(subject);
    let inputs = subject.inputs.iter().zip(&names.inputs);
    let inputs = inputs.map(|(read, name)| format!("const {} *{name}", c_type(read.kind)));
    let givens = subject.givens.iter().zip(&names.givens);
    let givens = givens.map(|(read, name)| format!("{} {name}", c_type(read.kind)));
    let outputs = names.results.iter().enumerate();
    let outputs = outputs.map(|(at, name)| format!("{} *{name}", c_type(code.result(at))));
    let params: Vec<String> = inputs.chain(givens).chain(outputs).collect();
    let params = params.join(", ");
    let reads = names.inputs.join(", ");
    let mut text = format!("#include \"{header}\"\n");
    // (Given values may be signed where the accumulators are unsigned.)
    let given = subject.givens.iter().zip(&names.givens);
    let given = given.map(|(read, name)| format!("({})({name})", code.c_type(read.sort())));
    let given = given.collect::<Vec<_>>().join(", ");
    let write = match &names.results[..] {
        [one] => format!("*{one} = op.result(s);"),
        several => {
            let each = several.iter().map(|name| format!("*{name} = op.result(s).{name};"));
            each.collect::<Vec<_>>().join(" ")
        }
    };
    for (kind, body) in [
        ("scan", format!("{name}_scan({reads}, {}, n, op, totals);", names.results.join(", "))),
        (
            "reduce",
            format!(
                "const {name}_state s = {name}_reduce({reads}, n, op, totals);\n    if (threadIdx.x == 0) {{ {write} }}"
            ),
        ),
    ] {
        let _ = write!(
            text,
            "extern \"C\" __global__ void {name}_{kind}_kernel({params}, int n)\n{{\n    __shared__ {name}_state \
             totals[32];\n    const {name}_operator op = {{{given}}};\n    {body}\n}}\n"
        );
    }
    text
}

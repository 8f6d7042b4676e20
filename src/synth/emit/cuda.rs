//! A kernel as a CUDA header: device functions over the element type, with the found expressions in loops that the
//! compiler unrolls. Every register has a number that the compiler knows.
//!
//! For a sketch `name` these are `name_load_a` for each array that is loaded, `name` itself from loaded arrays to
//! those of the goals, `name_store_d` for each of the latter, and `name_warp`, which is all of them.

use std::fmt::Write as _;

use super::domain::Domain;
use super::kernel::{Kernel, Part, Read, Registers, Step, What};
use super::turn::Turn;
use crate::planted::Bug;
use crate::synth::expr::Expr;
use crate::synth::term::Fold;

/// What every header begins with; several of them may stand in one file.
const HELPERS: &str = "\
#pragma once

#ifndef PTXASW_SYNTH
#define PTXASW_SYNTH
namespace synth {

// The value that a lane of a group of LANES lanes has.
template <int LANES, typename T>
__device__ __forceinline__ T shuffle(T value, int lane)
{
    return __shfl_sync(0xffffffffu, value, lane, LANES);
}

// Turns a row of registers: each becomes what was `by` places further on, in one round of selects for each bit of
// MOST, the most that `by` is.
template <int MOST, int N, typename T>
__device__ __forceinline__ void turn(T (&row)[N], int by)
{
#pragma unroll
    for (int step = 1; step <= MOST; step *= 2) {
        T old[N];
#pragma unroll
        for (int i = 0; i < N; ++i)
            old[i] = row[i];
#pragma unroll
        for (int i = 0; i < N; ++i)
            row[i] = by & step ? old[(i + step) % N] : old[i];
    }
}

// What is folded where the sketch says `*`.
struct Times {
    template <typename T>
    __device__ __forceinline__ T operator()(T a, T b) const { return a * b; }
};

}
#endif
";

/// The name of the lane's number in each function.
const LANE: &str = "lane_of_warp";

/// Words that are no names in C++, as far as sketches could use them.
const WORDS: [&str; 24] = [
    "and", "auto", "bool", "break", "case", "char", "class", "do", "double", "else", "float",
    "for", "goto", "if", "int", "long", "new", "not", "or", "short", "this", "union", "void",
    "xor",
];

fn named(name: &str) -> String {
    if WORDS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

struct Writer<'k> {
    kernel: &'k Kernel,
    text: String,
    indent: usize,
}

/// Writes a header. `comment` goes to its beginning, line by line.
///
/// # Errors
/// An expression or an operator has no code.
pub fn cuda(kernel: &Kernel, comment: &str) -> Result<String, String> {
    let mut text = String::new();
    comment.lines().for_each(|line| _ = writeln!(text, "{}", format!("// {line}").trim_end()));
    let mut helpers = HELPERS.to_owned();
    if kernel.planted.has(Bug::CudaTurnBack) {
        helpers = helpers.replace("(i + step) % N", "(i + N - step % N) % N");
    }
    if kernel.planted.has(Bug::CudaRoundLost) {
        helpers = helpers.replace("step <= MOST", "step * 2 <= MOST");
    }
    text.push_str(&helpers);
    let mut writer = Writer { kernel, text, indent: 0 };
    let (loads, steps): (Vec<&Step>, Vec<&Step>) =
        kernel.steps.iter().partition(|step| step.loads());
    for step in &loads {
        writer.load(step)?;
    }
    writer.function(&loads, &steps)?;
    for &goal in &kernel.goals {
        writer.store(goal);
    }
    writer.warp(&loads, &steps);
    Ok(writer.text)
}

/// A kernel that includes the header and runs it on one warp, for elements of a type.
pub fn entry(kernel: &Kernel, header: &str, element: &str) -> String {
    let inputs = kernel.inputs.iter().map(|(name, _)| format!("const {element} *{}", named(name)));
    let goals = kernel.goals.iter().map(|&goal| named(&kernel.arrays[goal].name));
    let params: Vec<String> =
        inputs.chain(goals.clone().map(|name| format!("{element} *{name}"))).collect();
    let inputs = kernel.inputs.iter().map(|(name, _)| named(name));
    let arguments: Vec<String> = inputs.chain(goals).collect();
    let name = &kernel.name;
    format!(
        "#include \"{header}\"\n\nextern \"C\" __global__ void {name}_kernel({})\n{{\n    {name}_warp({}, threadIdx.x & 31);\n}}\n",
        params.join(", "),
        arguments.join(", ")
    )
}

fn dimensions(array: &Registers) -> String {
    array.extents.iter().map(|extent| format!("[{extent}]")).collect()
}

/// `T (&a)[2]`, or `T &a` for a single register.
fn reference(array: &Registers) -> String {
    let name = named(&array.name);
    match array.extents.as_slice() {
        [] => format!("T &{name}"),
        _ => format!("T (&{name}){}", dimensions(array)),
    }
}

/// The inputs that a value is read from.
fn input(read: &Read) -> Option<usize> {
    match read {
        Read::Input { input, .. } => Some(*input),
        Read::Register { .. } => None,
    }
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:width$}{line}", "", width = self.indent * 4);
    }

    fn open(&mut self, line: &str) {
        self.line(line);
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    /// Opens loops; [`Writer::end`] closes as many.
    fn begin(&mut self, loops: &Domain) {
        if loops.axes.is_empty() {
            self.open("{");
        }
        for (name, extent) in &loops.axes {
            let _ = writeln!(self.text, "#pragma unroll");
            let name = named(name);
            self.open(&format!("for (int {name} = 0; {name} < {extent}; ++{name}) {{"));
        }
    }

    fn end(&mut self, loops: &Domain) {
        (0..loops.axes.len().max(1)).for_each(|_| self.close());
    }

    /// The beginning of a function: its signature, and the coordinates of the lane.
    fn signature(&mut self, comment: &str, name: &str, params: &[String], more: &str) {
        let _ = write!(self.text, "\n// {comment}\ntemplate <typename T{more}>\n");
        let mut params = params.to_vec();
        params.push(format!("int {LANE}"));
        if !more.is_empty() {
            params.push("P product = P()".to_owned());
        }
        let _ =
            writeln!(self.text, "__device__ __forceinline__ void {name}({})", params.join(", "));
        self.open("{");
    }

    fn coordinates(&mut self) {
        let lanes = &self.kernel.lanes;
        let count = lanes.places();
        let lane = match count {
            32 => LANE.to_owned(),
            n if n.is_power_of_two() => format!("({LANE} & {})", n - 1),
            n => format!("({LANE} < {n} ? {LANE} : {})", n - 1),
        };
        let mut below = count;
        for (number, (name, extent)) in lanes.axes.iter().enumerate() {
            below /= extent;
            let mut value = lane.clone();
            if below > 1 {
                let _ = write!(value, " / {below}");
            }
            if number > 0 && !self.kernel.planted.has(Bug::CudaAxesLost) {
                let _ = write!(value, " % {extent}");
            }
            self.line(&format!("[[maybe_unused]] const int {} = {value};", named(name)));
        }
    }

    /// An expression over loops and lanes.
    fn expression(&self, expr: &Expr, loops: &Domain) -> Result<String, String> {
        let domain = self.domain(loops);
        let expr = domain.machine(&domain.simplified(expr.clone()))?;
        let put = |name: &str| (named(name) != name).then(|| Expr::name(&named(name)));
        Ok(super::domain::replaced(&expr, &put).to_string())
    }

    fn domain(&self, loops: &Domain) -> Domain {
        Domain::of(loops.axes.iter().chain(&self.kernel.lanes.axes))
    }

    /// Whether an expression does not depend on the lane.
    fn uniform(&self, expr: &Expr) -> bool {
        let mut found = true;
        expr.names(&mut |name| {
            found &= self.kernel.lanes.axes.iter().all(|lane| lane.0 != name);
        });
        found
    }

    fn element(&self, array: usize, place: &[String]) -> String {
        let place: String = place.iter().map(|index| format!("[{index}]")).collect();
        format!("{}{place}", named(&self.kernel.arrays[array].name))
    }

    /// A value as an expression; where a register depends on the lane, lines that pick it come first.
    fn read(&mut self, read: &Read, loops: &Domain) -> Result<String, String> {
        match read {
            Read::Input { input, index, guard } => {
                let name = named(&self.kernel.inputs[*input].0);
                let index = self.expression(index, loops)?;
                Ok(match guard {
                    None => format!("{name}[{index}]"),
                    Some(_) if self.kernel.planted.has(Bug::CudaLoadUnguarded) => {
                        format!("{name}[{index}]")
                    }
                    Some(guard) => {
                        let guard = self.expression(guard, loops)?;
                        format!("({guard} ? {name}[{index}] : T())")
                    }
                })
            }
            Read::Register { array, place, lane } => {
                let same = lane.as_ref().map(|lane| self.same(lane, loops));
                let lane = lane.as_ref().map(|lane| self.expression(lane, loops)).transpose()?;
                let lanes = self.kernel.lanes.places();
                let group = if lanes.is_power_of_two() { lanes } else { 32 };
                let shuffled = |value: String| match (&lane, &same) {
                    (None, _) => value,
                    (Some(lane), Some(Some(same)))
                        if self.kernel.planted.has(Bug::CudaSameSwapped) =>
                    {
                        format!("({same} ? synth::shuffle<{group}>({value}, {lane}) : {value})")
                    }
                    (Some(lane), Some(Some(same))) => {
                        format!("({same} ? {value} : synth::shuffle<{group}>({value}, {lane}))")
                    }
                    (Some(lane), _) => format!("synth::shuffle<{group}>({value}, {lane})"),
                };
                let mut indices = Vec::new();
                let mut open = None;
                for (at, index) in place.iter().enumerate() {
                    if self.uniform(index) {
                        indices.push(self.expression(index, loops)?);
                    } else if open.replace(at).is_some() {
                        return Err("two indices of registers depend on the lane".to_owned());
                    } else {
                        indices.push(String::new());
                    }
                }
                let Some(at) = open else { return Ok(shuffled(self.element(*array, &indices))) };
                let index = self.domain(loops).simplified(place[at].clone());
                let element = |index: String| {
                    let mut indices = indices.clone();
                    indices[at] = index;
                    shuffled(self.element(*array, &indices))
                };
                if let Some(chosen) = self.chosen(&index, loops, &element)? {
                    return Ok(chosen);
                }
                let before = usize::from(self.kernel.planted.has(Bug::CudaPickedBefore));
                let n = self.kernel.arrays[*array].extents[at] - before;
                let index = self.expression(&index, loops)?;
                let (first, other) = (element("0".to_owned()), element("i_".to_owned()));
                self.line(&format!("const int at_ = {index};"));
                self.line(&format!("T picked_ = {first};"));
                let _ = writeln!(self.text, "#pragma unroll");
                self.open(&format!("for (int i_ = 1; i_ < {n}; ++i_)"));
                self.line(&format!("picked_ = at_ == i_ ? {other} : picked_;"));
                self.indent -= 1;
                Ok("picked_".to_owned())
            }
        }
    }

    /// A register that conditions choose.
    fn chosen(
        &self,
        index: &Expr,
        loops: &Domain,
        element: &dyn Fn(String) -> String,
    ) -> Result<Option<String>, String> {
        match index {
            index if self.uniform(index) => Ok(Some(element(self.expression(index, loops)?))),
            Expr::Choose(condition, a, b) => {
                let condition = self.expression(condition, loops)?;
                let (mut a, mut b) =
                    (self.chosen(a, loops, element)?, self.chosen(b, loops, element)?);
                if self.kernel.planted.has(Bug::CudaChosenSwapped) {
                    std::mem::swap(&mut a, &mut b);
                }
                Ok(a.zip(b).map(|(a, b)| format!("({condition} ? {a} : {b})")))
            }
            _ => Ok(None),
        }
    }

    /// The places of loops where a lane is its own source, as a condition.
    fn same(&self, lane: &Expr, loops: &Domain) -> Option<String> {
        let own = self.kernel.own_lane();
        let domain = self.domain(loops);
        let (values, own) = (domain.values(lane)?, domain.values(&own)?);
        let count = self.kernel.lanes.places();
        let rows = values.chunks(count).zip(own.chunks(count)).enumerate();
        let same: Vec<usize> = rows.filter(|(_, (a, b))| a == b).map(|(row, _)| row).collect();
        if same.is_empty() || same.len() > 8 {
            return None;
        }
        let places = same.into_iter().map(|number| {
            let place = loops.place(number).into_iter();
            let place: Vec<String> =
                place.map(|(name, at)| format!("{} == {at}", named(&name))).collect();
            place.join(" && ")
        });
        Some(places.collect::<Vec<_>>().join(" || "))
    }

    fn write(
        &mut self,
        to: usize,
        place: &[Expr],
        loops: &Domain,
        value: &str,
    ) -> Result<(), String> {
        let place: Result<Vec<String>, String> =
            place.iter().map(|index| self.expression(index, loops)).collect();
        let element = self.element(to, &place?);
        self.line(&format!("{element} = {value};"));
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match &step.what {
            What::Read(read) => {
                self.begin(&step.loops);
                let value = self.read(read, &step.loops)?;
                self.write(step.to, &step.place, &step.loops, &value)?;
                self.end(&step.loops);
            }
            What::Turn(turn) => self.turn(step, turn)?,
            What::Fold(op, parts) => self.fold(step, *op, parts)?,
        }
        Ok(())
    }

    fn turn(&mut self, step: &Step, turn: &Turn) -> Result<(), String> {
        let Turn { outer, inner, n, most, .. } = turn;
        let row = Domain { axes: vec![("i_".to_owned(), *n)] };
        let along_row = Domain::of(outer.axes.iter().chain(&row.axes));
        let loops = Domain::of(outer.axes.iter().chain(&inner.axes));
        self.begin(outer);
        self.line(&format!("T row_[{n}];"));
        let register = self.expression(&turn.register, &loops)?;
        if turn.scatter {
            let read = Read::Register { array: turn.from, place: turn.place.clone(), lane: None };
            self.begin(inner);
            let value = self.read(&read, &loops)?;
            self.line(&format!("row_[{register}] = {value};"));
            self.end(inner);
        } else {
            let mut place = turn.place.clone();
            place[turn.at] = Expr::name("i_");
            self.begin(&row);
            let value =
                self.read(&Read::Register { array: turn.from, place, lane: None }, &along_row)?;
            self.line(&format!("row_[i_] = {value};"));
            self.end(&row);
        }
        let by = self.expression(&turn.by, &Domain::default())?;
        self.line(&format!("synth::turn<{most}>(row_, {by});"));
        if turn.scatter {
            let mut place = step.place.clone();
            place[turn.at] = Expr::name("i_");
            self.begin(&row);
            self.write(step.to, &place, &along_row, "row_[i_]")?;
            self.end(&row);
        } else {
            self.begin(inner);
            self.write(step.to, &step.place, &loops, &format!("row_[{register}]"))?;
            self.end(inner);
        }
        self.end(outer);
        Ok(())
    }

    fn fold(&mut self, step: &Step, op: Fold, parts: &[Part]) -> Result<(), String> {
        let operation = match op {
            Fold::Sum => "sum_ + value_",
            Fold::Xor => "sum_ ^ value_",
            Fold::Or => "sum_ | value_",
            Fold::And => "sum_ & value_",
            Fold::Min => "value_ < sum_ ? value_ : sum_",
            Fold::Max => "sum_ < value_ ? value_ : sum_",
            Fold::List => return Err("a list has no instruction".to_owned()),
        };
        let zero = self.kernel.planted.has(Bug::CudaNothingBegins);
        // What a fold of nothing is; by min and max it is left open.
        let nothing = if op == Fold::And && !zero { "~T()" } else { "T()" };
        // Where the first value is always there, or no number is below all others, the fold begins with a value.
        let begins = matches!(op, Fold::Min | Fold::Max)
            || parts.first().is_none_or(|part| part.when.is_none());
        let begins = begins && !zero;
        self.begin(&step.loops);
        self.line(&format!("T sum_ = {nothing};"));
        if begins {
            self.line("bool begun_ = false;");
        }
        for part in parts {
            let loops = Domain::of(step.loops.axes.iter().chain(&part.loops.axes));
            self.begin(&part.loops);
            if let Some(when) = &part.when {
                let when = match self.kernel.planted.has(Bug::CudaConditionLost) {
                    true => "true".to_owned(),
                    false => self.expression(when, &loops)?,
                };
                self.open(&format!("if ({when}) {{"));
            }
            let mut value = String::new();
            for (number, factor) in part.factors.iter().enumerate() {
                if let Read::Register { lane: Some(_), .. } = factor
                    && part.when.is_some()
                {
                    return Err("a fold under a condition reads other lanes".to_owned());
                }
                let factor = self.read(factor, &loops)?;
                value = if number == 0 { factor } else { format!("product({value}, {factor})") };
            }
            self.line(&format!("const T value_ = {value};"));
            if begins {
                self.line(&format!("sum_ = begun_ ? ({operation}) : value_;"));
                self.line("begun_ = true;");
            } else {
                self.line(&format!("sum_ = {operation};"));
            }
            if part.when.is_some() {
                self.close();
            }
            self.end(&part.loops);
        }
        self.write(step.to, &step.place, &step.loops, "sum_")?;
        self.end(&step.loops);
        Ok(())
    }

    fn load(&mut self, step: &Step) -> Result<(), String> {
        let What::Read(read) = &step.what else { return Ok(()) };
        let Some(input) = input(read) else { return Ok(()) };
        let array = &self.kernel.arrays[step.to];
        let from = named(&self.kernel.inputs[input].0);
        let params = [reference(array), format!("const T *{from}")];
        let name = format!("{}_load_{}", self.kernel.name, array.name);
        self.signature(&format!("Loads `{}` of each lane.", array.name), &name, &params, "");
        self.coordinates();
        self.step(step)?;
        self.close();
        Ok(())
    }

    /// The inputs that statements other than loads read, as parameters.
    fn inputs(&self, steps: &[&Step]) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for step in steps {
            match &step.what {
                What::Read(read) => found.extend(input(read)),
                What::Turn(_) => {}
                What::Fold(_, parts) => {
                    found.extend(parts.iter().flat_map(|part| &part.factors).filter_map(input));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn function(&mut self, loads: &[&Step], steps: &[&Step]) -> Result<(), String> {
        let kernel = self.kernel;
        let goals = kernel.goals.iter().filter(|goal| loads.iter().all(|load| load.to != **goal));
        let mut params: Vec<String> =
            goals.clone().map(|&goal| reference(&kernel.arrays[goal])).collect();
        let loaded =
            loads.iter().map(|load| format!("const {}", reference(&kernel.arrays[load.to])));
        params.extend(loaded);
        let inputs = self.inputs(steps);
        params.extend(inputs.iter().map(|&i| format!("const T *{}", named(&kernel.inputs[i].0))));
        let comment =
            "From what was loaded to what the goals ask for; all lanes of the warp take part.";
        self.signature(comment, &kernel.name, &params, ", typename P = synth::Times");
        self.coordinates();
        for step in steps {
            if !kernel.goals.contains(&step.to) {
                let array = &kernel.arrays[step.to];
                self.line(&format!("T {}{};", named(&array.name), dimensions(array)));
            }
            self.step(step)?;
        }
        self.close();
        Ok(())
    }

    fn store(&mut self, goal: usize) {
        let array = &self.kernel.arrays[goal];
        let lanes = self.kernel.lanes.places();
        let params = [format!("T *to_, const {}", reference(array))];
        let comment =
            format!("Stores `{}`: register `r` of lane `l` at `{lanes} * r + l`.", array.name);
        let name = format!("{}_store_{}", self.kernel.name, array.name);
        self.signature(&comment, &name, &params, "");
        if lanes < 32 {
            self.open(&format!("if ({LANE} >= {lanes})"));
            self.line("return;");
            self.indent -= 1;
        }
        let axes =
            array.extents.iter().enumerate().map(|(at, extent)| (format!("r{at}_"), *extent));
        let loops = Domain { axes: axes.collect() };
        self.begin(&loops);
        let place: Vec<String> = loops.axes.iter().map(|axis| axis.0.clone()).collect();
        let flat =
            loops.axes.iter().fold(String::new(), |flat, (name, extent)| match flat.as_str() {
                "" => name.clone(),
                flat => format!("({flat} * {extent} + {name})"),
            });
        let element = self.element(goal, &place);
        let index = if flat.is_empty() || self.kernel.planted.has(Bug::CudaResultsMoved) {
            LANE.to_owned()
        } else {
            format!("{lanes} * {flat} + {LANE}")
        };
        self.line(&format!("to_[{index}] = {element};"));
        self.end(&loops);
        self.close();
    }

    fn warp(&mut self, loads: &[&Step], steps: &[&Step]) {
        let kernel = self.kernel;
        let (name, goals) = (&kernel.name, kernel.goals.iter().map(|&goal| &kernel.arrays[goal]));
        let inputs = kernel.inputs.iter().map(|(name, _)| format!("const T *{}", named(name)));
        let outputs = goals.clone().map(|array| format!("T *{}_to_", array.name));
        let params: Vec<String> = inputs.chain(outputs).collect();
        self.signature(
            "All of it, by one warp.",
            &format!("{name}_warp"),
            &params,
            ", typename P = synth::Times",
        );
        for load in loads {
            let array = &kernel.arrays[load.to];
            let What::Read(read) = &load.what else { continue };
            let from = input(read).map(|input| named(&kernel.inputs[input].0)).unwrap_or_default();
            let (own, dimensions) = (named(&array.name), dimensions(array));
            self.line(&format!("T {own}{dimensions};"));
            self.line(&format!("{name}_load_{}({own}, {from}, {LANE});", array.name));
        }
        let made: Vec<&Registers> = kernel
            .goals
            .iter()
            .filter(|goal| loads.iter().all(|load| load.to != **goal))
            .map(|&goal| &kernel.arrays[goal])
            .collect();
        for array in &made {
            self.line(&format!("T {}{};", named(&array.name), dimensions(array)));
        }
        let arguments = made.iter().map(|array| named(&array.name));
        let loaded = loads.iter().map(|load| named(&kernel.arrays[load.to].name));
        let direct = self.inputs(steps);
        let direct = direct.into_iter().map(|input| named(&kernel.inputs[input].0));
        let mut arguments: Vec<String> = arguments.chain(loaded).chain(direct).collect();
        arguments.push(LANE.to_owned());
        arguments.push("product".to_owned());
        self.line(&format!("{name}({});", arguments.join(", ")));
        for array in goals {
            let (own, array) = (named(&array.name), &array.name);
            self.line(&format!("{name}_store_{array}({array}_to_, {own}, {LANE});"));
        }
        self.close();
    }
}

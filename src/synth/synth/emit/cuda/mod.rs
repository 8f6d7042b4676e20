//! A kernel as a CUDA header: device functions over the element type, with the found expressions in loops that the
//! compiler unrolls. Every register has a number that the compiler knows.
//!
//! For a sketch `name` these are `name_load_a` for each array that is loaded, `name` itself from loaded arrays to
//! those of the goals, `name_store_d` for each of the latter, and `name_warp`, which is all of them.

mod steps;
mod values;
mod writer;

use std::fmt::Write as _;

use super::domain::Domain;
use super::fuse::{self, Group};
use super::kernel::{Kernel, Read, Registers, Step, What};
use crate::ptx::write;
use crate::synth::term::InputId;
use writer::{LANE, Writer, named};

/// What functions are made of; several headers with it may stand in one file.
pub const HELPERS: &str = include_str!("helpers.cuh");

/// Which functions are written beside the one from loaded arrays to the goals' arrays.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Those that load.
    pub loads: bool,
    /// Those that store.
    pub stores: bool,
    /// That which is all of them.
    pub warp: bool,
}

impl Parts {
    /// Everything.
    pub const ALL: Parts = Parts { loads: true, stores: true, warp: true };
}

/// Writes a header. `comment` goes to its beginning, line by line.
///
/// # Errors
/// An expression or an operator has no code.
pub fn cuda(kernel: &Kernel, comment: &str) -> Result<String, String> {
    let mut text = write::comment(comment);
    let mut helpers = HELPERS.to_owned();
    if planted!(Bug::CudaTurnBack) {
        helpers = helpers.replace("(i + step) % N", "(i + N - step % N) % N");
    }
    if planted!(Bug::CudaRoundLost) {
        helpers = helpers.replace("step <= MOST", "step * 2 <= MOST");
    }
    let _ = write!(text, "#pragma once\n\n{helpers}{}", functions(kernel, Parts::ALL)?);
    Ok(text)
}

/// The functions without the helpers that they call.
///
/// # Errors
/// As for [`cuda`].
pub fn functions(kernel: &Kernel, parts: Parts) -> Result<String, String> {
    let mut writer = Writer { kernel, text: String::new(), indent: 0, group: None };
    let (loads, steps): (Vec<&Step>, Vec<&Step>) =
        kernel.steps.iter().partition(|step| step.loads());
    for step in loads.iter().filter(|_| parts.loads) {
        writer.load(step)?;
    }
    let groups = fuse::groups(kernel, &steps);
    writer.function(&loads, &steps, &groups)?;
    for &goal in kernel.goals.iter().filter(|_| parts.stores) {
        writer.store(goal);
    }
    if parts.warp {
        writer.warp(&loads, &steps);
    }
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
fn input(read: &Read) -> Option<InputId> {
    match read {
        Read::Input { input, .. } => Some(*input),
        Read::Register { .. } => None,
    }
}

impl<'k> Writer<'k> {
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

    /// The parameter of the template that says what `*` does; none where the sketch has no `*`.
    fn product(&self) -> &'static str {
        if self.kernel.multiplies() { ", typename P = synth::Times" } else { "" }
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
            if number > 0 && !planted!(Bug::CudaAxesLost) {
                let _ = write!(value, " % {extent}");
            }
            self.line(&format!("[[maybe_unused]] const int {} = {value};", named(name)));
        }
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
    fn inputs(&self, steps: &[&Step]) -> Vec<InputId> {
        let mut found: Vec<InputId> = Vec::new();
        for step in steps {
            match &step.what {
                What::Read(read) => found.extend(input(read)),
                What::Rotation(_) => {}
                What::Fold(_, parts) => {
                    found.extend(parts.iter().flat_map(|part| &part.factors).filter_map(input));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn function(
        &mut self,
        loads: &[&Step],
        steps: &[&Step],
        groups: &'k [Group<'k>],
    ) -> Result<(), String> {
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
        self.signature(comment, &kernel.name, &params, self.product());
        self.coordinates();
        for group in groups {
            for step in &group.steps {
                if !kernel.goals.contains(&step.to) && !group.local.contains_key(&step.to) {
                    let array = &kernel.arrays[step.to];
                    self.line(&format!("T {}{};", named(&array.name), dimensions(array)));
                }
            }
            self.group(group)?;
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
        let index = if flat.is_empty() || planted!(Bug::CudaResultsMoved) {
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
        self.signature("All of it, by one warp.", &format!("{name}_warp"), &params, self.product());
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
        if kernel.multiplies() {
            arguments.push("product".to_owned());
        }
        self.line(&format!("{name}({});", arguments.join(", ")));
        for array in goals {
            let (own, array) = (named(&array.name), &array.name);
            self.line(&format!("{name}_store_{array}({array}_to_, {own}, {LANE});"));
        }
        self.close();
    }
}

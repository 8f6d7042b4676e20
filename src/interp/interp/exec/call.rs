//! Calls: frames, arguments and results, and the few functions that the driver provides.

use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

use super::access::AccessFault;
use super::blame::tell_source;
use super::block::Block;
use super::group::{Frame, Group, Join, JoinId, State, Then};
use super::heap::Heap;
use super::machine::Machine;
use super::printf;
use super::warp::Warp;
use crate::interp::counters::Tally;
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::memory::{Site, Window};
use crate::interp::poison::{Poison, Source};
use crate::interp::program::{AT_RETURN, Call, Callee, Formal, FunctionId, Op, Pc};
use crate::interp::registers::{Mask, Registers, lanes};
use crate::ptx::StateSpace;

/// The functions of the driver that go on with their arguments.
const PROVIDED: [&str; 3] = ["vprintf", "malloc", "free"];

/// The most frames that one warp may have at a time.
const MAX_FRAMES: usize = 4096;

/// The registers of a frame, and where its local memory begins: where values that cross a call live.
struct Ends<'a> {
    registers: &'a mut Registers,
    base: u64,
}

fn read(formal: &Formal, ends: &Ends<'_>, local: Window<'_>, lane: usize) -> Vec<u8> {
    match *formal {
        Formal::Register(file, slot) => ends.registers.get(file, slot, lane).to_le_bytes().into(),
        Formal::Memory { offset, size } => {
            (0..size).map(|byte| local.read(ends.base + offset + byte, lane, 1) as u8).collect()
        }
    }
}

fn write(formal: &Formal, ends: &mut Ends<'_>, local: Window<'_>, lane: usize, bytes: &[u8]) {
    match *formal {
        Formal::Register(file, slot) => {
            let mut raw = [0; 8];
            let width = bytes.len().min(8);
            raw[..width].copy_from_slice(&bytes[..width]);
            ends.registers.set(file, slot, lane, u64::from_le_bytes(raw));
        }
        Formal::Memory { offset, size } => {
            for (byte, &value) in (0..size).zip(bytes) {
                local.write(ends.base + offset + byte, lane, 1, u64::from(value));
            }
        }
    }
}

/// All of a warp's local memory.
fn window(words: &[AtomicU32], bytes: u64) -> Window<'_> {
    let (poison, sources, region) = (None, None, None);
    Window { base: 0, len: bytes, words, spread: 5, region, poison, sources, unmarked: 0 }
}

impl Warp {
    /// Copies values between two frames.
    fn pass(
        &mut self,
        machine: &Machine<'_>,
        from: (usize, &[Formal]),
        to: (usize, &[Formal]),
        (mask, site): (Mask, Site),
    ) {
        self.pass_poison(from, to, (mask, site));
        self.pass_symbols(machine, from, to, mask);
        let local = window(&self.local, self.local_bytes);
        let Ok([source, target]) = self.frames.get_disjoint_mut([from.0, to.0]) else { return };
        for (given, taken) in from.1.iter().zip(to.1) {
            for lane in lanes(mask) {
                let ends = Ends { base: source.local_base, registers: &mut source.registers };
                let bytes = read(given, &ends, local, lane);
                let mut ends = Ends { base: target.local_base, registers: &mut target.registers };
                write(taken, &mut ends, local, lane, &bytes);
            }
        }
    }

    /// Copies the poison of values between two frames.
    fn pass_poison(
        &mut self,
        from: (usize, &[Formal]),
        to: (usize, &[Formal]),
        (mask, site): (Mask, Site),
    ) {
        if self.local_marks.is_empty()
            && self.frames[from.0].poison.is_none()
            && self.frames[to.0].poison.is_none()
        {
            return;
        }
        let local = window(&self.local_marks, self.local_bytes);
        let Ok([source, target]) = self.frames.get_disjoint_mut([from.0, to.0]) else { return };
        for (given, taken) in from.1.iter().zip(to.1) {
            for lane in lanes(mask) {
                let (bytes, reason) = match *given {
                    Formal::Register(file, slot) => {
                        let poison = source.poison.as_ref();
                        let bits = poison.map_or(0, |poison| poison.bits((file, slot), lane));
                        let reason = poison.map(|poison| poison.source((file, slot), lane));
                        (bits.to_le_bytes().to_vec(), reason)
                    }
                    Formal::Memory { offset, .. } => {
                        let ends =
                            Ends { base: source.local_base, registers: &mut source.registers };
                        let reason = Source::memory(site, StateSpace::Local, offset);
                        (read(given, &ends, local, lane), Some(reason))
                    }
                };
                match *taken {
                    Formal::Register(file, slot) => {
                        let mut raw = [0; 8];
                        let width = bytes.len().min(8);
                        raw[..width].copy_from_slice(&bytes[..width]);
                        let bits = u64::from_le_bytes(raw);
                        if let Some(poison) = &mut target.poison {
                            poison.clear((file, slot), 1 << lane);
                        }
                        if bits != 0 {
                            let poison = target.poison.get_or_insert_with(|| {
                                Box::new(Poison::of_registers(&target.registers))
                            });
                            poison.add((file, slot), lane, bits, reason.unwrap_or_default());
                        }
                    }
                    Formal::Memory { .. } => {
                        let mut ends =
                            Ends { base: target.local_base, registers: &mut target.registers };
                        write(taken, &mut ends, local, lane, &bytes);
                    }
                }
            }
        }
    }

    /// Lets lanes run from the beginning of the function whose frame is `frame`; they meet again when it
    /// returns.
    fn begin(&mut self, frame: usize, lanes: Mask, parent: Option<JoinId>, then: Then) {
        let (at, expected) = (AT_RETURN, lanes);
        let join =
            self.new_join(Join { at, within: None, expected, arrived: 0, parent, frame, then });
        let state = State::Ready;
        self.groups.push(Group { pc: Pc::ENTRY, mask: lanes, frame, join: Some(join), state });
    }

    /// Hands the results of lanes that have returned from a call over to the caller's frame.
    pub(super) fn hand_over(
        &mut self,
        machine: &Machine<'_>,
        callee: usize,
        caller: usize,
        call: Pc,
        lanes: Mask,
    ) {
        let functions = &machine.program.functions;
        let function = |frame: usize| &functions[self.frames[frame].function];
        let (returns, pc) = (&function(callee).returns, call);
        if let Op::Call(call) = &function(caller).code[pc].op {
            let site = function(caller).site(pc);
            self.pass(machine, (callee, returns), (caller, &call.results), (lanes, site));
        }
    }
}

impl<C: Tally> Block<'_, C> {
    /// Lets a group call the function that it has come to.
    ///
    /// # Errors
    /// An unknown callee, too many frames, a failed assertion.
    pub(super) fn call(&mut self, warp: usize, index: usize) -> Result<(), Fault> {
        let machine = self.machine;
        let block = self.id;
        let group = self.warps[warp].groups[index].clone();
        let function = self.warps[warp].function(machine, index);
        let span = function.spans[group.pc];
        let Op::Call(call) = &function.code[group.pc].op else { return Ok(()) };
        let executing = self.warps[warp].executing(machine, index);
        let fault = |kind, message: String| {
            Err(machine.blame(Fault::new(kind, message).at(span), warp as u32, executing))
        };
        let (id, lanes) = match self.callee(warp, group.frame, call, executing) {
            Ok(found) => found,
            Err(handle) => {
                let message = format!("the called address {handle:#x} is that of no function");
                return fault(FaultKind::Undefined, message);
            }
        };
        let callee = &machine.program.functions[id];
        if callee.external {
            if PROVIDED.contains(&callee.name.as_str()) {
                self.check_poison(warp, &group, call, lanes)?;
            }
            let called = self.external(warp, &group, call, &callee.name, lanes);
            called.map_err(|fault| machine.blame(fault.at(span), warp as u32, lanes))?;
        }
        let warp = &mut self.warps[warp];
        let next = group.pc.next();
        let mut parent = group.join;
        if lanes != group.mask {
            // The other lanes wait behind the call, or call another function first.
            let others = [(executing & !lanes, group.pc), (group.mask & !executing, next)];
            let mut ways: Vec<_> = others.into_iter().filter(|way| way.0 != 0).collect();
            ways.push((lanes, next));
            warp.diverge(machine, index, next, &ways);
            let Some(own) = warp.groups.pop() else { return Ok(()) };
            parent = own.join;
            if callee.external {
                warp.groups.push(own);
                return Ok(());
            }
        } else if callee.external {
            warp.groups[index].pc = next;
            return Ok(());
        } else {
            warp.groups.remove(index);
        }
        if warp.frames.len() >= MAX_FRAMES {
            let message = format!("a warp has more than {MAX_FRAMES} calls under way");
            return fault(FaultKind::Limit, message);
        }
        let frame = warp.push_frame(machine, block, id);
        let site = function.site(group.pc);
        warp.pass(machine, (group.frame, &call.args), (frame, &callee.params), (lanes, site));
        warp.begin(frame, lanes, parent, Then::Return { caller: group.frame, call: group.pc });
        Ok(())
    }

    /// The function to call and the lanes that call it; the called address if it is that of no
    /// function.
    fn callee(
        &mut self,
        warp: usize,
        frame: usize,
        call: &Call,
        executing: Mask,
    ) -> Result<(FunctionId, Mask), u64> {
        let slot = match call.callee {
            Callee::Direct(id) => return Ok((id, executing)),
            Callee::Indirect(slot) => slot,
        };
        let handles = self.warps[warp].registers(frame).w64[slot];
        let handle = handles[executing.trailing_zeros() as usize];
        let same = lanes(executing).filter(|&lane| handles[lane] == handle);
        let lanes = same.fold(0, |mask, lane| mask | 1 << lane);
        let program = self.machine.program;
        let id = program.layout.function_of(handle).ok_or(handle)?;
        if id >= program.functions.next_key() {
            return Err(handle);
        }
        Ok((id, lanes))
    }

    /// Checks that the arguments of a function of the driver are determined.
    ///
    /// # Errors
    /// One is not.
    fn check_poison(
        &self,
        warp: usize,
        group: &Group,
        call: &Call,
        mask: Mask,
    ) -> Result<(), Fault> {
        let machine = self.machine;
        if machine.recorder.is_some() {
            return Ok(());
        }
        let warp = &self.warps[warp];
        let frame = &warp.frames[group.frame];
        let function = &machine.program.functions[frame.function];
        let site = function.site(group.pc);
        for lane in lanes(mask) {
            let found = call.args.iter().find_map(|argument| match *argument {
                Formal::Register(file, slot) => {
                    let poison = frame.poison.as_ref()?;
                    let bits = poison.bits((file, slot), lane);
                    (bits != 0).then(|| poison.source((file, slot), lane))
                }
                Formal::Memory { offset, size } => {
                    let marks = (!warp.local_marks.is_empty()).then_some(&warp.local_marks)?;
                    let marks = window(marks, warp.local_bytes);
                    let at = frame.local_base + offset;
                    let unwritten = (0..size).find(|byte| marks.read(at + byte, lane, 1) != 0)?;
                    Some(Source::memory(site, StateSpace::Local, offset + unwritten))
                }
            });
            if let Some(source) = found {
                let failed = AccessFault::poisoned(lane, "an argument of this call", source);
                let mut fault = Fault::new(failed.kind, failed.message);
                tell_source(machine, source, &mut fault);
                let span = function.spans[group.pc];
                return Err(machine.blame(fault.at(span), warp.index, 1 << lane));
            }
        }
        Ok(())
    }

    /// The functions without a body that the driver provides.
    fn external(
        &mut self,
        warp: usize,
        group: &Group,
        call: &Call,
        name: &str,
        mask: Mask,
    ) -> Result<(), Fault> {
        let machine = self.machine;
        let Warp { frames, local, local_marks, local_bytes, .. } = &mut self.warps[warp];
        let local = window(local, *local_bytes);
        let frame = &mut frames[group.frame];
        let base = frame.local_base;
        let spaces = super::access::Spaces {
            layout: &machine.program.layout,
            global: machine.global,
            shared: &self.shared,
            shared_marks: None,
            local: (local.words, local.len),
            local_marks: None,
            params: (machine.params, None),
            one_wins: machine.one_wins,
            frame: base,
        };
        let Frame { registers, poison, .. } = frame;
        let mut ends = Ends { registers, base };
        for lane in lanes(mask) {
            let args: Vec<u64> = call
                .args
                .iter()
                .map(|formal| {
                    let mut bytes = read(formal, &ends, local, lane);
                    bytes.resize(8, 0);
                    bytes.try_into().map_or(0, u64::from_le_bytes)
                })
                .collect();
            let byte = |address: u64| spaces.read_byte(address, lane);
            let delivered = provided(name, &args, byte, &machine.heap, &mut self.printed)?;
            if let (Some(bytes), Some(result)) = (delivered, call.results.first()) {
                write(result, &mut ends, local, lane, &bytes);
                match *result {
                    Formal::Register(file, slot) => {
                        if let Some(poison) = poison {
                            poison.clear((file, slot), 1 << lane);
                        }
                    }
                    Formal::Memory { .. } if !local_marks.is_empty() => {
                        let marks = window(local_marks, local.len);
                        write(result, &mut ends, marks, lane, &vec![0; bytes.len()]);
                    }
                    Formal::Memory { .. } => {}
                }
            }
        }
        Ok(())
    }
}

/// Calls a function that the driver provides, for one lane. `byte` reads a byte of the lane's generic
/// address space. Returns the bytes of the result, if there is one.
fn provided(
    name: &str,
    args: &[u64],
    byte: impl Fn(u64) -> Option<u8> + Copy,
    heap: &Mutex<Heap>,
    printed: &mut String,
) -> Result<Option<Vec<u8>>, Fault> {
    let (kind, message) = match (name, args) {
        ("vprintf", &[format, values]) => {
            let (text, count) = printf::format(format, values, byte);
            *printed += &text;
            return Ok(Some(count.to_le_bytes().to_vec()));
        }
        ("malloc", &[bytes]) => {
            let address = heap.lock().map_or(0, |mut heap| heap.allocate(bytes));
            return Ok(Some(address.to_le_bytes().to_vec()));
        }
        ("free", &[address]) => {
            if heap.lock().is_ok_and(|mut heap| heap.release(address)) {
                return Ok(None);
            }
            let message = format!("{address:#x} was not allocated by `malloc`, or is free already");
            (FaultKind::Undefined, message)
        }
        ("__assertfail", &[message, file, line, function, _]) => {
            let text = |address| printf::text(address, byte);
            let (file, function, message) = (text(file), text(function), text(message));
            (FaultKind::Trap, format!("{file}:{line}: {function}: assertion `{message}` failed"))
        }
        _ if name.starts_with("cudaLaunch") || name.starts_with("cudaGetParam") => (
            FaultKind::Unsupported,
            format!("`{name}`: a kernel that launches kernels is not modelled"),
        ),
        _ => {
            let message = format!("the function `{name}` has no body in this module");
            (FaultKind::Unsupported, message)
        }
    };
    Err(Fault::new(kind, message))
}

//! From an operand as written to the slot that holds its value.

use super::decoder::Decoder;
use super::scope::{Home, Register, Symbol, Variable};
use super::unit::constant_bits;
use crate::interp::fault::Fault;
use crate::interp::program::{Base, Destination, LaunchInvariant, Op, Place};
use crate::interp::registers::{File, Slot, warp};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Special, SpecialName, special};
use crate::ptx::{AddressBase, Immediate, Name, Operand, ScalarType, StateSpace, Value};
use crate::source::Span;

/// The register file that holds values of a type.
pub(crate) fn file_of(ty: ScalarType) -> File {
    match ty.bits() {
        1 => File::Pred,
        2..=32 => File::W32,
        _ => File::W64,
    }
}

/// What reading a special register yields.
pub(super) enum Reading {
    /// A number that does not change while a warp runs.
    LaunchInvariant(LaunchInvariant),
    /// Another number each time.
    Clock,
    /// Not modelled.
    Unknown,
}

/// What reading a special register yields. Every block is a cluster of its own, one multiprocessor
/// runs all blocks, and events are not counted.
pub(super) fn reading(register: Special) -> Reading {
    Reading::LaunchInvariant(match register {
        Special::Tid(axis) => LaunchInvariant::Tid(axis),
        Special::Ntid(axis) => LaunchInvariant::Ntid(axis),
        Special::Ctaid(axis) | Special::Clusterid(axis) => LaunchInvariant::Ctaid(axis),
        Special::Nctaid(axis) | Special::Nclusterid(axis) => LaunchInvariant::Nctaid(axis),
        Special::Laneid => LaunchInvariant::LaneId,
        Special::Warpid => LaunchInvariant::WarpId,
        Special::Nwarpid => LaunchInvariant::NwarpId,
        Special::LanemaskEq => LaunchInvariant::LanemaskEq,
        Special::LanemaskLe => LaunchInvariant::LanemaskLe,
        Special::LanemaskLt => LaunchInvariant::LanemaskLt,
        Special::LanemaskGe => LaunchInvariant::LanemaskGe,
        Special::LanemaskGt => LaunchInvariant::LanemaskGt,
        Special::DynamicSmemSize => LaunchInvariant::DynamicSharedSize,
        Special::TotalSmemSize | Special::AggrSmemSize => LaunchInvariant::TotalSharedSize,
        Special::Smid
        | Special::Gridid
        | Special::ClusterCtaid(_)
        | Special::ClusterCtarank
        | Special::IsExplicitCluster
        | Special::ReservedSmemOffsetBegin
        | Special::ReservedSmemOffsetEnd
        | Special::ReservedSmemOffsetCap
        | Special::ReservedSmemOffset(_)
        | Special::CurrentGraphExec
        | Special::Pm(_)
        | Special::Pm64(_)
        | Special::Envreg(_) => LaunchInvariant::Constant(0),
        Special::Nsmid | Special::ClusterNctarank | Special::ClusterNctaid(_) => {
            LaunchInvariant::Constant(1)
        }
        Special::WarpSize => LaunchInvariant::Constant(WARP_SIZE),
        Special::Clock
        | Special::ClockHi
        | Special::Clock64
        | Special::Globaltimer
        | Special::GlobaltimerLo
        | Special::GlobaltimerHi => return Reading::Clock,
        Special::Unknown => return Reading::Unknown,
    })
}

impl<'m, 's> Decoder<'_, 'm, 's> {
    /// The slot of a source operand of a type.
    ///
    /// # Errors
    /// The operand has no value to read, or its register has another width.
    pub(crate) fn source(
        &mut self,
        operand: &'m Operand<'s>,
        ty: ScalarType,
    ) -> Result<Slot, Fault> {
        let file = file_of(ty);
        match operand {
            Operand::Immediate(immediate) => Ok(self.constant(*immediate, ty)),
            Operand::Name(name) => self.named_source(*name, 0, file),
            Operand::Offset { name, offset, indexed } => match self.lookup(*name)? {
                Symbol::Register(register) if !indexed => {
                    let sum = self.sum(*name, register, *offset)?;
                    self.register_source(*name, sum, file)
                }
                Symbol::Variable(variable) if *indexed => {
                    let offset = offset.wrapping_mul(variable.element as i64);
                    self.named_source(*name, offset, file)
                }
                _ => self.named_source(*name, *offset, file),
            },
            Operand::Not(name) if file == File::Pred => {
                let s = self.named_source(*name, 0, file)?;
                let d = self.scratch(File::Pred);
                self.emit_lanes(warp!(bits 1; |a: bool| -> bool { !a }), &[d], &[s]);
                Ok(d)
            }
            // One-element vectors stand for their element.
            Operand::Vector(items, _) if items.len() == 1 => self.source(&items[0], ty),
            _ => Err(self.error(operand.span(), "a register, a number or a name is expected here")),
        }
    }

    /// A source whose register may be wider than the type: its low bits count.
    ///
    /// # Errors
    /// As [`Decoder::source`].
    pub(crate) fn source_low(
        &mut self,
        operand: &'m Operand<'s>,
        ty: ScalarType,
    ) -> Result<Slot, Fault> {
        let register = match operand {
            Operand::Name(name) => self.register(*name),
            Operand::Offset { name, offset, indexed: false } => match self.register(*name) {
                Some(register) => Some(self.sum(*name, register, *offset)?),
                None => None,
            },
            _ => None,
        };
        match register {
            Some(register) if file_of(ty) == File::W32 && register.file == File::W64 => {
                Ok(self.low_half(register))
            }
            _ => self.source(operand, ty),
        }
    }

    /// The low 32 bits of a register of 64.
    pub(crate) fn low_half(&mut self, register: Register) -> Slot {
        let d = self.scratch(File::W32);
        self.emit_lanes(warp!(bits 1; |a: u64| -> u32 { a as u32 }), &[d], &[register.slot]);
        d
    }

    /// A register's value plus a constant, `%r1+4`, modulo 2 to the register's width.
    fn sum(&mut self, name: Name<'s>, register: Register, offset: i64) -> Result<Register, Fault> {
        let Register { file, bits, .. } = register;
        let run = match bits {
            _ if register.float => None,
            8 => Some(warp!(as Sum; |a: u8, b: u32| -> u8 { a.wrapping_add(b as u8) })),
            16 => Some(warp!(as Sum; |a: u16, b: u32| -> u16 { a.wrapping_add(b as u16) })),
            32 => Some(warp!(as Sum; |a: u32, b: u32| -> u32 { a.wrapping_add(b) })),
            64 => Some(warp!(as Sum; |a: u64, b: u64| -> u64 { a.wrapping_add(b) })),
            _ => None,
        };
        let Some(run) = run else {
            let message = format!("nothing can be added to the register `{}`", name.text);
            return Err(self.error(name.span, message));
        };
        let slot = self.scratch(file);
        let added = self.immediate(file, offset as u64);
        self.emit_lanes(run, &[slot], &[register.slot, added]);
        Ok(Register { slot, ..register })
    }

    fn register_source(
        &mut self,
        name: Name<'s>,
        register: Register,
        file: File,
    ) -> Result<Slot, Fault> {
        if register.file == file {
            return Ok(register.slot);
        }
        Err(self.wrong_width(name, register))
    }

    fn wrong_width(&self, name: Name<'s>, register: Register) -> Fault {
        let Register { bits, .. } = register;
        let message = format!("the register `{}` has {bits} bits, unlike the type", name.text);
        self.error(name.span, message)
    }

    /// The register of a name, if it is one.
    pub(crate) fn register(&mut self, name: Name<'s>) -> Option<Register> {
        match self.lookup(name) {
            Ok(Symbol::Register(register)) => Some(register),
            _ => None,
        }
    }

    fn constant(&mut self, immediate: Immediate, ty: ScalarType) -> Slot {
        let bits = match (file_of(ty), immediate.value) {
            (File::Pred, Value::Signed(v)) => u64::from(v != 0),
            (File::Pred, Value::Unsigned(v)) => u64::from(v != 0),
            (_, value) => constant_bits(value, ty) & (u64::MAX >> (64 - ty.bits().min(64))),
        };
        self.immediate(file_of(ty), bits)
    }

    /// The slot of a name in a register file; `offset` is added if the name is that of a variable.
    ///
    /// # Errors
    /// As [`Decoder::source`].
    pub(crate) fn named_source(
        &mut self,
        name: Name<'s>,
        offset: i64,
        file: File,
    ) -> Result<Slot, Fault> {
        let reading = match special(name.text) {
            Some(SpecialName::Scalar(register)) => reading(register),
            Some(SpecialName::Zero) => Reading::LaunchInvariant(LaunchInvariant::Constant(0)),
            Some(SpecialName::Vector(_)) | None => Reading::Unknown,
        };
        match reading {
            Reading::Clock => {
                let d = self.scratch(file);
                self.emit(Op::Clock(file, d));
                return Ok(d);
            }
            Reading::LaunchInvariant(value) => {
                let slot = self.steady(value);
                return Ok(self.widened(slot, file));
            }
            Reading::Unknown => {}
        }
        match self.lookup(name)? {
            Symbol::Register(register) if offset == 0 => self.register_source(name, register, file),
            Symbol::Variable(Variable { home: Home::Absolute(base), .. }) => {
                Ok(self.immediate(file, base.wrapping_add(offset as u64)))
            }
            Symbol::Variable(Variable { home: Home::Frame(base), .. }) => {
                let d = self.scratch(file);
                self.emit(Op::FrameAddress(file, d, base.wrapping_add(offset as u64)));
                Ok(d)
            }
            Symbol::Function(id) => {
                let handle = self.unit.layout.function_handle(id);
                Ok(self.immediate(file, handle))
            }
            _ => {
                Err(self.error(name.span, format!("`{}` has no value that can be read", name.text)))
            }
        }
    }

    fn widened(&mut self, slot: Slot, file: File) -> Slot {
        match file {
            File::W32 => slot,
            File::W64 => {
                let d = self.scratch(File::W64);
                self.emit_lanes(warp!(bits 1; |a: u32| -> u64 { u64::from(a) }), &[d], &[slot]);
                d
            }
            // `%is_explicit_cluster`.
            File::Pred => {
                let d = self.scratch(File::Pred);
                self.emit_lanes(warp!(|a: u32| -> bool { a != 0 }), &[d], &[slot]);
                d
            }
        }
    }

    /// The slot of a destination of exactly the type's file; for `_` it is a register that is never
    /// read.
    ///
    /// # Errors
    /// The operand cannot be written.
    pub(crate) fn dest(&mut self, operand: &'m Operand<'s>, ty: ScalarType) -> Result<Slot, Fault> {
        match operand {
            Operand::Sink(_) => Ok(self.scratch(file_of(ty))),
            Operand::Name(name) => self.named_dest(*name, ty),
            Operand::Vector(items, _) if items.len() == 1 => self.dest(&items[0], ty),
            _ => Err(self.error(operand.span(), "a register is expected here as the destination")),
        }
    }

    /// The slot of a destination by its name.
    ///
    /// # Errors
    /// As [`Decoder::dest`].
    pub(crate) fn named_dest(&mut self, name: Name<'s>, ty: ScalarType) -> Result<Slot, Fault> {
        match self.lookup(name)? {
            Symbol::Register(register) if register.file == file_of(ty) => Ok(register.slot),
            Symbol::Register(register) => Err(self.wrong_width(name, register)),
            _ => Err(self.error(name.span, format!("`{}` is not a register", name.text))),
        }
    }

    /// A destination that may be wider than the type: values of signed types are sign-extended,
    /// all others zero-extended.
    ///
    /// # Errors
    /// The operand cannot be written, or its register is narrower than the type.
    pub(crate) fn dest_wide(
        &mut self,
        operand: &'m Operand<'s>,
        ty: ScalarType,
    ) -> Result<Option<Destination>, Fault> {
        let name = match operand {
            Operand::Sink(_) => return Ok(None),
            Operand::Name(name) => *name,
            Operand::Vector(items, _) if items.len() == 1 => return self.dest_wide(&items[0], ty),
            _ => {
                return Err(
                    self.error(operand.span(), "a register is expected here as the destination")
                );
            }
        };
        let Some(register) = self.register(name) else {
            return Err(self.error(name.span, format!("`{}` is not a register", name.text)));
        };
        self.register_dest(register, name.span, ty).map(Some)
    }

    /// The register of a destination, which may be wider than the type.
    ///
    /// # Errors
    /// The register is narrower than the type.
    pub(crate) fn register_dest(
        &self,
        register: Register,
        span: Span,
        ty: ScalarType,
    ) -> Result<Destination, Fault> {
        if register.bits < ty.bits().max(8) {
            return Err(self.error(span, format!("this register is narrower than {ty}")));
        }
        let extend = ty.is_signed() && ty.bits() < register.bits;
        let sign_to = if extend { register.bits as u8 } else { 0 };
        Ok(Destination { file: register.file, slot: register.slot, sign_to })
    }

    /// The place that an address operand names in a space.
    ///
    /// # Errors
    /// The address starts neither from a register nor from a variable.
    pub(crate) fn place(
        &mut self,
        operand: &'m Operand<'s>,
        space: StateSpace,
    ) -> Result<Place, Fault> {
        let address = match operand {
            Operand::Address(address) => address,
            // An element of an array may stand without brackets.
            Operand::Offset { name, offset, indexed: true } => match self.lookup(*name)? {
                Symbol::Variable(variable) => {
                    let offset = offset.wrapping_mul(variable.element as i64);
                    return Ok(variable_place(variable, offset, space));
                }
                _ => return Err(self.error(name.span, format!("`{}` is not an array", name.text))),
            },
            _ => {
                return Err(
                    self.error(operand.span(), "an address is expected here, such as `[%rd1+4]`")
                );
            }
        };
        let offset = address.offset;
        let AddressBase::Name(name) = address.base else {
            return Ok(Place { space, base: Base::Absolute, offset });
        };
        match self.lookup(name)? {
            Symbol::Register(Register { file: File::W32, slot, .. }) => {
                Ok(Place { space, base: Base::W32(slot), offset })
            }
            Symbol::Register(Register { file: File::W64, slot, .. }) => {
                Ok(Place { space, base: Base::W64(slot), offset })
            }
            Symbol::Variable(variable) => Ok(variable_place(variable, offset, space)),
            _ => {
                Err(self.error(name.span, format!("`{}` is not a register or variable", name.text)))
            }
        }
    }
}

/// The place that lies `offset` bytes into a variable.
fn variable_place(variable: Variable, offset: i64, space: StateSpace) -> Place {
    match variable.home {
        Home::Frame(base) => {
            let offset = offset.wrapping_add(base as i64);
            Place { space: StateSpace::Local, base: Base::Frame, offset }
        }
        Home::Absolute(base) => {
            // A variable's name means its own space, whether or not the access says so.
            let offset = offset.wrapping_add(base as i64);
            let space = if space == StateSpace::Generic { variable.space } else { space };
            Place { space, base: Base::Absolute, offset }
        }
    }
}

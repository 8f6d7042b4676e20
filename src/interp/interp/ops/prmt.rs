//! `prmt`: picking bytes of a pair of registers (PTX ISA, "Data Movement: prmt").

use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::warp;
use crate::isa::Qualifier;
use crate::ptx::ScalarType::B32;

/// `prmt.b32{.mode} d, a, b, c`.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let mode = inst.take_one_of(&[
        Qualifier::F4e,
        Qualifier::B4e,
        Qualifier::Rc8,
        Qualifier::Ecl,
        Qualifier::Ecr,
        Qualifier::Rc16,
    ]);
    let ty = inst.take_type()?;
    if ty != B32 {
        return Err(inst.bad_type(ty));
    }
    let run = match mode {
        None => warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 { permute(a, b, c) }),
        Some(Qualifier::F4e) => {
            warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 { gather(a, b, |byte| byte + (c & 3)) })
        }
        Some(Qualifier::B4e) => warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 {
            gather(a, b, |byte| (c & 3).wrapping_sub(byte) & 7)
        }),
        Some(Qualifier::Rc8) => {
            warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 { gather(a, b, |_| c & 3) })
        }
        Some(Qualifier::Ecl) => {
            warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 { gather(a, b, |byte| byte.max(c & 3)) })
        }
        Some(Qualifier::Ecr) => {
            warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 { gather(a, b, |byte| byte.min(c & 3)) })
        }
        Some(_) => {
            warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 { gather(a, b, |byte| byte % 2 + 2 * (c & 1)) })
        }
    };
    cx.apply(inst, run, ty, &[ty; 3])
}

/// Byte 0 to 7 of the pair `b:a`.
fn byte_of(a: u32, b: u32, index: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) >> (8 * (index & 7)) & 0xff) as u32
}

fn gather(a: u32, b: u32, index: impl Fn(u32) -> u32) -> u32 {
    (0..4).fold(0, |word, byte| word | byte_of(a, b, index(byte)) << (8 * byte))
}

/// The default mode: each nibble of `c` picks a byte, its top bit replicates the byte's sign.
fn permute(a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(0, |word, byte| {
        let selector = c >> (4 * byte);
        let picked = byte_of(a, b, selector);
        let picked = match (selector & 8 != 0, picked & 0x80 != 0) {
            (false, _) => picked,
            (true, true) => 0xff,
            (true, false) => 0,
        };
        word | picked << (8 * byte)
    })
}

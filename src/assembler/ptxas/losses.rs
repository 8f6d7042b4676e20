//! Which kernels a rewrite makes worse, by the machine code of both texts.
//!
//! In: the cubins of the original and of the rewritten text. Out: the losses of each kernel that has some. A kernel loses if fewer of its warps are resident on a multiprocessor, or if a thread
//! needs more stack, which is where ptxas puts registers that it spills. A number that is not known of
//! both cubins is not compared.

use crate::isa::multiprocessor::Multiprocessor;
use crate::sass::cubin::{Cubin, Usage};
use crate::sass::resources::USUAL_BLOCKS;

/// What a function may lose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    /// Resident warps, by its registers or its shared memory.
    Warps,
    /// Bytes of stack.
    Stack,
    /// It is not in the machine code any more.
    Function,
    /// ptxas has more to warn of.
    Warnings,
}

/// A function's loss.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// The function's name.
    pub function: String,
    /// The resource that it has too little or too much of.
    pub of: Resource,
    /// Both numbers, for people.
    pub what: String,
}

/// The losses, by the kernels' names.
pub fn losses(original: &Cubin, rewritten: &Cubin) -> Vec<Loss> {
    if original.architecture != rewritten.architecture {
        return Vec::new();
    }
    let multiprocessor = Multiprocessor::of(original.architecture);
    let lost = original.kernels.iter().filter_map(|(name, before)| {
        let Some(after) = rewritten.kernels.get(name) else {
            let is_known = !rewritten.kernels.is_empty();
            let what = "the kernel is not there".to_owned();
            let loss = || Loss { function: name.clone(), of: Resource::Function, what };
            return is_known.then(loss);
        };
        let stack = more_stack(before, after).map(|what| (Resource::Stack, what));
        let warps = || fewer_warps(multiprocessor.as_ref()?, before, after);
        let (of, what) = stack.or_else(|| Some((Resource::Warps, warps()?)))?;
        Some(Loss { function: name.clone(), of, what })
    });
    lost.collect()
}

fn more_stack(before: &Usage, after: &Usage) -> Option<String> {
    (after.stack > before.stack)
        .then(|| format!("{} bytes of stack instead of {}", after.stack, before.stack))
}

fn fewer_warps(on: &Multiprocessor, before: &Usage, after: &Usage) -> Option<String> {
    let own = before.threads.map(|threads| [threads]);
    let blocks = own.as_ref().map_or(&USUAL_BLOCKS[..], |own| &own[..]);
    blocks.iter().find_map(|&threads| {
        let warps = |usage: &Usage| on.resident_warps(threads, usage.registers, usage.shared);
        let (had, has) = (warps(before), warps(after));
        (has < had).then(|| {
            let [old, new] = [before.registers, after.registers];
            let blocks =
                if own.is_none() { format!(" in blocks of {threads}") } else { String::new() };
            let mut what = format!("{new} registers instead of {old}");
            if after.shared != before.shared {
                let (new, old) = (after.shared, before.shared);
                what = format!("{what} and {new} bytes of shared memory instead of {old}");
            }
            format!("{what} leave {has} of {had} warps{blocks}")
        })
    })
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        lost_warps_and_stack_are_named,
        shared_memory_counts,
        more_registers_are_no_loss_where_as_many_warps_fit,
        any_usual_block_counts,
        what_is_not_known_is_not_judged,
        a_kernel_that_is_not_there_is_lost
    );

    fn cubin(registers: u32, stack: u32, threads: Option<u32>) -> Cubin {
        let usage = Usage { registers, stack, shared: 0, threads };
        Cubin { architecture: 80, kernels: [("k".to_owned(), usage)].into() }
    }

    fn loss(original: &Cubin, rewritten: &Cubin) -> String {
        losses(original, rewritten).pop().map_or_else(String::new, |loss| loss.what)
    }

    fn lost_warps_and_stack_are_named() {
        let plain = cubin(32, 0, None);
        assert_eq!(loss(&plain, &cubin(32, 0, None)), "");
        assert_eq!(loss(&plain, &cubin(24, 0, None)), "");
        assert_eq!(
            loss(&plain, &cubin(33, 0, None)),
            "33 registers instead of 32 leave 48 of 64 warps in blocks of 128"
        );
        assert_eq!(loss(&plain, &cubin(24, 8, None)), "8 bytes of stack instead of 0");
        assert_eq!(
            loss(&cubin(32, 0, Some(1024)), &cubin(40, 0, Some(1024))),
            "40 registers instead of 32 leave 32 of 64 warps"
        );
    }

    fn shared_memory_counts() {
        let with = |shared: u32| {
            let usage = Usage { registers: 32, stack: 0, shared, threads: Some(1024) };
            Cubin { architecture: 80, kernels: [("k".to_owned(), usage)].into() }
        };
        assert_eq!(
            loss(&with(80 << 10), &with(82 << 10)),
            "32 registers instead of 32 and 83968 bytes of shared memory instead of 81920 leave 32 of 64 warps"
        );
        assert_eq!(loss(&with(4096), &with(4224)), "");
    }

    fn more_registers_are_no_loss_where_as_many_warps_fit() {
        // 9 blocks of 3 warps with either.
        assert_eq!(loss(&cubin(65, 0, Some(96)), &cubin(72, 0, Some(96))), "");
        assert_eq!(loss(&cubin(8, 0, None), &cubin(32, 0, None)), "");
        // Of one warp each, 32 blocks fit at most.
        assert_eq!(loss(&cubin(8, 0, Some(32)), &cubin(64, 0, Some(32))), "");
    }

    fn any_usual_block_counts() {
        // 12 warps of each scheduler become 10: 3 blocks of 512 become 2, and 6 of 256 become 5.
        let said = loss(&cubin(40, 0, None), &cubin(48, 0, None));
        assert!(said.contains("40 of 48 warps in blocks of 128"), "{said}");
        // 168 registers: 12 warps; 129 to 136: 12 too, so nothing is lost but for no block size.
        assert_eq!(loss(&cubin(144, 0, None), &cubin(168, 0, None)), "");
    }

    fn what_is_not_known_is_not_judged() {
        let mut unknown = cubin(255, 0, None);
        unknown.architecture = 81;
        let mut before = cubin(8, 0, None);
        assert_eq!(loss(&before, &unknown), "");
        before.architecture = 81;
        assert_eq!(loss(&before, &unknown), "");
        before.kernels.clear();
        assert_eq!(loss(&before, &unknown), "");
        assert_eq!(loss(&unknown, &before), "");
    }

    fn a_kernel_that_is_not_there_is_lost() {
        let mut both = cubin(8, 0, None);
        let other = Usage { registers: 8, stack: 0, shared: 0, threads: None };
        both.kernels.insert("other".to_owned(), other);
        assert_eq!(losses(&both, &cubin(8, 0, None))[0].function, "other");
    }
}

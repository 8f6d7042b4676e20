//! `ptxasw`, and under the name `ptxas` a stand-in for NVIDIA's assembler.

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Memory from mimalloc, and large blocks from the system.
///
/// A tenth of the time of the system's allocator is its own: terms are small and many, and made by several threads. But mimalloc
/// clears large blocks that were used before, and so touches all of a buffer where a launch uses few bytes; the system maps new pages.
struct Allocator;

/// The bytes from which on a block is large.
const LARGE: usize = 1 << 25;

/// A call of the allocator that has blocks of a layout.
macro_rules! of {
    ($layout:ident . $method:ident ($($argument:expr),*)) => {
        // SAFETY: as the caller's; the size of a block says who has made it.
        unsafe {
            if $layout.size() >= LARGE {
                System.$method($($argument),*)
            } else {
                MiMalloc.$method($($argument),*)
            }
        }
    };
}

// SAFETY: the size of a block says whose it is.
#[expect(unsafe_code, reason = "allocators are unsafe")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        of!(layout.alloc(layout))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        of!(layout.alloc_zeroed(layout))
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        of!(layout.dealloc(block, layout))
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the size is not larger than that of any block, as the caller says.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if (layout.size() >= LARGE) == (size >= LARGE) {
            return of!(layout.realloc(block, layout, size));
        }
        // SAFETY: as the caller's.
        let moved = unsafe { self.alloc(new) };
        if !moved.is_null() {
            // SAFETY: two blocks, both at least as long as the shorter one.
            unsafe { moved.copy_from_nonoverlapping(block, layout.size().min(size)) };
            // SAFETY: as the caller's.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    ptxasw::main(std::env::args_os())
}

//! Kernels aimed at the layouts of arrays in shared memory: arrays in the kernel, outside functions and in dynamic shared
//! memory, of elements of 1 to 16 bytes, that are filled, changed and read by rows, columns, strides and swizzles.
//!
//! Each kernel fills the array, then reads it and writes it in turns with barriers between, and stores what each thread has
//! read. Where a new layout is used, the rewritten kernel is executed and compared, and some are proved.

use std::fmt::Write;

use fastrand::Rng;
use serde_json::json;

use super::texts::Aim;
use crate::random::Case;

const BLOCKS: [[u32; 3]; 10] = [
    [32, 1, 1],
    [64, 1, 1],
    [128, 1, 1],
    [8, 8, 1],
    [16, 16, 1],
    [32, 8, 1],
    [16, 4, 1],
    [32, 4, 1],
    [24, 2, 1],
    [8, 4, 2],
];

/// Where the array is declared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Kernel,
    Module,
    Dynamic,
}

/// The element of an access, as a linear function of the thread: `tx * x + ty * y + constant`, and the lowest bits of
/// `ty` or of a row number exclusive-ored where the kernel swizzles by itself.
#[derive(Clone, Copy)]
struct Index {
    x: u32,
    y: u32,
    constant: u32,
    swizzle: bool,
}

impl Index {
    fn of(self, [tx, ty]: [u32; 2]) -> u32 {
        let x = if self.swizzle { tx ^ (ty & 7) } else { tx };
        x * self.x + ty * self.y + self.constant
    }
}

/// A kernel under construction.
struct Maker {
    rng: Rng,
    block: [u32; 3],
    /// The bytes of an element.
    bytes: u32,
    text: String,
    labels: u32,
    /// The elements that accesses reach.
    reached: u32,
}

impl Maker {
    fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    fn line(&mut self, text: &str) {
        writeln!(self.text, "\t{text}").unwrap();
    }

    /// Rows and columns of the block, rows of threads of higher dimensions one behind the other.
    fn places(&self) -> impl Iterator<Item = [u32; 2]> + use<> {
        let [width, height, depth] = self.block;
        (0..height * depth).flat_map(move |ty| (0..width).map(move |tx| [tx, ty]))
    }

    /// A random index, by rows, columns or strides.
    fn index(&mut self) -> Index {
        let [width, height, depth] = self.block;
        let rows = height * depth;
        let pad = [0, 0, 0, 1, 4][self.rng.usize(..5)];
        let (x, y) = match self.rng.u8(..5) {
            0 => (1, width + pad),
            1 => (rows + pad, 1),
            2 => ([2, 4, 8, 16, 32, 33][self.rng.usize(..6)], 1),
            3 => (1, [16, 32, 64][self.rng.usize(..3)]),
            _ => ([16, 32][self.rng.usize(..2)], 0),
        };
        let swizzle = width.is_multiple_of(8) && self.rng.u8(..6) == 0;
        Index { x, y, constant: [0, 0, 1, 2, 8][self.rng.usize(..5)], swizzle }
    }

    /// Computes the address of an element into `%r20`; gives the operand.
    fn address(&mut self, index: Index) -> String {
        let last = self.places().map(|place| index.of(place)).max().unwrap_or(0);
        self.reached = self.reached.max(last + 1);
        let bytes = self.bytes;
        if index.swizzle {
            self.line("and.b32 %r21, %r2, 7;");
            self.line("xor.b32 %r21, %r1, %r21;");
        } else {
            self.line("mov.u32 %r21, %r1;");
        }
        self.line(&format!("mul.lo.u32 %r22, %r2, {};", index.y));
        self.line(&format!("mad.lo.u32 %r22, %r21, {}, %r22;", index.x));
        match self.rng.bool() {
            // The constant as an immediate of the access.
            true => {
                self.line(&format!("mad.lo.u32 %r20, %r22, {bytes}, %r5;"));
                format!("[%r20+{}]", index.constant * bytes)
            }
            false => {
                self.line(&format!("add.u32 %r22, %r22, {};", index.constant));
                self.line(&format!("shl.b32 %r22, %r22, {};", bytes.trailing_zeros()));
                self.line("add.u32 %r20, %r22, %r5;");
                "[%r20]".to_owned()
            }
        }
    }

    /// The suffix and the registers of an access to an element.
    fn access(&self) -> (&'static str, &'static str) {
        match self.bytes {
            1 => ("u8", "%r30"),
            2 => ("u16", "%h1"),
            4 => ("u32", "%r30"),
            8 => ("v2.u32", "{%r30, %r31}"),
            _ => ("v4.u32", "{%r30, %r31, %r32, %r33}"),
        }
    }

    fn barrier(&mut self) {
        self.line("bar.sync 0;");
    }

    /// Fills the array: `n` elements, by a loop over the threads' numbers.
    fn fill(&mut self, elements: u32) {
        let bytes = elements * self.bytes;
        let copied = self.bytes >= 4 && self.rng.u8(..4) == 0;
        let step = if copied { [4, 8, 16][self.rng.usize(..3)] } else { 4 };
        let label = self.labels;
        self.labels += 1;
        self.line(&format!("mul.lo.u32 %r10, %r3, {step};"));
        self.text.push_str(&format!("FILL{label}:\n"));
        self.line(&format!("setp.ge.u32 %p1, %r10, {};", bytes.next_multiple_of(16)));
        self.line(&format!("@%p1 bra FILLED{label};"));
        self.line("cvt.u64.u32 %rd5, %r10;");
        self.line("add.u64 %rd6, %rd1, %rd5;");
        self.line("add.u32 %r11, %r5, %r10;");
        if copied {
            let cache = if step == 16 { "cg" } else { "ca" };
            self.line(&format!("cp.async.{cache}.shared.global [%r11], [%rd6], {step};"));
        } else {
            self.line("ld.global.u32 %r12, [%rd6];");
            self.line("st.shared.u32 [%r11], %r12;");
        }
        self.line(&format!("add.u32 %r10, %r10, {};", self.threads() * step));
        self.line(&format!("bra FILL{label};"));
        self.text.push_str(&format!("FILLED{label}:\n"));
        if copied {
            self.line("cp.async.commit_group;");
            self.line("cp.async.wait_group 0;");
        }
        self.barrier();
    }

    /// Adds the loaded value to the thread's sum, `%r6`.
    fn add_read(&mut self) {
        match self.bytes {
            2 => self.line("cvt.u32.u16 %r30, %h1;"),
            8 => self.line("xor.b32 %r30, %r30, %r31;"),
            16 => {
                self.line("xor.b32 %r30, %r30, %r31;");
                self.line("mad.lo.u32 %r30, %r32, 3, %r30;");
                self.line("xor.b32 %r30, %r30, %r33;");
            }
            _ => {}
        }
        self.line("mad.lo.u32 %r6, %r6, 5, %r30;");
    }

    fn read(&mut self) {
        let index = self.index();
        let repeat = if self.rng.u8(..3) == 0 { self.rng.u32(2..=4) } else { 1 };
        for more in 0..repeat {
            let index = Index { constant: index.constant + more, ..index };
            let place = self.address(index);
            let (suffix, registers) = self.access();
            let volatile = if self.rng.u8(..12) == 0 { ".volatile" } else { "" };
            let guard = if self.rng.u8(..6) == 0 { "@%p2 " } else { "" };
            self.line("mov.u16 %h1, 7;");
            for register in 30..34 {
                self.line(&format!("mov.u32 %r{register}, {register};"));
            }
            self.line(&format!("{guard}ld{volatile}.shared.{suffix} {registers}, {place};"));
            self.add_read();
        }
    }

    /// Writes one element of each thread, where no two threads write the same one.
    fn write(&mut self) {
        let index = self.index();
        let mut elements: Vec<u32> = self.places().map(|place| index.of(place)).collect();
        elements.sort_unstable();
        let is_unique = elements.windows(2).all(|pair| pair[0] != pair[1]);
        let place = self.address(index);
        if is_unique {
            self.line("mul.lo.u32 %r30, %r6, 7;");
            self.line("xor.b32 %r31, %r6, %r3;");
            self.line("add.u32 %r32, %r6, 1;");
            self.line("sub.u32 %r33, %r31, %r3;");
            self.line("cvt.u16.u32 %h1, %r30;");
            let guard = if self.rng.u8(..6) == 0 { "@%p2 " } else { "" };
            let (suffix, registers) = self.access();
            self.line(&format!("{guard}st.shared.{suffix} {place}, {registers};"));
        } else if self.bytes >= 4 {
            self.line(&format!("red.shared.add.u32 {place}, %r3;"));
        }
    }

    /// The rows of a matrix of 8 by 8 numbers of 16 bits, by the addresses of the warp's lanes.
    fn matrix(&mut self) {
        let stride = [16, 32, 64, 128][self.rng.usize(..4)];
        let rows = self.threads().min(32);
        self.reached = self.reached.max((rows - 1) * stride / self.bytes + 16 / self.bytes.min(16));
        self.line("and.b32 %r20, %r3, 31;");
        self.line(&format!("mad.lo.u32 %r20, %r20, {stride}, %r5;"));
        let transposed = if self.rng.bool() { ".trans" } else { "" };
        let registers = "{%r30, %r31, %r32, %r33}";
        self.line(&format!(
            "ldmatrix.sync.aligned.m8n8.x4{transposed}.shared.b16 {registers}, [%r20];"
        ));
        for register in ["%r30", "%r31", "%r32", "%r33"] {
            self.line(&format!("mad.lo.u32 %r6, %r6, 5, {register};"));
        }
    }

    fn steps(&mut self) {
        for _ in 0..self.rng.u32(1..=4) {
            match self.rng.u8(..10) {
                0..=2 => {
                    self.barrier();
                    self.write();
                    self.barrier();
                }
                3 if self.threads().is_multiple_of(32) => self.matrix(),
                _ => self.read(),
            }
        }
    }
}

/// The kernel of a seed.
fn kernel(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0x1a70_0e5d);
    let block = BLOCKS[rng.usize(..BLOCKS.len())];
    let home = [Home::Kernel, Home::Kernel, Home::Module, Home::Dynamic][rng.usize(..4)];
    let bytes = [1, 2, 4, 4, 4, 4, 8, 16][rng.usize(..8)];
    let mut maker = Maker { rng, block, bytes, text: String::new(), labels: 0, reached: 0 };
    maker.steps();
    let steps = std::mem::take(&mut maker.text);
    let slack = [0, 0, 1, 16, 32][maker.rng.usize(..5)];
    let elements = maker.reached.max(1) + slack;
    maker.fill(elements);
    let fill = std::mem::take(&mut maker.text);
    let required = maker.rng.bool();
    // (The fill goes to a multiple of 16 bytes.)
    let size = (elements * bytes).next_multiple_of(16);
    let align = [16, 16, 128][maker.rng.usize(..3)];
    let array = match home {
        Home::Dynamic => format!(".extern .shared .align {align} .b8 board[];"),
        _ => format!(".shared .align {align} .b8 board[{size}];"),
    };
    let (outside, inside) = match home {
        Home::Kernel => (String::new(), format!("\t{array}\n")),
        _ => (format!("{array}\n"), String::new()),
    };
    let [x, y, z] = block;
    let reqntid = if required { format!(".reqntid {x}, {y}, {z}\n") } else { String::new() };
    let name = format!("random_{seed}");
    let ptx = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n\n{outside}.visible .entry {name}(\n\t.param .u64 in,\n\t.param .u64 out\n)\n\
         {reqntid}{{\n\t.reg .pred %p<4>;\n\t.reg .b16 %h<2>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %rd<10>;\n{inside}\n{PROLOGUE}{fill}{steps}{EPILOGUE}}}\n"
    );
    let threads: u32 = block.iter().product();
    let launch = json!({
        "kernel": name,
        "grid": [2, 1, 1],
        "block": block,
        "limit": 4_000_000,
        "dynamic_shared": if home == Home::Dynamic { size } else { 0 },
        "buffers": {
            "in": {"type": "u8", "len": size + 16, "fill": "random", "seed": seed},
            "out": {"type": "u32", "len": 2 * threads, "fill": 0},
        },
        "args": [{"buffer": "in"}, {"buffer": "out"}],
    });
    Case { ptx, launch: launch.to_string() }
}

/// The column in `%r1`, the row in `%r2`, the thread's number in `%r3`, the array in `%r5`, a sum in `%r6`.
const PROLOGUE: &str = "\tld.param.u64 %rd1, [in];
\tcvta.to.global.u64 %rd1, %rd1;
\tld.param.u64 %rd2, [out];
\tcvta.to.global.u64 %rd2, %rd2;
\tmov.u32 %r1, %tid.x;
\tmov.u32 %r2, %tid.y;
\tmov.u32 %r3, %tid.z;
\tmov.u32 %r4, %ntid.y;
\tmad.lo.u32 %r2, %r3, %r4, %r2;
\tmov.u32 %r4, %ntid.x;
\tmad.lo.u32 %r3, %r2, %r4, %r1;
\tmov.u32 %r5, board;
\tmov.u32 %r6, 1;
\tsetp.lt.u32 %p2, %r1, 5;
";

const EPILOGUE: &str = "\tmov.u32 %r7, %ctaid.x;
\tmov.u32 %r8, %ntid.y;
\tmul.lo.u32 %r8, %r8, %r4;
\tmov.u32 %r9, %ntid.z;
\tmul.lo.u32 %r8, %r8, %r9;
\tmad.lo.u32 %r7, %r7, %r8, %r3;
\tmul.wide.u32 %rd3, %r7, 4;
\tadd.u64 %rd4, %rd2, %rd3;
\tst.global.u32 [%rd4], %r6;
\tret;
";

#[test]
fn layouts_compute_the_same() {
    let aim = Aim {
        kernel,
        strategies: "bank",
        is_hit: |_| true,
        meetings: 2,
        array: "board",
        invalid: 0,
        hit: 50,
        unproved: 4,
    };
    aim.check();
}

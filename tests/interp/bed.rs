//! A bed for kernels: buffers and arguments in, typed buffers out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ptxasw::interp::{self, Counters, Fault, Outcome};
use ptxasw::launch::{Argument, Buffer, DEFAULT_LIMIT, Launch, Meet, Type};
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;

/// A launch in the making.
pub struct Bed {
    source: SourceFile,
    launch: Launch,
}

/// A type that buffers and arguments have elements of.
pub trait Element: Copy {
    const TYPE: Type;
    fn bytes(self) -> Vec<u8>;
    fn from_bits(bits: u64) -> Self;
}

macro_rules! element {
    ($($ty:ty, $name:ident, |$bits:ident| $from:expr;)*) => {$(
        impl Element for $ty {
            const TYPE: Type = Type::$name;
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from_bits($bits: u64) -> $ty {
                $from
            }
        }
    )*};
}
element! {
    u8, U8, |bits| bits as u8;
    u16, U16, |bits| bits as u16;
    u32, U32, |bits| bits as u32;
    i32, S32, |bits| bits as i32;
    u64, U64, |bits| bits;
    f32, F32, |bits| f32::from_bits(bits as u32);
    f64, F64, |bits| f64::from_bits(bits);
}

/// A file of this repository.
pub fn path(relative: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(relative)
}

impl Bed {
    /// A kernel of a file.
    pub fn file(relative: &str, kernel: &str) -> Bed {
        let text = std::fs::read_to_string(path(relative)).expect(relative);
        Bed::text(relative, text, kernel)
    }

    /// A kernel of a text.
    pub fn text(name: &str, text: impl Into<String>, kernel: &str) -> Bed {
        let launch = Launch {
            kernel: Some(kernel.to_owned()),
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared: 0,
            buffers: BTreeMap::new(),
            pointers: Default::default(),
            args: Vec::new(),
            limit: DEFAULT_LIMIT,
            races: true,
            meet: Meet::default(),
            values: Default::default(),
            store_conflicts: true,
            variables: None,
            symbolic_args: Default::default(),
            uninitialized: true,
        };
        Bed { source: SourceFile::new(name, text), launch }
    }

    /// A kernel given by its body; its parameter `p` points to a buffer.
    pub fn body(body: &str) -> Bed {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 p) {{\n\
             .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>;\n\
             ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x;\n\
             mad.wide.u32 %rd1, %r0, 4, %rd0;\n{body}\n}}\n"
        );
        Bed::text("body.ptx", text, "k")
    }

    /// Blocks.
    pub fn grid(mut self, shape: [u32; 3]) -> Bed {
        self.launch.grid = shape;
        self
    }

    /// Threads of a block.
    pub fn block(mut self, shape: [u32; 3]) -> Bed {
        self.launch.block = shape;
        self
    }

    /// Bytes of dynamic shared memory.
    pub fn shared(mut self, bytes: u64) -> Bed {
        self.launch.dynamic_shared = bytes;
        self
    }

    /// Instructions after which to give up.
    pub fn limit(mut self, instructions: u64) -> Bed {
        self.launch.limit = instructions;
        self
    }

    /// Does not report values that nobody has determined.
    pub fn ignoring_uninitialized(mut self) -> Bed {
        self.launch.uninitialized = false;
        self
    }

    /// Lets the last lane of a store to one place win.
    pub fn ignoring_store_conflicts(mut self) -> Bed {
        self.launch.store_conflicts = false;
        self
    }

    /// Where lanes meet again.
    pub fn meet(mut self, meet: Meet) -> Bed {
        self.launch.meet = meet;
        self
    }

    /// Does not look for races.
    pub fn without_races(mut self) -> Bed {
        self.launch.races = false;
        self
    }

    /// A buffer, and a pointer to it as the next argument.
    pub fn buffer<T: Element>(mut self, name: &str, data: &[T]) -> Bed {
        let bytes = data.iter().flat_map(|&element| element.bytes()).collect();
        self.launch.buffers.insert(name.to_owned(), Buffer { ty: T::TYPE, bytes });
        self.launch.args.push(Argument::Pointer { buffer: name.to_owned(), offset: 0 });
        self
    }

    /// A value as the next argument.
    pub fn value<T: Element>(mut self, value: T) -> Bed {
        self.launch.args.push(Argument::Value(value.bytes()));
        self
    }

    /// Bytes as the next argument.
    pub fn bytes(mut self, bytes: Vec<u8>) -> Bed {
        self.launch.args.push(Argument::Value(bytes));
        self
    }

    /// Runs it.
    pub fn run(&self) -> Result<Outcome, Fault> {
        let module = ptx::parse(&self.source, Depth::All).unwrap_or_else(|e| panic!("{e}"));
        interp::run(&module, &self.launch)
    }

    /// Runs it; it must not fault.
    pub fn good(&self) -> Done {
        match self.run() {
            Ok(outcome) => Done(outcome),
            Err(fault) => panic!("{}", fault.diagnostic(&self.source)),
        }
    }

    /// Runs it; it must fault.
    pub fn fault(&self) -> (Fault, String) {
        match self.run() {
            Ok(_) => panic!("the kernel should have faulted"),
            Err(fault) => {
                let shown = fault.diagnostic(&self.source).to_string();
                (fault, shown)
            }
        }
    }
}

/// What a run left behind.
pub struct Done(pub Outcome);

impl Done {
    /// A buffer's elements.
    pub fn get<T: Element>(&self, name: &str) -> Vec<T> {
        let buffer = &self.0.buffers[name];
        assert_eq!(buffer.ty, T::TYPE);
        buffer.elements().map(T::from_bits).collect()
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        self.0.counters
    }
}

/// Reproducible numbers.
pub fn noise(count: usize, seed: u32) -> Vec<u32> {
    let mut state = seed.wrapping_mul(747_796_405).wrapping_add(1);
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        })
        .collect()
}

/// Reproducible singles in `[-1, 1)`.
pub fn noise_f32(count: usize, seed: u32) -> Vec<f32> {
    noise(count, seed).into_iter().map(|n| (n >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

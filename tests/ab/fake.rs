//! A device that is none: the interpreter computes, and a script tells the time.

use std::collections::BTreeMap;

use ptxasw::ab::device::{Device, Error, KernelId, L2, Program, Properties, Usage};
use ptxasw::ab::throttle::Clock;
use ptxasw::interp;
use ptxasw::launch::Launch;
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;

/// The answers of a fake device, and the requests it has got.
pub struct Fake {
    properties: Properties,
    /// Microseconds of a launch, by the kernel's number and how many times were asked for before.
    pub time: Box<dyn Fn(usize, usize) -> f64>,
    /// Changes what the kernel of this number has computed.
    pub spoil: Option<usize>,
    /// The kernel of this number faults.
    pub fault: Option<usize>,
    /// The clocks.
    pub clock: Option<Clock>,
    calls: std::rc::Rc<std::cell::RefCell<Vec<Call>>>,
    programs: std::rc::Rc<std::cell::RefCell<Vec<SourceFile>>>,
    launch: Option<Launch>,
    live: BTreeMap<String, Vec<u8>>,
    asked: usize,
}

/// What was asked of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Load { kernel: String, cubin: usize },
    Reset,
    Launch(usize),
    Time(usize, u32, L2),
}

impl Fake {
    pub fn new(time: impl Fn(usize, usize) -> f64 + 'static) -> Fake {
        Fake {
            properties: Properties {
                name: "Fake".to_owned(),
                capability: (8, 0),
                driver: "0.0".to_owned(),
                multiprocessors: 2,
            },
            time: Box::new(time),
            spoil: None,
            fault: None,
            clock: None,
            calls: std::rc::Rc::default(),
            programs: std::rc::Rc::default(),
            launch: None,
            live: BTreeMap::new(),
            asked: 0,
        }
    }

    /// What will have been asked.
    pub fn calls(&self) -> std::rc::Rc<std::cell::RefCell<Vec<Call>>> {
        self.calls.clone()
    }

    /// The PTX of what will have been loaded.
    pub fn programs(&self) -> std::rc::Rc<std::cell::RefCell<Vec<SourceFile>>> {
        self.programs.clone()
    }

    fn execute(&mut self, kernel: usize) -> Result<(), Error> {
        if self.fault == Some(kernel) {
            return Err(Error::Fault("CUDA_ERROR_ILLEGAL_ADDRESS".to_owned()));
        }
        let mut launch = self.launch.clone().expect("prepared");
        for (name, buffer) in &mut launch.buffers {
            buffer.bytes.clone_from(&self.live[name]);
        }
        let programs = self.programs.borrow();
        let module = ptx::parse(&programs[kernel], Depth::All).expect("parses");
        // A GPU says nothing of values that nobody has determined.
        launch.uninitialized = false;
        let outcome = interp::run(&module, &launch).map_err(|f| Error::Fault(f.to_string()))?;
        self.live = outcome.buffers.into_iter().map(|(name, b)| (name, b.bytes)).collect();
        if self.spoil == Some(kernel) {
            let last = self.live.values_mut().last().expect("a buffer");
            *last.last_mut().expect("a byte") ^= 1;
        }
        Ok(())
    }
}

impl Device for Fake {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn prepare(&mut self, launch: &Launch) -> Result<(), Error> {
        assert!(self.launch.replace(launch.clone()).is_none(), "prepared once");
        self.reset()?;
        self.calls.borrow_mut().clear();
        Ok(())
    }

    fn load(&mut self, program: &Program<'_>) -> Result<(KernelId, Usage), Error> {
        let kernel = program.kernel.to_owned();
        assert!(program.cubin.starts_with(b"\x7fELF"), "what ptxas made");
        self.calls.borrow_mut().push(Call::Load { kernel, cubin: program.cubin.len() });
        self.programs.borrow_mut().push(program.source.clone());
        let usage = Usage { registers: 24, local_bytes: 0, blocks_per_multiprocessor: 4 };
        Ok((KernelId(self.programs.borrow().len() - 1), usage))
    }

    fn reset(&mut self) -> Result<(), Error> {
        self.calls.borrow_mut().push(Call::Reset);
        let launch = self.launch.as_ref().expect("prepared");
        let first = launch.buffers.iter().map(|(name, b)| (name.clone(), b.bytes.clone()));
        self.live = first.collect();
        Ok(())
    }

    fn launch(&mut self, kernel: KernelId) -> Result<(), Error> {
        self.calls.borrow_mut().push(Call::Launch(kernel.0));
        self.execute(kernel.0)
    }

    fn time(&mut self, kernel: KernelId, launches: u32, l2: L2) -> Result<f64, Error> {
        self.calls.borrow_mut().push(Call::Time(kernel.0, launches, l2));
        self.asked += 1;
        Ok((self.time)(kernel.0, self.asked))
    }

    fn read(&mut self, buffer: &str) -> Result<Vec<u8>, Error> {
        Ok(self.live[buffer].clone())
    }

    fn clock(&mut self) -> Option<Clock> {
        self.clock.clone()
    }
}

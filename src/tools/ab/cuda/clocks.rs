//! The clocks of a device, by NVIDIA's management library where it can be loaded.

use std::ffi::OsStr;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock as Domain;

use crate::ab::throttle::Clock;

/// The library's name where only the driver is installed.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// Reasons that hold clocks down and are not the user's choice, each with its words.
const REASONS: [(ThrottleReasons, &str); 5] = [
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "heat"),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, "heat"),
    (ThrottleReasons::SW_POWER_CAP, "power limit"),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
    (ThrottleReasons::HW_SLOWDOWN, "hardware"),
];

/// Reads the clocks of one device.
pub(super) struct Clocks {
    library: Nvml,
    address: String,
}

impl Clocks {
    /// The clocks of the device at this PCI address; `None` where there is no library, or the library
    /// does not know the device.
    pub(super) fn open(domain: u32, bus: u32, device: u32) -> Option<Clocks> {
        let library = Nvml::builder()
            .lib_path(OsStr::new(LIBRARY))
            .init()
            .or_else(|_| Nvml::init())
            .map_err(|error| log::info!("the clocks are not known: {error}"))
            .ok()?;
        let clocks = Clocks { library, address: format!("{domain:08x}:{bus:02x}:{device:02x}.0") };
        clocks.read().is_some().then_some(clocks)
    }

    /// The clocks right now.
    pub(super) fn read(&self) -> Option<Clock> {
        let device = self.library.device_by_pci_bus_id(self.address.as_str()).ok()?;
        let mhz = device.clock_info(Domain::SM).ok()?;
        let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::empty());
        let found = REASONS.iter().find(|(reason, _)| reasons.contains(*reason));
        Some(Clock { mhz, slowed: found.map(|(_, name)| (*name).to_owned()) })
    }
}

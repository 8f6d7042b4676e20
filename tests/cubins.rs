//! The resources read from cubins are those that the assembler printed about them.

use crate::common;
use common::assembler::Assembler;
use ptxasw::sass::cubin::{self, Cubin};
use regex::Regex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cubins")
}

/// Registers, stack and shared memory of a kernel.
type Printed = (u32, u32, u32);

/// What `ptxas -v` printed of each kernel. Of device functions it prints no registers.
fn printed(text: &str) -> BTreeMap<String, Printed> {
    let entry = Regex::new(r"Compiling entry function '([^']+)'").unwrap();
    let properties = Regex::new(r"Function properties for ([^ ]+)").unwrap();
    let frame = Regex::new(r"([0-9]+) bytes stack frame").unwrap();
    let used = Regex::new(r"Used ([0-9]+) registers").unwrap();
    let shared = Regex::new(r"([0-9]+) bytes smem").unwrap();
    let stack = Regex::new(r"([0-9]+) bytes cumulative stack").unwrap();
    let number = |pattern: &Regex, line: &str| -> Option<u32> {
        pattern.captures(line).map(|found| found[1].parse().unwrap())
    };
    let (mut kernel, mut function) = (String::new(), String::new());
    let mut found: BTreeMap<String, Printed> = BTreeMap::new();
    for line in text.lines() {
        if let Some(name) = entry.captures(line) {
            kernel = name[1].to_owned();
            found.insert(kernel.clone(), (0, 0, 0));
        } else if let Some(name) = properties.captures(line) {
            function = name[1].to_owned();
        } else if let Some(bytes) = number(&frame, line).filter(|_| function == kernel) {
            found.get_mut(&kernel).unwrap().1 = bytes;
        } else if let Some(registers) = number(&used, line) {
            let usage = found.get_mut(&kernel).unwrap();
            usage.0 = registers;
            usage.1 = usage.1.max(number(&stack, line).unwrap_or(0));
            usage.2 = number(&shared, line).unwrap_or(0);
        }
    }
    found
}

fn check(name: &str, cubin: &Cubin, text: &str) {
    let read: BTreeMap<String, Printed> = cubin
        .kernels
        .iter()
        .map(|(kernel, usage)| (kernel.clone(), (usage.registers, usage.stack, usage.shared)))
        .collect();
    assert_eq!(read, printed(text), "{name}");
}

/// `sm_80` of a file name.
fn architecture(name: &str) -> u32 {
    let digits = name.split("sm_").nth(1).unwrap();
    digits.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn kept_cubins_are_read_as_they_were_printed() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "cubin") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let cubin = cubin::read(&std::fs::read(&path).unwrap()).unwrap();
        let text = std::fs::read_to_string(path.with_extension("txt")).unwrap();
        assert_eq!(cubin.architecture, architecture(&name), "{name}");
        check(&name, &cubin, &text);
        assert_eq!(cubin.kernels.len(), 5, "{name}");
        assert_eq!(cubin.kernels["plain"].threads, None, "{name}");
        assert_eq!(cubin.kernels["shared"].threads, Some(192), "{name}");
        assert_eq!(cubin.kernels["shared"].shared, 768, "{name}");
        assert_eq!(cubin.kernels["local"].threads, Some(128), "{name}");
        assert!(cubin.kernels["many"].stack > 0, "{name}");
        count += 1;
    }
    assert!(count >= 10, "{count} cubins");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the real ptxas is asked to print")]
fn the_installed_assembler_prints_what_is_read() {
    let Some(assembler) = Assembler::find() else { return };
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let text = std::fs::read_to_string(folder().join("kernels.ptx")).unwrap();
    let input = place.path().join("kernels.ptx");
    let mut count = 0;
    for (target, version) in [
        (75, "6.3"),
        (80, "7.0"),
        (86, "7.1"),
        (89, "7.8"),
        (90, "7.8"),
        (100, "8.6"),
        (120, "8.7"),
    ] {
        std::fs::write(&input, text.replacen("6.3", version, 1)).unwrap();
        for more in [&[][..], &["-c"], &["-maxrregcount", "32"], &["-O0"], &["-lineinfo"]] {
            let output = std::process::Command::new(&assembler.ptxas)
                .args(["-v", &format!("-arch=sm_{target}"), "-o"])
                .args([&out, &input])
                .args(more)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // An assembler may be too old for a target.
            if output.status.success() {
                let cubin = cubin::read(&std::fs::read(&out).unwrap()).unwrap();
                assert_eq!(cubin.architecture, target);
                check(&format!("sm_{target} {more:?}"), &cubin, &said);
                count += 1;
            }
        }
    }
    assert!(count > 0, "nothing was assembled");
}

#[test]
fn damaged_cubins_are_no_panic() {
    let whole = std::fs::read(folder().join("cuda-12.9-sm_50.cubin")).unwrap();
    for end in 0..whole.len() {
        let _ = cubin::read(&whole[..end]);
    }
    let mut readable = 0;
    for at in 0..whole.len() {
        for change in [0xff, 0x80, 0x01] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            readable += usize::from(cubin::read(&bytes).is_ok());
        }
    }
    assert!(readable > whole.len(), "most bytes are code");
    assert!(cubin::read(b"").is_err() && cubin::read(b"object").is_err());
    let executable = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert!(cubin::read(&executable).map_or(true, |cubin| cubin.kernels.is_empty()));
}

/// Where the two places that hold the registers say different things, nothing is known.
#[test]
fn a_contradiction_is_not_known() {
    let mut bytes = std::fs::read(folder().join("cuda-12.9-sm_50.cubin")).unwrap();
    let plain = cubin::read(&bytes).unwrap().kernels["many"].registers;
    // 0x2f: format 4, 8 bytes, an index, the registers.
    let at = bytes.windows(4).position(|words| words == [4, 0x2f, 8, 0]).unwrap();
    bytes[at + 8] ^= 1;
    let damaged = cubin::read(&bytes).unwrap();
    assert_eq!(damaged.kernels.len(), 4, "{damaged:?}");
    assert!(plain > 0);
}

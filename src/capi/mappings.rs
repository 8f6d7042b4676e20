//! The memory that is mapped in this process, as `/proc/self/maps` lists it (proc_pid_maps(5)).

use std::ops::Range;

/// Memory that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Its addresses.
    pub addresses: Range<usize>,
    /// Whether it cannot be written.
    pub read_only: bool,
    /// The file behind it, or the kernel's word for it.
    pub name: String,
}

/// The mappings of a list in its order, which is ascending; without those of the operating system.
pub(crate) fn parse(list: &str) -> Vec<Mapping> {
    list.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    let access = words.next()?.as_bytes();
    let name = words.nth(3).unwrap_or("memory without a name");
    let of_system = ["[vvar", "[vdso", "[vsyscall"].iter().any(|start| name.starts_with(start));
    (access.first() == Some(&b'r') && !of_system).then_some(Mapping {
        addresses: address(start)?..address(end)?,
        read_only: access.get(1) != Some(&b'w'),
        name: name.to_owned(),
    })
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(readable_memory_is_found);

    fn readable_memory_is_found() {
        let list = "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/a b\n\
                    00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n\
                    7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n\
                    7f0000021000-7f0004000000 ---p 00000000 00:00 0 \n\
                    7fff2c5fe000-7fff2c600000 r--p 00000000 00:00 0   [vvar]\n";
        let found = parse(list);
        let shown: Vec<_> =
            found.iter().map(|m| (m.addresses.start, m.read_only, &*m.name)).collect();
        assert_eq!(
            shown,
            [
                (0x40_0000, true, "/usr/bin/a"),
                (0xe0_3000, false, "[heap]"),
                (0x7f00_0000_0000, false, "memory without a name"),
            ]
        );
        assert_eq!(found[0].addresses.end, 0x45_2000);
    }
}

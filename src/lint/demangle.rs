//! Names of functions as people write them: those of C++ and Rust are demangled, others stay.

/// Longer names are not demangled.
const LONGEST: usize = 4096;

/// A function's name in the source.
pub fn demangled(name: &str) -> String {
    if name.len() > LONGEST {
        return name.to_owned();
    }
    if let Ok(found) = rustc_demangle::try_demangle(name) {
        return format!("{found:#}");
    }
    if !name.starts_with("_Z") {
        return name.to_owned();
    }
    let symbol = cpp_demangle::Symbol::new(name.as_bytes());
    symbol.ok().and_then(|symbol| symbol.demangle().ok()).unwrap_or_else(|| name.to_owned())
}

#[cfg(feature = "unit-tests")]
mod tests {
    use super::*;

    crate::unit_tests!(names_of_three_languages);

    fn names_of_three_languages() {
        assert_eq!(demangled("_Z6rowsumPKfPfii"), "rowsum(float const*, float*, int, int)");
        assert_eq!(demangled("triton_poi_fused_0"), "triton_poi_fused_0");
        assert_eq!(demangled("_RNvC7mycrate3foo"), "mycrate::foo");
        assert_eq!(demangled("_Z"), "_Z");
        assert!(demangled(&"_Z".repeat(9000)).len() > 9000);
    }
}

//! Names of functions as people write them: those of C++ and Rust are demangled, others stay.

/// Longer names are not demangled.
const MAX_LENGTH: usize = 4096;

/// A function's name in the source.
pub fn demangled(name: &str) -> String {
    if name.len() > MAX_LENGTH {
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

/// Every way to write a function's name: as in PTX, demangled, and of the demangled one without parameters and result,
/// without template arguments, and without the namespaces around it.
pub fn spellings(name: &str) -> Vec<String> {
    let full = demangled(name);
    let mut found = vec![name.to_owned()];
    if full != name {
        let qualified = without_result(without_parameters(&full));
        let base = behind_namespaces(qualified);
        for name in [&full, qualified, without_arguments(qualified), base, without_arguments(base)]
        {
            found.push(name.to_owned());
        }
    }
    found.dedup();
    found
}

/// The places of a name that are not between brackets, with their characters.
fn outside(name: &str) -> impl DoubleEndedIterator<Item = (usize, char)> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, c) in name.char_indices() {
        if matches!(c, '>' | ')') {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            found.push((at, c));
        }
        if matches!(c, '<' | '(') {
            depth += 1;
        }
    }
    found.into_iter()
}

/// `void a::f<int>` of `void a::f<int>(int)`. (`(anonymous namespace)::f(int)` has an earlier bracket.)
fn without_parameters(name: &str) -> &str {
    let is_namespace = |at: usize| name[at..].starts_with("(anonymous namespace)");
    let end = outside(name).find(|&(at, c)| c == '(' && !is_namespace(at));
    end.map_or(name, |(at, _)| &name[..at])
}

/// `a::f<int>` of `void a::f<int>`.
fn without_result(name: &str) -> &str {
    outside(name).rfind(|&(_, c)| c == ' ').map_or(name, |(at, _)| &name[at + 1..])
}

/// `f<int>` of `a::f<int>`.
fn behind_namespaces(name: &str) -> &str {
    outside(name).rfind(|&(_, c)| c == ':').map_or(name, |(at, _)| &name[at + 1..])
}

/// `a::f` of `a::f<int>`.
fn without_arguments(name: &str) -> &str {
    match name.strip_suffix('>') {
        Some(_) => outside(name).rfind(|&(_, c)| c == '<').map_or(name, |(at, _)| &name[..at]),
        None => name,
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(names_of_three_languages, every_way_to_write_a_name);

    fn names_of_three_languages() {
        assert_eq!(demangled("_Z6rowsumPKfPfii"), "rowsum(float const*, float*, int, int)");
        assert_eq!(demangled("triton_poi_fused_0"), "triton_poi_fused_0");
        assert_eq!(demangled("_RNvC7mycrate3foo"), "mycrate::foo");
        assert_eq!(demangled("_Z"), "_Z");
        assert!(demangled(&"_Z".repeat(9000)).len() > 9000);
    }

    fn every_way_to_write_a_name() {
        assert_eq!(spellings("add"), ["add"]);
        // void a::f<int, 2>(int)
        let found = spellings("_ZN1a1fIiLi2EEEvi");
        assert_eq!(found[2..], ["a::f<int, 2>", "a::f", "f<int, 2>", "f"], "{found:?}");
        let found = spellings("_ZN12_GLOBAL__N_11fEi");
        assert!(found.contains(&"f".to_owned()), "{found:?}");
        assert!(spellings("_Z7jacobi5PKfPfii").contains(&"jacobi5".to_owned()));
    }
}

//! Names of rules, as the sources have them.

/// The files with the reasons to leave something unchanged.
pub const REASONS: [&str; 2] =
    ["src/analysis/reuse/refusal.rs", "src/analysis/collective/obstacle.rs"];

/// The rules of a file: of each enum with such names, those of its variants in words, or the texts in their place.
pub fn of(text: &str) -> Vec<String> {
    let name = |variant: &syn::Variant| {
        let mut name = String::new();
        for letter in variant.ident.to_string().chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        }
        for attribute in variant.attrs.iter().filter(|one| one.path().is_ident("strum")) {
            let read = attribute.parse_nested_meta(|meta| {
                name = meta.value()?.parse::<syn::LitStr>()?.value();
                Ok(())
            });
            read.expect("`serialize` alone");
        }
        name
    };
    let has_names =
        |one: &syn::ItemEnum| one.attrs.iter().any(|attribute| attribute.path().is_ident("strum"));
    let items = syn::parse_file(text).expect("it is Rust").items.into_iter();
    let enums = items.filter_map(|item| match item {
        syn::Item::Enum(one) if has_names(&one) => Some(one),
        _ => None,
    });
    enums.flat_map(|one| one.variants.iter().map(name).collect::<Vec<_>>()).collect()
}

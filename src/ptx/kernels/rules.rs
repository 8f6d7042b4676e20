//! Lists of rules that switch kernels on and off by their names: `-march7,+jacobi*`.
//!
//! A rule is `+` or `-` and a pattern. The last rule that matches a kernel decides. A kernel that no rule matches is
//! switched off if the list begins with `+`, and stays on otherwise.

use std::fmt;
use std::str::FromStr;

use super::demangle::spellings;
use super::pattern::matches;

/// A list of rules. The empty list leaves every kernel on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    on: bool,
    pattern: String,
}

impl Rules {
    /// Why a kernel of this name in the PTX is switched off, if it is: the rule, as it was written.
    pub fn off(&self, name: &str) -> Option<String> {
        if self.rules.is_empty() {
            return None;
        }
        let names = spellings(name);
        let is_meant = |rule: &&Rule| names.iter().any(|name| matches(&rule.pattern, name));
        match self.rules.iter().rev().find(is_meant) {
            Some(Rule { on: true, .. }) => None,
            Some(rule) => Some(format!("switched off by `{rule}`")),
            None => self.rules[0].on.then(|| format!("switched off: no name in `{self}` matches")),
        }
    }

    /// The rules whose pattern matches none of these names in the PTX, as they were written.
    pub fn unused(&self, names: &[&str]) -> Vec<String> {
        let names: Vec<String> = names.iter().flat_map(|name| spellings(name)).collect();
        let is_used = |rule: &Rule| names.iter().any(|name| matches(&rule.pattern, name));
        self.rules.iter().filter(|rule| !is_used(rule)).map(Rule::to_string).collect()
    }
}

impl FromStr for Rules {
    type Err = String;

    fn from_str(text: &str) -> Result<Rules, String> {
        let rules = split(text).into_iter().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Rules { rules })
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Rule, String> {
        let (on, pattern) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(pattern), _) => (true, pattern),
            (None, Some(pattern)) => (false, pattern),
            (None, None) => {
                return Err(format!("`{text}` has to begin with `+` (on) or `-` (off)"));
            }
        };
        match pattern.trim() {
            "" => Err(format!("`{text}` has no name behind its sign")),
            pattern => Ok(Rule { on, pattern: pattern.to_owned() }),
        }
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<String> = self.rules.iter().map(Rule::to_string).collect();
        f.write_str(&rules.join(","))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.on { '+' } else { '-' }, self.pattern)
    }
}

/// The parts of a list between commas; commas between brackets belong to a name such as `f<int, 2>(int, int)`.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        the_last_rule_that_matches_decides,
        a_list_that_begins_with_plus_names_all_that_are_on,
        names_of_the_source_are_meant_too,
        wrong_lists_are_refused
    );

    fn on(list: &str, name: &str) -> bool {
        list.parse::<Rules>().expect(list).off(name).is_none()
    }

    fn the_last_rule_that_matches_decides() {
        assert!(on("", "march7"));
        assert!(!on("-march7", "march7") && on("-march7", "march77"));
        assert!(!on("-march7,+jacobi*", "march7") && on("-march7,+jacobi*", "other"));
        assert!(on("-*, +jacobi*", "jacobi5") && !on("-*,+jacobi*", "march7"));
        assert!(!on("+jacobi*,-jacobi5", "jacobi5") && on("+jacobi*,-jacobi5", "jacobi9"));
        let rules: Rules = "-march7,+jacobi*".parse().expect("a list");
        assert_eq!(rules.off("march7").as_deref(), Some("switched off by `-march7`"));
        assert_eq!(rules.unused(&["march7"]), ["+jacobi*"]);
    }

    fn a_list_that_begins_with_plus_names_all_that_are_on() {
        assert!(on("+jacobi*", "jacobi5") && !on("+jacobi*", "march7"));
        assert!(!on("+a,-b", "c") && on("-b,+a", "c"));
    }

    fn names_of_the_source_are_meant_too() {
        let name = "_Z7jacobi5PKfPfii";
        for list in ["-jacobi5", "-_Z7jacobi*", "-jacobi5(float const*, float*, int, int)"] {
            assert!(!on(list, name), "{list}");
        }
        // void a::f<int, 2>(int)
        let name = "_ZN1a1fIiLi2EEEvi";
        for list in ["-f", "-a::f", "-a::f<int, 2>", "-f<int, *>", "-void a::f<int, 2>(int)"] {
            assert!(!on(list, name), "{list}: {:?}", spellings(name));
        }
        assert!(on("-f<float, 2>,-g", name));
    }

    fn wrong_lists_are_refused() {
        assert!("march7".parse::<Rules>().is_err_and(|why| why.contains("`march7`")));
        assert!("+".parse::<Rules>().is_err() && "-a,b".parse::<Rules>().is_err());
        assert_eq!(
            " -a , ,+f<int, 2> ,".parse::<Rules>().map(|rules| rules.to_string()),
            Ok("-a,+f<int, 2>".to_owned())
        );
    }
}

//! The PTX in what `cuobjdump --dump-ptx` prints.
//!
//! In: its output. Out: one text for each PTX in it, in which the other lines are empty, so that lines keep their numbers.

/// How a line begins that names the code below.
const HEADS: [(&str, bool); 3] =
    [("Fatbin ptx code:", true), ("Fatbin elf code:", false), ("Fatbin code:", false)];

/// The texts; none if this is not such output.
pub(super) fn texts(printed: &str) -> Vec<String> {
    let is_head = |line: &str| HEADS.iter().find(|(head, _)| line.trim_end() == *head);
    let first = printed.lines().find(|line| !line.trim().is_empty());
    if first.and_then(is_head).is_none() {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    let (mut in_ptx, mut in_header) = (false, false);
    for (above, line) in printed.lines().enumerate() {
        if let Some(&(_, is_ptx)) = is_head(line) {
            (in_ptx, in_header) = (is_ptx, true);
            if is_ptx {
                found.push("\n".repeat(above));
            }
        } else if in_header && (line.starts_with('.') || line.starts_with("//")) {
            in_header = false;
        }
        if let (Some(text), true) = (found.last_mut(), in_ptx) {
            if !in_header {
                text.push_str(line);
            }
            text.push('\n');
        }
    }
    found
}

//! What the targets of cargo-fuzz found once, through the same functions.

use super::{bytes, files};

#[test]
fn bytes_that_were_found_do_no_harm() {
    let folder = files::folder("bytes");
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder of finds")
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let content = std::fs::read(&path).expect("a readable find");
        println!("{}", path.display());
        bytes::parser(&content);
        bytes::pipeline(&content);
        bytes::interpreter(&content);
    }
}

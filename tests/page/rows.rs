//! Rows of loads and the lines that they touch.

use std::collections::BTreeMap;

use ptxasw::page::input::Access;
use ptxasw::page::rows::rows;
use ptxasw::report::{Decision, LoadReport};
use ptxasw::select::StrategyName;

fn load(line: u32, bytes: u32, shuffle: Option<(u32, i32)>) -> LoadReport {
    LoadReport {
        bytes,
        decision: if shuffle.is_some() {
            Decision::By(StrategyName::Paper)
        } else {
            Decision::Keep
        },
        source_line: shuffle.map(|(source, _)| source),
        delta: shuffle.map(|(_, delta)| delta),
        ..LoadReport::new(line, format!("%f{line}"))
    }
}

fn access(line: u32, stride: i64) -> Access {
    let (kind, address) = ("load".to_owned(), None);
    Access { line, kind, address, lane_stride: Some(stride) }
}

#[test]
fn a_row_is_a_source_and_whom_it_serves() {
    let loads = [
        load(10, 4, None),
        load(11, 4, Some((10, -2))),
        load(12, 4, None),
        load(13, 4, Some((10, 1))),
        load(14, 4, None),
        load(15, 4, Some((14, 0))),
    ];
    let trace = access(10, 4);
    let found = rows(&loads, &BTreeMap::from([(10, &trace)]));
    assert_eq!(found.len(), 2);
    let row = &found[0];
    let offsets: Vec<(u32, i64)> = row.loads.iter().map(|l| (l.load.line, l.offset)).collect();
    assert_eq!(offsets, [(10, 0), (11, -8), (13, 4)]);
    assert!(row.stride_known && !found[1].stride_known);
    assert_eq!((row.lowest(), row.end()), (-8, 4 + 128));
    assert_eq!(row.lanes_that_load(&row.loads[0]).len(), 32);
    assert_eq!(row.lanes_that_load(&row.loads[1]), [0, 1]);
    assert_eq!(row.lanes_that_load(&row.loads[2]), [31]);
    assert!(found[1].lanes_that_load(&found[1].loads[1]).is_empty());
}

#[test]
fn lines_are_counted_by_bytes() {
    let of = |bytes: u32, stride: i64, phase: i64| {
        let loads = [load(1, bytes, None), load(2, bytes, Some((1, 0)))];
        let trace = access(1, stride);
        let found = rows(&loads, &BTreeMap::from([(1, &trace)]));
        let all: Vec<i32> = (0..32).collect();
        found[0].lines(&found[0].loads[0], &all, phase).len()
    };
    assert_eq!(of(4, 4, 0), 1);
    assert_eq!(of(4, 4, 4), 2);
    assert_eq!(of(4, -4, 124), 1);
    assert_eq!(of(8, 8, 0), 2);
    assert_eq!(of(8, 8, 8), 3);
    assert_eq!(of(4, 0, 64), 1);
    assert_eq!(of(4, 1024, 0), 32);
    // One element across the boundary of a line.
    assert_eq!(of(8, 0, 124), 2);
}

#[test]
fn the_mean_is_over_all_places_in_a_line() {
    let loads = [load(1, 4, None), load(2, 4, Some((1, 3)))];
    let found = rows(&loads, &BTreeMap::new());
    // One place of 32 begins a line.
    assert_eq!(found[0].mean_lines(&found[0].loads[1]), (31.0 * 2.0 + 1.0) / 32.0);
}

#[test]
fn numbers_that_make_no_sense_do_no_harm() {
    let loads = [
        load(1, u32::MAX, None),
        load(2, 0, Some((1, i32::MIN))),
        load(3, 4, Some((1, i32::MAX))),
        load(4, 4, Some((99, 1))),
    ];
    let trace = access(1, i64::MIN);
    let found = rows(&loads, &BTreeMap::from([(1, &trace)]));
    assert_eq!(found.len(), 1);
    let row = &found[0];
    assert!(row.lowest() < row.end() && !row.stride_known);
    assert_eq!(row.lanes_that_load(&row.loads[1]).len(), 32);
    assert!(row.mean_lines(&row.loads[0]) >= 1.0);
}

//! Where lanes meet again is a choice: what depends on it shows, what does not stays the same.

use std::collections::BTreeSet;

use super::bed::{Bed, path};
use ptxasw::interp::{self, Fault, FaultKind, Outcome};
use ptxasw::launch::{Launch, Meet};
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;

const FOLDER: &str = "tests/interp/meet";
/// Seeds that every kernel of the folder is run with.
const SEEDS: u64 = 64;
/// Instructions of a launch. Nothing in the folder needs as many, however its lanes are split.
const LIMIT: u64 = 1 << 18;

fn choices() -> impl Iterator<Item = Meet> {
    [Meet::Assembler, Meet::Never].into_iter().chain((0..SEEDS).map(Meet::Random))
}

fn run(text: &str, launch: &str, meet: Meet) -> Result<Outcome, Fault> {
    let source = SourceFile::new("meet.ptx", text);
    let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
    let launch = Launch::from_json(launch).unwrap_or_else(|error| panic!("{error}"));
    interp::run(&module, &Launch { meet, limit: LIMIT, ..launch })
}

/// Names of the kernels in the folder.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(path(FOLDER)).expect("a readable folder");
    let names = entries.filter_map(|entry| {
        let name = entry.expect("a readable entry").file_name().into_string().expect("a name");
        name.strip_suffix(".json").map(str::to_owned)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn read(name: &str) -> Option<String> {
    std::fs::read_to_string(path(FOLDER).join(name)).ok()
}

#[test]
fn right_kernels_do_not_depend_on_the_choice() {
    let names = names();
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        let text = read(&format!("{name}.ptx")).expect("the kernel of a launch");
        let launch = read(&format!("{name}.json")).expect("a readable launch");
        let run = |meet| run(&text, &launch, meet).unwrap_or_else(|f| panic!("{name} {meet}: {f}"));
        let expected = run(Meet::Assembler).buffers;
        for meet in choices() {
            assert!(run(meet).buffers == expected, "{name} computes something else under {meet}");
        }
    }
}

#[test]
fn wrong_rewrites_show_under_some_choice() {
    let mut tried = 0;
    for name in names() {
        let Some(wrong) = read(&format!("{name}.bad.ptx")) else { continue };
        let right = read(&format!("{name}.ptx")).expect("the original of a rewrite");
        let launch = read(&format!("{name}.json")).expect("a readable launch");
        let expected = run(&right, &launch, Meet::Assembler).expect("the original runs").buffers;
        let shows =
            |&meet: &Meet| run(&wrong, &launch, meet).map_or(true, |o| o.buffers != expected);
        let shown: Vec<Meet> = choices().filter(shows).collect();
        println!("{name}: {} of {}", shown.len(), SEEDS + 2);
        assert!(!shown.is_empty(), "{name}: nothing shows");
        // A seed must do: whoever draws some finds it sooner or later.
        assert!(shown.iter().any(|meet| matches!(meet, Meet::Random(_))), "{name}: {shown:?}");
        tried += 1;
    }
    assert!(tried >= 6, "{tried}");
}

/// The masks that a body stores, one for each choice.
fn masks(body: &str) -> Vec<(Meet, Vec<u32>)> {
    let run = |meet| Bed::body(body).buffer("p", &[7_u32; 32]).meet(meet).good().get("p");
    choices().map(|meet| (meet, run(meet))).collect()
}

#[test]
fn lanes_meet_behind_a_branch_or_later_or_never() {
    let body = "setp.lt.u32 %p1, %r0, 12; @%p1 bra L; add.u32 %r2, %r0, 1; L: activemask.b32 %r1;
        st.global.u32 [%rd1], %r1; ret;";
    let parts: Vec<u32> = (0..32).map(|lane| if lane < 12 { 0xfff } else { !0xfff }).collect();
    let found = masks(body);
    assert_eq!(found[0], (Meet::Assembler, vec![!0; 32]));
    assert_eq!(found[1], (Meet::Never, parts.clone()));
    let all: BTreeSet<Vec<u32>> = found.into_iter().map(|(_, masks)| masks).collect();
    assert_eq!(all, BTreeSet::from([vec![!0; 32], parts]));
}

#[test]
fn lanes_return_together_or_alone() {
    let text = "
        .version 8.0\n.target sm_80\n.address_size 64
        .func (.reg .b32 %o) twice(.reg .b32 %i) {
            .reg .pred %q;
            mov.u32 %o, 0; setp.lt.u32 %q, %i, 9; @%q ret; shl.b32 %o, %i, 1; ret;
        }
        .visible .entry k(.param .u64 p) {
            .reg .b32 %r<4>; .reg .b64 %rd<3>;
            ld.param.u64 %rd1, [p]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd2, %r0, 4, %rd1;
            call (%r1), twice, (%r0);
            activemask.b32 %r2; st.global.u32 [%rd2], %r2; st.global.u32 [%rd2+128], %r1;
            ret;
        }";
    let run = |meet| {
        let bed = Bed::text("call.ptx", text, "k").buffer("p", &[0_u32; 64]).meet(meet);
        bed.good().get::<u32>("p")
    };
    assert_eq!(run(Meet::Assembler)[..32], [!0; 32]);
    assert_eq!(run(Meet::Never)[8..10], [0x1ff, !0x1ff]);
    for meet in choices() {
        let doubled: Vec<u32> = (9..32).map(|lane| 2 * lane).collect();
        assert_eq!(run(meet)[41..], doubled, "{meet}");
    }
}

#[test]
fn a_choice_is_the_same_every_time() {
    let body = "mov.u32 %r1, 0; mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; and.b32 %r3, %r2, %r0;
        setp.eq.u32 %p1, %r3, 0; @%p1 bra M; activemask.b32 %r4; mad.lo.u32 %r1, %r1, 31, %r4;
        M: setp.lt.u32 %p2, %r2, 20; @%p2 bra L; st.global.u32 [%rd1], %r1; ret;";
    assert_eq!(masks(body), masks(body));
    let different: BTreeSet<Vec<u32>> = masks(body).into_iter().map(|(_, masks)| masks).collect();
    assert!(different.len() > 10, "{}", different.len());
}

#[test]
fn the_launch_file_may_choose() {
    let of = |meet: &str| {
        let text = format!(r#"{{"grid": [1], "block": [1], "meet": {meet}}}"#);
        Launch::from_json(&text).map(|launch| launch.meet)
    };
    assert_eq!(of(r#""never""#), Ok(Meet::Never));
    assert_eq!(of(r#""assembler""#), Ok(Meet::Assembler));
    assert_eq!(of(r#""7""#), Ok(Meet::Random(7)));
    assert_eq!(of("18446744073709551615"), Ok(Meet::Random(u64::MAX)));
    assert!(of("-1").is_err_and(|message| message.contains("`-1` is neither")));
    assert_eq!(
        Launch::from_json(r#"{"grid": [1], "block": [1]}"#).map(|l| l.meet),
        Ok(Meet::Assembler)
    );
}

#[test]
fn lanes_that_have_waited_for_each_other_run_together() {
    for wait in ["bar.warp.sync -1;", "bar.sync 0;", "vote.sync.any.pred %p2, %p1, -1;"] {
        // Two branches; the inner one has its meeting point behind the instruction.
        let body = format!(
            "setp.lt.u32 %p1, %r0, 12; @%p1 bra L; add.u32 %r2, %r0, 1; setp.lt.u32 %p3, %r0, 20;
             @%p3 bra L; add.u32 %r2, %r0, 1;
             L: {wait} activemask.b32 %r1; st.global.u32 [%rd1], %r1; ret;"
        );
        let found = masks(&body);
        assert_eq!(found[0].1, [!0; 32], "{wait}");
        assert_eq!(found[1].1, [!0; 32], "{wait}");
        let apart = found.iter().filter(|(_, masks)| masks[0] != !0).count();
        assert!(apart > 0 && 2 * apart < found.len(), "{wait}: {apart}");
    }
}

#[test]
fn lanes_wait_for_their_own_members_alone() {
    // The halves of each part meet, not the parts.
    let body = "setp.lt.u32 %p1, %r0, 16; mov.u32 %r2, 0xffff; @%p1 bra L; mov.u32 %r2, 0xffff0000;
        setp.lt.u32 %p1, %r0, 24; @%p1 bra L; add.u32 %r3, %r3, 1;
        L: bar.warp.sync %r2; activemask.b32 %r1; st.global.u32 [%rd1], %r1; ret;";
    let halves: Vec<u32> = (0..32).map(|lane| if lane < 16 { 0xffff } else { !0xffff }).collect();
    assert_eq!(masks(body)[1].1, halves);
    // Lane 0 waits for lane 31, which waits behind the branch for nobody.
    let body = "setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 31;
        @%p1 bar.warp.sync 0x80000001; st.global.u32 [%rd1], %r0; @%p2 bar.warp.sync 0x80000001; ret;";
    let expected: Vec<u32> = (0..32).collect();
    for (meet, found) in masks(body) {
        assert_eq!(found, expected, "{meet}");
    }
}

#[test]
fn what_needs_the_whole_warp_gathers_it() {
    let body = "setp.lt.u32 %p1, %r0, 12; @%p1 bra L; add.u32 %r2, %r0, 1;
        L: movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0; st.global.u32 [%rd1], %r1; ret;";
    let found = masks(body);
    assert!(found.iter().all(|(_, values)| *values == found[0].1), "{found:?}");
    // Lanes that do not come cannot be gathered.
    let body = "setp.lt.u32 %p1, %r0, 12; @%p1 bra L;
        movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0; L: bar.sync 0; ret;";
    for meet in choices() {
        let (fault, shown) = Bed::body(body).buffer("p", &[7_u32; 32]).meet(meet).fault();
        assert_eq!(fault.kind, FaultKind::Undefined, "{meet}");
        assert!(
            shown.contains("all 32 lanes must execute this together; the lanes 0xfffff000 are")
        );
    }
}

#[test]
fn incomplete_warps_count_as_whole_at_a_barrier() {
    let body = "setp.lt.u32 %p1, %r0, 12; @%p1 bra L; add.u32 %r2, %r0, 1;
        L: bar.sync 1, 64; st.global.u32 [%rd1], %r0; ret;";
    for meet in choices() {
        let bed = Bed::body(body).block([40, 1, 1]).buffer("p", &[7_u32; 40]).meet(meet);
        assert_eq!(bed.good().get::<u32>("p"), (0..40).collect::<Vec<u32>>(), "{meet}");
    }
}

//! Launches abreast leave what each would leave by itself; where they may part, they do not go.

use std::collections::BTreeMap;

use ptxasw::interp::{self, Columns, Kernel, Outcome, Room};
use ptxasw::launch::{Argument, Buffer, DEFAULT_LIMIT, Launch, Meet, Type};
use ptxasw::ptx::{self, Depth, Module};
use ptxasw::source::SourceFile;

/// Launches that go abreast, in sheets of 32.
const LAUNCHES: usize = 64;
/// Words of the buffer that is read.
const WORDS: usize = 512;

/// A kernel of one body, which reads `%in`, writes `%out`, and is given `%g`; all in 32-bit steps of the thread's number.
fn text(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u32 g, .param .u64 out) {{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f64 %fd<9>;\n\
         .reg .b32 %tid, %lane, %n, %g; .reg .b64 %in, %out;\n\
         .shared .align 16 .b8 room[8192];\n\
         ld.param.u64 %in, [in]; ld.param.u32 %g, [g]; ld.param.u64 %out, [out];\n\
         mov.u32 %tid, %tid.x; mov.u32 %n, %ntid.x; and.b32 %lane, %tid, 31;\n\
         mad.wide.u32 %rd1, %tid, 8, %in; mad.wide.u32 %rd2, %tid, 8, %out;\n\
         {body}\n\
         ret;\n}}\n"
    )
}

fn launches(threads: u32, meet: Meet, words: impl Fn(usize, usize) -> u32) -> Vec<Launch> {
    let one = |launch| {
        let bytes = (0..WORDS).flat_map(|word| words(launch, word).to_le_bytes()).collect();
        let input = Buffer { ty: Type::U32, bytes };
        let output = Buffer { ty: Type::U8, bytes: vec![0xa5; 8 * threads as usize + 3] };
        let pointer = |name: &str| Argument::Pointer { buffer: name.to_owned(), offset: 0 };
        let given = Argument::Value((7 * launch as u32).to_le_bytes().to_vec());
        Launch {
            kernel: Some("k".to_owned()),
            grid: [1; 3],
            block: [threads, 1, 1],
            dynamic_shared: 0,
            buffers: BTreeMap::from([("in".to_owned(), input), ("out".to_owned(), output)]),
            args: vec![pointer("in"), given, pointer("out")],
            limit: DEFAULT_LIMIT,
            races: true,
            uninitialized: false,
            meet,
        }
    };
    (0..LAUNCHES).map(one).collect()
}

/// What 32 launches hold.
fn columns(launches: &[Launch]) -> Columns {
    let mut columns = Columns::default();
    for name in launches[0].buffers.keys() {
        let words = |launch: &Launch, at: usize| {
            let bytes = &launch.buffers[name].bytes;
            let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
            u32::from_le_bytes([0, 1, 2, 3].map(|skip| byte(4 * at + skip)))
        };
        let count = launches[0].buffers[name].bytes.len().div_ceil(4);
        let row = |at| std::array::from_fn(|launch| words(&launches[launch], at));
        columns.buffers.insert(name.clone(), (0..count).map(row).collect());
    }
    let given = launches.iter().map(|launch| match &launch.args[1] {
        Argument::Value(bytes) => bytes.clone(),
        other => panic!("{other:?}"),
    });
    columns.args.insert(1, given.collect());
    columns
}

/// The buffers of each launch, if they can go abreast.
fn abreast(module: &Module<'_>, launches: &[Launch], rooms: &mut [Room]) -> Option<Vec<Outcome>> {
    let kernel = Kernel::new(module, &launches[0], false).expect("it is modelled");
    let plan = kernel.plan(&[1])?;
    let mut columns: Vec<Columns> = launches.chunks(32).map(columns).collect();
    let counters = kernel.run_abreast(&plan, &launches[0], &mut columns, rooms)?;
    let outcome = |launch: usize| {
        let buffers = launches[0].buffers.iter().map(|(name, buffer)| {
            let rows = &columns[launch / 32].buffers[name];
            let mut bytes: Vec<u8> =
                rows.iter().flat_map(|r| r[launch % 32].to_le_bytes()).collect();
            bytes.truncate(buffer.bytes.len());
            (name.clone(), Buffer { ty: buffer.ty, bytes })
        });
        let (kernel, printed) = ("k".to_owned(), String::new());
        Outcome {
            kernel,
            buffers: buffers.collect(),
            counters,
            printed,
            undetermined: BTreeMap::new(),
        }
    };
    Some((0..LAUNCHES).map(outcome).collect())
}

fn random(launch: usize, word: usize) -> u32 {
    let bits = (launch * WORDS + word + 1) as u64;
    let bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((bits ^ bits >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

/// Bodies none of whose ways, addresses and guards depend on what is read.
const STEADY: [(&str, &str); 9] = [
    (
        "narrow elements with and without sign",
        "ld.global.s8 %r1, [%rd1+1]; ld.global.u8 %r2, [%rd1+2]; ld.global.s16 %r3, [%rd1+4];
         ld.global.u16 %h1, [%rd1+6]; cvt.u32.u16 %r4, %h1; ld.global.s32 %rd3, [%rd1];
         xor.b32 %r1, %r1, %r2; xor.b32 %r1, %r1, %r3; xor.b32 %r1, %r1, %r4;
         st.global.u16 [%rd2], %h1; st.global.u8 [%rd2+3], %r1; st.global.u32 [%rd2+4], %r1;
         cvt.u32.u64 %r5, %rd3; st.global.u8 [%rd2+2], %r5;",
    ),
    (
        "wide elements and vectors",
        "ld.global.u64 %rd3, [%rd1]; ld.global.v2.u32 {%r1, %r2}, [%rd1];
         mul.lo.u64 %rd4, %rd3, 3; mov.b64 {%r3, %r4}, %rd4; add.u32 %r3, %r3, %g;
         mad.lo.u32 %r5, %r1, %r2, %r4; st.global.v2.u32 [%rd2], {%r3, %r5};",
    ),
    (
        "comparisons and choices",
        "ld.global.s32 %r1, [%rd1]; ld.global.s32 %r2, [%rd1+4]; setp.lt.s32 %p1, %r1, %r2;
         setp.gt.s32 %p2|%p3, %r1, 0; and.pred %p4, %p1, %p2; not.pred %p5, %p4;
         selp.b32 %r3, %r1, %r2, %p1; selp.b32 %r4, 1, %tid, %p5; selp.b32 %r5, %r4, 7, %p3;
         st.global.u32 [%rd2], %r3; st.global.u32 [%rd2+4], %r5;",
    ),
    (
        "a loop with its own number of turns in each thread",
        "ld.global.u32 %r1, [%rd1]; mov.u32 %r2, %tid;
         TURN: setp.eq.u32 %p1, %r2, 0; @%p1 bra DONE;
         mad.lo.u32 %r1, %r1, %g, %r2; xor.b32 %r1, %r1, %tid; sub.u32 %r2, %r2, 1; bra TURN;
         DONE: st.global.u32 [%rd2], %r1;",
    ),
    (
        "shared memory and barriers",
        "ld.global.u64 %rd3, [%rd1]; mov.u32 %r1, room; mad.lo.u32 %r2, %tid, 8, %r1;
         st.shared.u64 [%r2], %rd3; bar.sync 0; sub.u32 %r3, %n, 1; sub.u32 %r3, %r3, %tid;
         mad.lo.u32 %r4, %r3, 8, %r1; ld.shared.u64 %rd4, [%r4]; bar.sync 0;
         setp.eq.u32 %p1, %tid, 0; @%p1 st.shared.v2.u32 [%r1], {%g, %r3}; bar.sync 0;
         ld.shared.u64 %rd5, [%r1]; xor.b64 %rd4, %rd4, %rd5; st.global.u64 [%rd2], %rd4;",
    ),
    (
        "shuffles, from lanes that take no part as well",
        "ld.global.u32 %r1, [%rd1]; shfl.sync.up.b32 %r2, %r1, 3, 0, -1;
         shfl.sync.bfly.b32 %r3, %r2, 5, 31, -1; setp.lt.u32 %p1, %lane, 7; @%p1 bra FEW;
         shfl.sync.down.b32 %r4, %r3, 9, 31, 0xffffff80; bra BOTH;
         FEW: shfl.sync.idx.b32 %r4, %r3, %r5, 31, 0x7f; BOTH: bar.warp.sync -1;
         add.u32 %r6, %r4, %r2; st.global.v2.u32 [%rd2], {%r6, %r4};",
    ),
    (
        "registers that nobody has written, and such that differ only now and then",
        "setp.lt.u32 %p1, %lane, 9; @%p1 ld.global.u32 %r1, [%rd1]; add.u32 %r2, %r1, %r9;
         mov.u32 %r3, 5; setp.eq.u32 %p2, %n, 1; @%p2 bra ONE; ld.global.u32 %r3, [%rd1+4];
         ONE: mov.u32 %r4, %laneid; @%p1 mov.u32 %r4, %r3; xor.b32 %r5, %r4, %r3;
         @!%p1 ld.param.u32 %r4, [g]; add.u32 %r5, %r5, %r4; st.global.v2.u32 [%rd2], {%r2, %r5};",
    ),
    (
        "floating point",
        "ld.global.u32 %r1, [%rd1]; cvt.rn.f64.u32 %fd1, %r1; cvt.rn.f64.s32 %fd2, %g;
         fma.rn.f64 %fd3, %fd1, %fd2, 0d3FF8000000000000; max.f64 %fd4, %fd3, %fd1;
         st.global.f64 [%rd2], %fd4;",
    ),
    (
        "votes and clocks that are the same everywhere",
        "ld.global.u32 %r1, [%rd1]; setp.lt.u32 %p1, %tid, 3; vote.sync.ballot.b32 %r2, %p1, -1;
         activemask.b32 %r3; mov.u32 %r4, %clock; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
         st.global.v2.u32 [%rd2], {%r1, %r4};",
    ),
];

#[test]
fn they_leave_what_each_leaves_by_itself() {
    let mut rooms = [Room::default(), Room::default()];
    let meets = [Meet::Assembler, Meet::Never, Meet::Random(1), Meet::Random(2), Meet::Random(3)];
    for (name, body) in STEADY {
        let source = SourceFile::new("abreast.ptx", text(body));
        let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
        for (threads, meet) in
            [1, 5, 32, 33, 64, 90].into_iter().flat_map(|t| meets.map(|m| (t, m)))
        {
            let launches = launches(threads, meet, random);
            let together = abreast(&module, &launches, &mut rooms)
                .unwrap_or_else(|| panic!("{name}, {threads} threads, {meet}: they do not go"));
            for (launch, found) in launches.iter().zip(together) {
                let expected = interp::run(&module, launch).expect("no fault");
                assert!(found.buffers == expected.buffers, "{name}, {threads} threads, {meet}");
                assert_eq!(found.counters, expected.counters, "{name}, {threads} threads, {meet}");
            }
        }
    }
}

#[test]
fn they_do_not_go_where_they_may_part() {
    for (name, body) in [
        ("a way", "ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra END; END:"),
        ("a guard", "setp.eq.u32 %p1, %g, 0; @%p1 st.global.u32 [%rd2], %g;"),
        (
            "an address",
            "ld.global.u8 %r1, [%rd1]; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd3, %in;
             ld.global.u8 %r2, [%rd3]; st.global.u8 [%rd2], %r2;",
        ),
        (
            "an address by way of shared memory",
            "mov.u32 %r1, room; ld.global.u32 %r2, [%rd1]; st.shared.u32 [%r1], %r2; bar.sync 0;
             ld.shared.u32 %r3, [%r1]; and.b32 %r3, %r3, 4; add.u32 %r3, %r3, %r1;
             ld.shared.u32 %r4, [%r3]; st.global.u32 [%rd2], %r4;",
        ),
        (
            "a lane that is read",
            "ld.global.u32 %r1, [%rd1]; shfl.sync.idx.b32 %r2, %tid, %r1, 31, -1;
             st.global.u32 [%rd2], %r2;",
        ),
        (
            "a vote",
            "ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0;
             vote.sync.ballot.b32 %r2, %p1, -1; st.global.u32 [%rd2], %r2;",
        ),
        ("an atomic", "atom.global.add.u32 %r1, [%out], %g;"),
    ] {
        let source = SourceFile::new("abreast.ptx", text(body));
        let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
        let launch = &launches(32, Meet::Assembler, random)[0];
        let kernel = Kernel::new(&module, launch, false).expect("it is modelled");
        assert!(kernel.plan(&[1]).is_none(), "{name} differs");
    }
}

/// What is at fault in one of them only is not hidden by the one in front.
#[test]
fn faults_are_left_to_each_of_them() {
    let mut rooms = [Room::default(), Room::default()];
    let race = "ld.global.u32 %r1, [%rd1]; mov.u32 %r2, room; st.shared.u32 [%r2], %r1;
                bar.sync 0; ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd2], %r3;";
    let outside = "ld.global.u32 %r1, [%rd1+4096]; st.global.u32 [%rd2], %r1;";
    let absent = "mov.u32 %r1, %tid; st.global.u32 [%rd2+8], %r1; st.global.u32 [%rd2], %g;";
    for (body, zeros) in [(race, true), (outside, false), (absent, false)] {
        let source = SourceFile::new("abreast.ptx", text(body));
        let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
        // In front, zeros are stored over zeros, which is no race.
        let words =
            |launch: usize, word| if launch == 0 && zeros { 0 } else { random(launch, word) };
        let launches = launches(32, Meet::Assembler, words);
        assert_eq!(interp::run(&module, &launches[0]).is_ok(), zeros, "{body}");
        assert!(interp::run(&module, &launches[41]).is_err(), "{body}");
        assert!(abreast(&module, &launches, &mut rooms).is_none(), "{body}");
    }
}

/// Poison that every launch discards does not keep them apart.
#[test]
fn poison_that_all_of_them_discard_goes_abreast() {
    let mut rooms = [Room::default(), Room::default()];
    for body in [
        // Lanes that the warp has not.
        "ld.global.u32 %r1, [%rd1]; shfl.sync.down.b32 %r2, %r1, 1, 31, -1; add.u32 %r3, %r2, %r1;
         sub.u32 %r4, %n, 1; setp.lt.u32 %p1, %tid, %r4; selp.b32 %r5, %r3, %r1, %p1;
         st.global.u32 [%rd2], %r5;",
        // Words that nobody has written, beside a value that differs.
        "ld.global.u32 %r1, [%rd1]; mov.u32 %r2, room; ld.shared.u32 %r3, [%r2]; xor.b32 %r3, %r3, %r1;
         and.b32 %r3, %r3, 0xff; and.b32 %r4, %r1, 0xff00; and.b32 %r5, %r4, %r3;
         st.global.u32 [%rd2], %r4; and.b32 %r6, %r3, 0xff00; or.b32 %r6, %r6, %g;
         st.global.u32 [%rd2+4], %r6;",
    ] {
        let source = SourceFile::new("abreast.ptx", text(body));
        let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
        let mut launches = launches(20, Meet::Assembler, random);
        launches.iter_mut().for_each(|launch| launch.uninitialized = true);
        let together = abreast(&module, &launches, &mut rooms)
            .unwrap_or_else(|| panic!("they do not go: {body}"));
        for (launch, found) in launches.iter().zip(together) {
            let expected = interp::run(&module, launch).expect("no fault");
            assert!(found.buffers == expected.buffers, "{body}");
        }
    }
}

/// Poison that the launch in front discards, and others do not.
#[test]
fn poison_that_one_of_them_shows_is_left_to_each() {
    let mut rooms = [Room::default(), Room::default()];
    let absent = "shfl.sync.down.b32 %r1, %tid, 1, 31, -1;";
    let unwritten = "mov.u32 %r2, room; ld.shared.u32 %r1, [%r2];";
    // What is given to the launch in front is 0, and to others a multiple of 7.
    for (read, shown) in [absent, unwritten].into_iter().flat_map(|read| {
        [
            "and.b32 %r3, %r1, %g;",
            "not.b32 %r3, %g; lop3.b32 %r3, %r1, %r3, 0, 0x30;",
            "shl.b32 %r1, %r1, 31; shr.u32 %r1, %r1, 31; mul.lo.u32 %r4, %g, 0xb6db6db7; and.b32 %r4, %r4, 31;
             shl.b32 %r3, %r1, %r4; and.b32 %r3, %r3, 0xfffffffe;",
        ]
        .map(|shown| (read, shown))
    }) {
        let body = format!("{read} {shown} st.global.u32 [%rd2], %r3;");
        let source = SourceFile::new("abreast.ptx", text(&body));
        let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
        let mut launches = launches(20, Meet::Assembler, random);
        launches.iter_mut().for_each(|launch| launch.uninitialized = true);
        assert!(interp::run(&module, &launches[0]).is_ok(), "{body}");
        assert!(interp::run(&module, &launches[41]).is_err(), "{body}");
        assert!(abreast(&module, &launches, &mut rooms).is_none(), "{body}");
    }
}

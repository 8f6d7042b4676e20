//! The sample kernels: every compilation of a sample computes the same bits, and the rewritten kernel
//! agrees with the original bit by bit.

use std::collections::BTreeMap;

use super::bed::{Bed, Done, noise_f32, path};
use ptxasw::pipeline::{self, Options};
use ptxasw::source::SourceFile;

/// Points of a sample's arrays in each dimension.
pub const NX: usize = 70;
pub const NY: usize = 13;
pub const NZ: usize = 7;

/// What a sample's parameters are: `p` a buffer of NX * NY * NZ singles, `x y z` the sizes, `X Y Z`
/// the same in 64 bits, `f` a coefficient.
pub struct Sample {
    pub name: &'static str,
    pub params: &'static str,
    block: [u32; 3],
    grid: [u32; 3],
}

/// Blocks that are no multiple of a warp wide, several rows to a warp, one row to a block.
pub const SAMPLES: [Sample; 17] = [
    Sample { name: "divergence", params: "ppppxyzfff", block: [32, 4, 1], grid: [3, 6, 9] },
    Sample { name: "gameoflife", params: "ppxy", block: [16, 8, 1], grid: [5, 3, 1] },
    Sample { name: "gaussblur", params: "ppxyffffff", block: [128, 1, 1], grid: [1, 17, 1] },
    Sample { name: "gradient", params: "ppppxyzfff", block: [48, 3, 1], grid: [2, 7, 9] },
    Sample { name: "jacobi", params: "ppxyfff", block: [32, 4, 1], grid: [3, 6, 1] },
    Sample { name: "lapgsrb", params: "ppxyzffff", block: [64, 2, 1], grid: [2, 9, 5] },
    Sample {
        name: "laplacian",
        params: "ppxyzff",
        block: [96, 1, 1],
        grid: [1, NY as u32 - 2, NZ as u32 - 2],
    },
    Sample { name: "matmul", params: "pppx", block: [32, 2, 1], grid: [3, 35, 1] },
    Sample { name: "matvec", params: "pppyx", block: [33, 1, 1], grid: [3, 1, 1] },
    Sample { name: "nvhpc", params: "ppxyfff", block: [128, 1, 1], grid: [4, 1, 1] },
    Sample { name: "sincos", params: "pppxy", block: [64, 1, 1], grid: [2, NY as u32, 1] },
    Sample {
        name: "tricubic",
        params: "pppppxyz",
        block: [64, 1, 1],
        grid: [2, NY as u32 - 3, NZ as u32 - 3],
    },
    Sample { name: "tricubic2", params: "pppppxyz", block: [32, 2, 2], grid: [3, 9, 3] },
    Sample { name: "uxx1", params: "ppppppxyzfff", block: [32, 4, 1], grid: [3, 6, 9] },
    Sample { name: "vecadd", params: "pppx", block: [31, 1, 1], grid: [3, 1, 1] },
    Sample { name: "wave13pt", params: "pppXYZfff", block: [32, 2, 2], grid: [3, 9, 3] },
    Sample { name: "whispering", params: "ppppppppppppxyff", block: [32, 4, 1], grid: [3, 6, 1] },
];

/// The PTX files of a sample.
pub fn files(name: &str) -> Vec<(String, String)> {
    let folder = format!("ptx-samples/{name}");
    let mut files: Vec<_> = std::fs::read_dir(path(&folder))
        .expect("samples")
        .map(|entry| entry.expect("entry").file_name().into_string().expect("name"))
        .filter(|name| name.ends_with(".ptx"))
        .map(|name| {
            let text = std::fs::read_to_string(path(&folder).join(&name)).expect("text");
            (name, text)
        })
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// What a sample's buffers hold before the launch: numbers between 0.5 and 2.5.
pub fn input(index: usize) -> Vec<f32> {
    noise_f32(NX * NY * NZ, 100 + index as u32).into_iter().map(|x| x + 1.5).collect()
}

/// Runs a sample's kernel.
pub fn launch(sample: &Sample, file: &str, text: &str) -> Done {
    bed(sample, file, text).block(sample.block).grid(sample.grid).good()
}

fn bed(sample: &Sample, file: &str, text: &str) -> Bed {
    let kernel = match sample.name {
        "sincos" => "sincos_sum",
        "nvhpc" => "jacobi_17_gpu",
        name => name,
    };
    let mut bed = Bed::text(file, text, kernel);
    for (index, param) in sample.params.chars().enumerate() {
        bed = match param {
            'p' => bed.buffer(&format!("p{index:02}"), &input(index)),
            'x' => bed.value(NX as i32),
            'y' => bed.value(NY as i32),
            'z' => bed.value(NZ as i32),
            'X' => bed.value(NX as u64),
            'Y' => bed.value(NY as u64),
            'Z' => bed.value(NZ as u64),
            _ => bed.value(coefficient(index) as f32),
        };
    }
    bed
}

#[test]
fn all_compilations_of_a_sample_agree() {
    for sample in &SAMPLES {
        let results: BTreeMap<String, _> = files(sample.name)
            .into_iter()
            .map(|(name, text)| {
                let buffers = launch(sample, &name, &text).0.buffers;
                (name, buffers)
            })
            .collect();
        let (first, expected) = results.first_key_value().expect("a file");
        for (name, buffers) in &results {
            assert!(buffers == expected, "{name} and {first} differ");
        }
    }
}

#[test]
fn rewritten_samples_agree_bit_by_bit() {
    for sample in &SAMPLES {
        for (name, text) in files(sample.name) {
            let source = SourceFile::new(&name, text.clone());
            let rewritten = pipeline::rewrite(&source, &Options::paper()).expect("parses");
            let before = launch(sample, &name, &text);
            let after = launch(sample, &format!("rewritten {name}"), &rewritten.text);
            assert!(before.0.buffers == after.0.buffers, "{name} was rewritten wrongly");
            let shuffles = rewritten.report.kernels.iter().map(|k| k.shuffles).sum::<usize>();
            if shuffles > 0 {
                assert!(after.counters().shuffles > 0, "{name}: no shuffle was executed");
            }
        }
    }
}

/// The coefficient at a place among the parameters.
pub fn coefficient(index: usize) -> f64 {
    0.25 + index as f64 / 64.0
}

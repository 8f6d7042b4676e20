//! The sample kernels against their formulas, computed on the host in double precision.

use super::bed::{Bed, noise};
use super::samples::{NX, NY, NZ, SAMPLES, coefficient as f, files, input, launch};

/// Compares a buffer with a formula at the points where `inside` holds; elsewhere it must not have
/// changed. The formula gets all inputs and the index of the point.
fn check_at(
    name: &str,
    output: usize,
    inside: impl Fn(usize, usize, usize) -> bool,
    formula: impl Fn(&[Vec<f32>], usize) -> f64,
) {
    let sample = SAMPLES.iter().find(|sample| sample.name == name).expect("a sample");
    let inputs: Vec<Vec<f32>> = (0..sample.params.len()).map(input).collect();
    for (file, text) in files(name) {
        let got = launch(sample, &file, &text).get::<f32>(&format!("p{output:02}"));
        let mut checked = 0;
        for (at, &value) in got.iter().enumerate() {
            let (i, j, k) = (at % NX, at / NX % NY, at / NX / NY);
            if !inside(i, j, k) {
                assert_eq!(value, inputs[output][at], "{file}: ({i}, {j}, {k})");
                continue;
            }
            let expected = formula(&inputs, at);
            let error = (f64::from(value) - expected).abs() / expected.abs().max(1.0);
            assert!(error < 3e-6, "{file}: ({i}, {j}, {k}): {value}, not {expected}");
            checked += 1;
        }
        assert!(checked >= NY, "{file}: {checked} points");
    }
}

/// The same for stencils: the formula gets elements by buffer and distance.
fn check(
    name: &str,
    output: usize,
    inside: impl Fn(usize, usize, usize) -> bool,
    formula: impl Fn(&dyn Fn(usize, i64, i64, i64) -> f64) -> f64,
) {
    check_at(name, output, inside, |inputs, at| {
        formula(&|buffer, di, dj, dk| {
            let index = at as i64 + di + dj * NX as i64 + dk * (NX * NY) as i64;
            f64::from(inputs[buffer][index as usize])
        })
    });
}

/// Points at least so far from the edges of a plane.
fn plane(edge: usize) -> impl Fn(usize, usize, usize) -> bool {
    move |i, j, k| (edge..NX - edge).contains(&i) && (edge..NY - edge).contains(&j) && k == 0
}

/// Points at least so far from the lower and upper edges of the space.
fn space(low: usize, high: usize) -> impl Fn(usize, usize, usize) -> bool {
    move |i, j, k| {
        (low..NX - high).contains(&i)
            && (low..NY - high).contains(&j)
            && (low..NZ - high).contains(&k)
    }
}

type Load<'a> = &'a dyn Fn(usize, i64, i64, i64) -> f64;

/// The sum over both neighbours at a distance in each of three directions.
fn star(w: Load<'_>, buffer: usize, n: i64) -> f64 {
    [-n, n].iter().map(|&n| w(buffer, n, 0, 0) + w(buffer, 0, n, 0) + w(buffer, 0, 0, n)).sum()
}

#[test]
fn jacobi() {
    check("jacobi", 1, plane(1), |w| {
        let corners = w(0, -1, -1, 0) + w(0, 1, -1, 0) + w(0, -1, 1, 0) + w(0, 1, 1, 0);
        let edges = w(0, -1, 0, 0) + w(0, 1, 0, 0) + w(0, 0, -1, 0) + w(0, 0, 1, 0);
        f(4) * w(0, 0, 0, 0) + f(5) * edges + f(6) * corners
    });
}

#[test]
fn laplacian() {
    check("laplacian", 1, space(1, 1), |w| f(5) * w(0, 0, 0, 0) + f(6) * star(w, 0, 1));
}

#[test]
fn sincos() {
    check("sincos", 2, |_, _, k| k == 0, |w| w(0, 0, 0, 0).sin() + w(1, 0, 0, 0).cos());
}

#[test]
fn divergence() {
    check("divergence", 3, space(1, 1), |w| {
        f(7) * (w(0, 1, 0, 0) - w(0, -1, 0, 0))
            + f(8) * (w(1, 0, 1, 0) - w(1, 0, -1, 0))
            + f(9) * (w(2, 0, 0, 1) - w(2, 0, 0, -1))
    });
}

#[test]
fn gradient() {
    check("gradient", 1, space(1, 1), |w| f(7) * (w(0, 1, 0, 0) - w(0, -1, 0, 0)));
    check("gradient", 2, space(1, 1), |w| f(8) * (w(0, 0, 1, 0) - w(0, 0, -1, 0)));
    check("gradient", 3, space(1, 1), |w| f(9) * (w(0, 0, 0, 1) - w(0, 0, 0, -1)));
}

#[test]
fn gaussblur() {
    check("gaussblur", 1, plane(2), |w| {
        // Weights by the square of the distance.
        let weight = |square: i64| match square {
            0 => f(4),
            1 => f(5),
            2 => f(6),
            4 => f(7),
            5 => f(8),
            _ => f(9),
        };
        let mut sum = 0.0;
        for (di, dj) in (-2..=2).flat_map(|di| (-2..=2).map(move |dj| (di, dj))) {
            sum += weight(di * di + dj * dj) * w(0, di, dj, 0);
        }
        sum / (f(4) + 4.0 * (f(5) + f(6) + f(7) + f(9)) + 8.0 * f(8))
    });
}

#[test]
fn lapgsrb() {
    check("lapgsrb", 1, space(2, 2), |w| {
        let mut diagonals = 0.0;
        for (a, b) in [(-1, -1), (-1, 1), (1, -1), (1, 1)] {
            diagonals += w(0, a, b, 0) + w(0, a, 0, b) + w(0, 0, a, b);
        }
        f(5) * w(0, 0, 0, 0) + f(6) * star(w, 0, 1) + f(7) * diagonals + f(8) * star(w, 0, 2)
    });
}

#[test]
fn wave13pt() {
    check("wave13pt", 2, space(2, 2), |w| {
        f(8) * star(w, 0, 2) + f(7) * star(w, 0, 1) + f(6) * w(0, 0, 0, 0) - w(1, 0, 0, 0)
    });
}

#[test]
fn uxx1() {
    check("uxx1", 5, space(2, 1), |w| {
        let d = 0.25 * (w(1, 0, 0, 0) + w(1, 0, -1, 0) + w(1, 0, 0, -1) + w(1, 0, -1, -1));
        let along = |buffer: usize, i: i64, j: i64, k: i64| {
            f(11) * (w(buffer, i, j, k) - w(buffer, -2 * i, -2 * j, -2 * k))
                + f(10) * (w(buffer, 0, 0, 0) - w(buffer, -i, -j, -k))
        };
        w(0, 0, 0, 0) + f(9) / d * (along(2, 1, 0, 0) + along(3, 0, 1, 0) + along(4, 0, 0, 1))
    });
}

#[test]
fn whispering() {
    let parts = |w: Load<'_>| {
        let n0 = w(0, 0, 0, 0) * w(4, 0, 0, 0) + w(1, 0, 0, 0) * (w(6, 0, 1, 0) - w(6, 0, 0, 0));
        let n1 = w(0, 0, 0, 0) * w(5, 0, 0, 0) - w(1, 0, 0, 0) * (w(6, 1, 0, 0) - w(6, 0, 0, 0));
        let ey =
            w(0, 0, -1, 0) * w(4, 0, -1, 0) + w(1, 0, -1, 0) * (w(6, 0, 0, 0) - w(6, 0, -1, 0));
        let ex =
            w(0, -1, 0, 0) * w(5, -1, 0, 0) - w(1, -1, 0, 0) * (w(6, 0, 0, 0) - w(6, -1, 0, 0));
        let h1 = w(2, 0, 0, 0) * w(6, 0, 0, 0) + w(3, 0, 0, 0) * (n0 - ey + ex - n1);
        let u1 = w(7, 0, 0, 0) + 0.5 * (h1 * h1 / f(14) + f(15) * (n0 * n0 + n1 * n1));
        [n0, n1, h1, u1]
    };
    for (output, part) in (8..12).zip(0..) {
        check("whispering", output, plane(1), |w| parts(w)[part]);
    }
}

/// The four weights of cubic interpolation between points -1, 0, 1 and 2.
fn cubic(x: f64) -> [f64; 4] {
    [
        -x * (x - 1.0) * (x - 2.0) / 6.0,
        (x - 1.0) * (x + 1.0) * (x - 2.0) / 2.0,
        -x * (x + 1.0) * (x - 2.0) / 2.0,
        x * (x - 1.0) * (x + 1.0) / 6.0,
    ]
}

#[test]
fn tricubic() {
    for name in ["tricubic", "tricubic2"] {
        check(name, 4, space(1, 2), |w| {
            let [a, b, c] = [1, 2, 3].map(|buffer| cubic(w(buffer, 0, 0, 0)));
            let mut sum = 0.0;
            for (i, j, k) in (0..64).map(|n: usize| (n % 4, n / 4 % 4, n / 16)) {
                let (di, dj, dk) = (i as i64 - 1, j as i64 - 1, k as i64 - 1);
                sum += a[i] * b[j] * c[k] * w(0, di, dj, dk);
            }
            sum
        });
    }
}

#[test]
fn vecadd() {
    check("vecadd", 2, |_, j, k| j == 0 && k == 0, |w| w(0, 0, 0, 0) + w(1, 0, 0, 0));
}

#[test]
fn matmul() {
    let square = |i, j, k| i + NX * (j + NY * k) < NX * NX;
    check_at("matmul", 2, square, |inputs, at| {
        // Four at a time, beyond the end of a row where its length is not a multiple of four.
        (0..NX.next_multiple_of(4))
            .map(|k| {
                f64::from(inputs[0][k * NX + at % NX]) * f64::from(inputs[1][at / NX * NX + k])
            })
            .sum()
    });
}

#[test]
fn matvec() {
    // Rows of NY elements, NX of them; three at a time.
    check_at(
        "matvec",
        2,
        |_, j, k| j == 0 && k == 0,
        |inputs, at| {
            let products = (0..NY / 3 * 3)
                .map(|i| f64::from(inputs[0][at * NY + i]) * f64::from(inputs[1][i]));
            f64::from(inputs[2][at]) + products.sum::<f64>()
        },
    );
}

#[test]
fn gameoflife() {
    let (nx, ny) = (45, 14);
    let cells: Vec<u32> = noise(nx * ny, 21).into_iter().map(|n| n >> 30 & 1).collect();
    let before: Vec<f32> = cells.iter().map(|&cell| cell as f32).collect();
    for (file, text) in files("gameoflife") {
        let done = Bed::text(&file, text, "gameoflife")
            .block([16, 8, 1])
            .grid([3, 2, 1])
            .buffer("w0", &before)
            .buffer("w1", &vec![7_f32; nx * ny])
            .value(nx as i32)
            .value(ny as i32)
            .good();
        for (at, value) in done.get::<f32>("w1").into_iter().enumerate() {
            let (i, j) = (at % nx, at / nx);
            if i == 0 || i == nx - 1 || j == 0 || j == ny - 1 {
                assert_eq!(value, 7.0);
                continue;
            }
            let rows = (j - 1..=j + 1).flat_map(|j| (i - 1..=i + 1).map(move |i| j * nx + i));
            let around: u32 = rows.map(|at| cells[at]).sum::<u32>() - cells[at];
            let lives = around == 3 || around == 2 && cells[at] == 1;
            assert_eq!(value.round(), if lives { 1.0 } else { 0.0 }, "{file}: ({i}, {j})");
        }
    }
}

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ptxasw_bytes::pipeline(bytes));

//! instructions

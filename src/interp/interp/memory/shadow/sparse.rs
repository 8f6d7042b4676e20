//! Vectors whose elements are mostly never accessed.

use std::ops::Range;

/// A vector in pages, which are made when one of their elements is accessed.
#[derive(Debug, Default)]
pub(super) struct Sparse<T> {
    len: usize,
    /// None until an element is accessed.
    pages: Vec<Option<Box<[T; PAGE]>>>,
}

/// The elements of a page.
const PAGE: usize = 64;

impl<T: Copy + Default> Sparse<T> {
    /// `len` elements.
    pub(super) fn new(len: usize) -> Sparse<T> {
        Sparse { len, pages: Vec::new() }
    }

    /// An element, if its page was made.
    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.pages.get(at / PAGE)?.as_deref().map(|page| &page[at % PAGE])
    }

    /// The places of the elements whose pages were made, page by page.
    pub(super) fn made(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let made = self.pages.iter().enumerate().filter(|(_, page)| page.is_some());
        made.map(|(number, _)| number * PAGE..(number + 1) * PAGE)
    }

    /// An element, in a page that is made if need be.
    #[inline]
    pub(super) fn get_mut(&mut self, at: usize) -> &mut T {
        if at / PAGE >= self.pages.len() {
            self.make_pages();
        }
        let page = self.pages[at / PAGE].get_or_insert_with(|| Box::new([T::default(); PAGE]));
        &mut page[at % PAGE]
    }

    #[cold]
    fn make_pages(&mut self) {
        self.pages.resize_with(self.len.div_ceil(PAGE), || None);
    }

    /// Resets all elements; pages stay.
    pub(super) fn forget(&mut self) {
        self.pages.iter_mut().flatten().for_each(|page| page.fill(T::default()));
    }

    /// The same with `parts` elements in the place of each one.
    pub(super) fn split(&self, parts: usize) -> Sparse<T> {
        let mut split = Sparse::new(self.len.next_multiple_of(PAGE) * parts);
        for (number, page) in self.pages.iter().enumerate() {
            for (at, element) in page.iter().flat_map(|page| page.iter()).enumerate() {
                let first = (number * PAGE + at) * parts;
                (first..first + parts).for_each(|at| *split.get_mut(at) = *element);
            }
        }
        split
    }
}

//! Typed ids. A table of things of one kind is a `TiVec` by the id of that kind, so an id of another kind does not
//! index it.

/// Makes a wrapped `u32` an id: it indexes a `TiVec`, whose keys it is.
#[macro_export]
macro_rules! table_ids {
    ($($id:ident),+) => {
        $(impl From<usize> for $id {
            #[inline]
            fn from(index: usize) -> $id {
                $id(index as u32)
            }
        }

        impl From<$id> for usize {
            #[inline]
            fn from(id: $id) -> usize {
                id.0 as usize
            }
        })+
    };
}

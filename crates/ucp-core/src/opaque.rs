//! `Debug` for types that hold secrets, or what cannot be printed.

/// Implements [`Debug`](std::fmt::Debug) for a type by its name and these of its fields alone.
#[macro_export]
macro_rules! opaque {
    ($type:ident $(<$($of:ident $(: $bound:path)?),+>)? $({ $($($field:ident).+),+ })?) => {
        impl $(<$($of $(: $bound)?),+>)? ::std::fmt::Debug for $type $(<$($of),+>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($type))$($(.field(stringify!($($field).+), &self.$($field).+))+)?.finish_non_exhaustive()
            }
        }
    };
}

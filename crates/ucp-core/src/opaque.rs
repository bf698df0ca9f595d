//! Types whose `Debug` hides what they hold.

/// Implements `Debug` for a type: it shows the listed fields, and none of the others.
#[macro_export]
macro_rules! opaque {
    ($name:ident) => {
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    };
    ($name:ident { $($($field:ident).+),+ }) => {
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($($field).+), &self.$($field).+))+.finish_non_exhaustive()
            }
        }
    };
}

//! The types of expressions, printed as cel-go prints them.

use std::{fmt, sync::Arc};

use super::declaration::Declaration;

/// The type of an expression. `A` and `B` stand for any type in the signature of a function.
#[derive(Clone, Debug)]
pub(super) enum Type {
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    Optional(Arc<Type>),
    /// An object of a schema: two of them are of the same type if they are of the same schema.
    Object(Arc<Declaration>),
    /// A type of a library, such as `kubernetes.Quantity`.
    Opaque(&'static str),
    /// The type of a type.
    Meta,
    A,
    B,
}

impl Type {
    pub(super) fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    pub(super) fn optional(value: Type) -> Type {
        Type::Optional(Arc::new(value))
    }

    pub(super) fn is_scalar(&self) -> bool {
        match self {
            Type::Bool | Type::Double | Type::Duration | Type::Int => true,
            Type::Timestamp | Type::Uint => true,
            Type::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    /// Whether a value of type `other` may stand where one of this type is expected, or the other
    /// way round if one of them is dynamic.
    pub(super) fn agrees(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Dyn, _) | (_, Type::Dyn) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => a.agrees(b),
            (Type::Map(k, v), Type::Map(l, w)) => k.agrees(l) && v.agrees(w),
            (Type::Object(a), Type::Object(b)) => Arc::ptr_eq(a, b),
            (Type::Opaque(a), Type::Opaque(b)) => a == b,
            (Type::Null, other) | (other, Type::Null) => matches!(
                other,
                Type::Null
                    | Type::Object(_)
                    | Type::Opaque(_)
                    | Type::Optional(_)
                    | Type::Timestamp
                    | Type::Duration
            ),
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    /// The type of what is of this type or the other, which agrees with it.
    pub(super) fn joined(&self, other: &Type) -> Type {
        match (self, other) {
            (Type::Dyn, _) | (_, Type::Dyn) => Type::Dyn,
            (Type::Null, other) => other.clone(),
            (Type::List(a), Type::List(b)) => Type::list(a.joined(b)),
            (Type::Optional(a), Type::Optional(b)) => Type::optional(a.joined(b)),
            (Type::Map(k, v), Type::Map(l, w)) => {
                Type::Map(Arc::new(k.joined(l)), Arc::new(v.joined(w)))
            }
            (a, _) => a.clone(),
        }
    }
}

/// What `A` and `B` stand for in one call.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    a: Option<Type>,
    b: Option<Type>,
}

impl Bindings {
    /// Whether an argument fits a parameter; binds what the parameter leaves open.
    pub(super) fn fits(&mut self, parameter: &Type, argument: &Type) -> bool {
        match (parameter, argument) {
            (Type::A, _) => bind(&mut self.a, argument),
            (Type::B, _) => bind(&mut self.b, argument),
            (Type::List(p), Type::List(a)) | (Type::Optional(p), Type::Optional(a)) => {
                self.fits(p, a)
            }
            (Type::Map(k, v), Type::Map(l, w)) => self.fits(k, l) && self.fits(v, w),
            _ => parameter.agrees(argument),
        }
    }

    /// The result of a function, with what was bound.
    pub(super) fn apply(&self, result: &Type) -> Type {
        match result {
            Type::A => self.a.clone().unwrap_or(Type::Dyn),
            Type::B => self.b.clone().unwrap_or(Type::Dyn),
            Type::List(element) => Type::list(self.apply(element)),
            Type::Optional(value) => Type::optional(self.apply(value)),
            Type::Map(key, value) => {
                Type::Map(Arc::new(self.apply(key)), Arc::new(self.apply(value)))
            }
            other => other.clone(),
        }
    }
}

fn bind(bound: &mut Option<Type>, argument: &Type) -> bool {
    match bound {
        None => *bound = Some(argument.clone()),
        Some(type_) if type_.agrees(argument) => *bound = Some(type_.joined(argument)),
        Some(_) => return false,
    }
    true
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn => f.write_str("dyn"),
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Duration => f.write_str("duration"),
            Type::List(element) => write!(f, "list({element})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Optional(value) => write!(f, "optional_type({value})"),
            Type::Object(_) => f.write_str("object"),
            Type::Opaque(name) => f.write_str(name),
            Type::Meta => f.write_str("type"),
            Type::A => f.write_str("A"),
            Type::B => f.write_str("B"),
        }
    }
}

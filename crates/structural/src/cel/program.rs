//! A checked expression, ready to be evaluated.

use std::sync::Arc;

use super::{cost::Cost, functions::Run, regex::Expression};
use kube_cel::cel::IdedExpr;

/// A checked expression.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) root: Node,
    /// Whether it is a transition rule.
    pub(super) uses_old_self: bool,
    /// The cost for the largest values that the schema allows.
    pub(super) most_cost: u64,
}

/// An expression.
#[derive(Debug)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    /// A type by its name.
    Type(&'static str),
    This,
    OldThis,
    /// A variable of a macro: the macros around it are numbered from the outermost.
    Local(usize),
    /// A field of an object or an entry of a map.
    Select {
        operand: Box<Node>,
        name: Arc<str>,
        is_optional: bool,
    },
    /// `has(operand.name)`.
    Has {
        operand: Box<Node>,
        name: Arc<str>,
    },
    Index {
        operand: Box<Node>,
        index: Box<Node>,
        is_optional: bool,
    },
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    If(Box<[Node; 3]>),
    Binary(Operator, Box<[Node; 2]>),
    List {
        items: Vec<(Node, IsOptional)>,
        is_constant: bool,
    },
    Map {
        entries: Vec<(Node, Node, IsOptional)>,
        is_constant: bool,
    },
    Call(Box<Call>),
    Fold(Box<Fold>),
    /// `optional.or(optional)` and `optional.orValue(value)`.
    Otherwise {
        operands: Box<[Node; 2]>,
        unwraps: bool,
    },
    /// `optional.optMap(variable, value)` and `optional.optFlatMap(variable, optional)`.
    Within {
        operands: Box<[Node; 2]>,
        wraps: bool,
    },
}

impl Node {
    /// Whether its value is known when it is checked: cel-go evaluates it then, and no more.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Node::Null | Node::Bool(_) | Node::Int(_) | Node::Uint(_) | Node::Double(_) => true,
            Node::String(_) | Node::Bytes(_) => true,
            Node::List { is_constant, .. } | Node::Map { is_constant, .. } => *is_constant,
            Node::Call(call) => call.cost == Cost::Free,
            _ => false,
        }
    }
}

/// Whether an entry is left out if it is an empty optional value.
pub(super) type IsOptional = bool;

/// An operator on two values that are both evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
}

/// A call of a function; a receiver is the first argument.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) run: Run,
    pub(super) cost: Cost,
    pub(super) arguments: Vec<Node>,
    /// The call for `kube-cel`, with the arguments as variables.
    pub(super) expression: Option<IdedExpr>,
    /// The regular expression if it is a literal.
    pub(super) regex: Option<Expression>,
}

/// A macro over the items of a list or the keys of a map.
#[derive(Debug)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    pub(super) range: Node,
    /// The condition; of a map it selects what is mapped.
    pub(super) condition: Option<Node>,
    /// What an item is mapped to.
    pub(super) value: Option<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    /// `map` and `filter`.
    Map,
}

impl FoldKind {
    /// What a step costs besides its expressions: the loop condition, and the accumulator.
    pub(super) const fn step_cost(self) -> u64 {
        match self {
            FoldKind::All => 3,
            FoldKind::Exists => 4,
            FoldKind::ExistsOne => 2,
            FoldKind::Map => 12,
        }
    }
}

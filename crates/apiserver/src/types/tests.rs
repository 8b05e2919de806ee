mod facts;
mod reading;
mod recorded;

use evenkeel_store::schema::Type;

use super::schema;

fn of(name: &str) -> &'static Type {
    schema().named(name).expect("a type of the table")
}

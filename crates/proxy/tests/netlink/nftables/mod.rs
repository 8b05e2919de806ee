mod commit;
mod equal;
mod listing;
mod ownership;
mod ruleset;
mod speed;

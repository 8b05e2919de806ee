mod commit;
mod equal;
mod listing;
mod ownership;
mod restart;
mod ruleset;
mod speed;

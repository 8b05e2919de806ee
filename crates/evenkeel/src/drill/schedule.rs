//! Which Node sends the next request, and to which Service. Pure.

/// Services take turns; for each of them Nodes do, in proportion to their weights and as evenly as
/// possible (smooth weighted round robin): short spans have the right proportions, too. O(clients) for
/// each request.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    weights: Vec<f64>,
    total: f64,
    /// By Service and client.
    credits: Vec<Vec<f64>>,
    next: usize,
}

impl Schedule {
    /// There is at least one client and one Service.
    pub(super) fn new(weights: Vec<f64>, services: usize) -> Schedule {
        let total = weights.iter().sum();
        // Services begin with different clients, so that no client has them all at once.
        let begin = |service: usize| -> Vec<f64> {
            let position =
                |client: usize| (client + weights.len() - service % weights.len()) as f64;
            let turn = |client: usize| position(client) % weights.len() as f64;
            (0..weights.len()).map(|client| -turn(client) * 1e-6).collect()
        };
        let credits = (0..services).map(begin).collect();
        Schedule { weights, total, credits, next: 0 }
    }

    /// The client and the Service.
    pub(super) fn next(&mut self) -> (usize, usize) {
        let service = self.next;
        self.next = (self.next + 1) % self.credits.len();
        let credits = &mut self.credits[service];
        for (credit, weight) in credits.iter_mut().zip(&self.weights) {
            *credit += weight;
        }
        let most = |best: usize, client: usize| {
            if credits[client] > credits[best] { client } else { best }
        };
        let client = (0..credits.len()).reduce(most).unwrap_or(0);
        credits[client] -= self.total;
        (client, service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_take_turns_and_clients_send_in_proportion_to_their_weights() {
        let mut schedule = Schedule::new(vec![4.0, 4.0, 2.0, 2.0], 3);
        let mut counts = [[0; 4]; 3];
        for n in 0..36 {
            let (client, service) = schedule.next();
            assert_eq!(service, n % 3);
            counts[service][client] += 1;
        }
        assert_eq!(counts, [[4, 4, 2, 2]; 3]);
    }

    #[test]
    fn every_span_is_nearly_proportional() {
        let weights = vec![5.0, 1.0, 1.0];
        let mut schedule = Schedule::new(weights.clone(), 1);
        let mut counts = [0.0; 3];
        for n in 1..200 {
            counts[schedule.next().0] += 1.0;
            for (count, weight) in counts.iter().zip(&weights) {
                let due = f64::from(n) * weight / 7.0;
                assert!((count - due).abs() < 1.5, "after {n}: {counts:?}");
            }
        }
    }
}

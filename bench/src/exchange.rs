//! One sum over several processes through Gloo and the loopback: what a step of training in shards waits for. An item is a sum.

use clap::Args;
use std::time::{Duration, Instant};
use tch::{Device, Kind, Tensor};
use torch_shim::Store;

#[derive(Debug, Args)]
pub(super) struct Exchange {
    /// Numbers to add up: a ResNet18 has 11.2 million parameters
    #[arg(long, default_value_t = 11_200_000)]
    numbers: i64,
    #[arg(long, default_value_t = 20)]
    rounds: usize,
}

impl Exchange {
    /// Threads stand for processes: each has connections of its own.
    pub(super) fn run(self) {
        let timeout = Duration::from_secs(60);
        for count in [2, 4] {
            let kept = Store::serve("127.0.0.1", 0, timeout).expect("a store");
            let port = kept.port();
            let work = |rank: usize| {
                let store = Store::connect("127.0.0.1", port, timeout).expect("the store");
                let group = store.group("bench", (rank, count), Some("127.0.0.1"), timeout).expect("a group");
                let tensor = Tensor::ones([self.numbers], (Kind::Double, Device::Cpu));
                let times = (0..self.rounds).map(|_| {
                    group.barrier().expect("all are there");
                    let began = Instant::now();
                    group.sum(&tensor).expect("all are there");
                    began.elapsed().as_secs_f64()
                });
                let mut times: Vec<f64> = times.collect();
                times.sort_by(f64::total_cmp);
                (times[0], times[times.len() / 2])
            };
            let (least, median) = std::thread::scope(|scope| {
                let work = &work;
                let threads: Vec<_> = (0..count).map(|rank| scope.spawn(move || work(rank))).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().expect("no panic"))
                    .fold((0.0f64, 0.0f64), |most, one| (most.0.max(one.0), most.1.max(one.1)))
            });
            let megabytes = self.numbers as f64 * 8.0 / 1e6;
            let sent = 2.0 * (count as f64 - 1.0) / count as f64 * megabytes;
            println!(
                "{count} processes, {megabytes:.0} MB: least {:.0} ms, median {:.0} ms; each sends {sent:.0} MB: {:.2} GB/s at best",
                least * 1e3,
                median * 1e3,
                sent / 1e3 / least
            );
        }
    }
}

//! Load for a service: so many clients, each with a connection of its own, ask one after the other for a while. No rounds; prints one line of
//! JSON. Both time and requests are bounded, and only this machine is asked.

use clap::Args;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Debug, Args)]
pub(super) struct Load {
    /// The service, such as 127.0.0.1:8000
    address: SocketAddr,
    /// Photos, sent in turns
    #[arg(required = true)]
    photos: Vec<PathBuf>,
    #[arg(long, default_value_t = 8)]
    clients: usize,
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// At most so many requests
    #[arg(long, default_value_t = 100_000)]
    most: usize,
    #[arg(long, default_value = "/predict")]
    path: String,
}

impl Load {
    pub(super) fn run(self) {
        assert!(self.address.ip().is_loopback(), "only this machine is asked");
        let photos: Vec<Vec<u8>> = self.photos.iter().map(|path| std::fs::read(path).expect("a photo")).collect();
        let (begun, time) = (Instant::now(), Duration::from_secs_f64(self.seconds));
        let each = self.most.div_ceil(self.clients);
        let client = |number: usize| {
            let mut connection = Connection::open(self.address, &self.path);
            let mut taken = Vec::new();
            while begun.elapsed() < time && taken.len() < each {
                let asked = Instant::now();
                connection.ask(&photos[(number + taken.len()) % photos.len()]);
                taken.push(asked.elapsed().as_secs_f64());
            }
            taken
        };
        let mut taken: Vec<f64> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..self.clients).map(|number| scope.spawn(move || client(number))).collect();
            clients.into_iter().flat_map(|client| client.join().expect("a client fails")).collect()
        });
        let seconds = begun.elapsed().as_secs_f64();
        taken.sort_by(f64::total_cmp);
        let at = |part: f64| 1000.0 * taken[((taken.len() - 1) as f64 * part).round() as usize];
        println!(
            "{{\"requests\": {}, \"seconds\": {seconds:.3}, \"rate\": {:.2}, \"p50_ms\": {:.2}, \"p99_ms\": {:.2}, \"most_ms\": {:.2}}}",
            taken.len(),
            taken.len() as f64 / seconds,
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
}

/// A connection that stays open.
struct Connection {
    reader: BufReader<TcpStream>,
    head: String,
}

impl Connection {
    fn open(address: SocketAddr, path: &str) -> Self {
        let stream = TcpStream::connect(address).expect("a service");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: image/jpeg\r\nContent-Length: ");
        Self { reader: BufReader::new(stream), head }
    }

    /// Sends a photo and reads the answer; anything but 200 ends the measurement.
    fn ask(&mut self, photo: &[u8]) {
        let mut request = format!("{}{}\r\n\r\n", self.head, photo.len()).into_bytes();
        request.extend_from_slice(photo);
        self.reader.get_mut().write_all(&request).expect("the service reads");
        let (mut line, mut length, mut first) = (String::new(), 0, true);
        loop {
            line.clear();
            assert!(self.reader.read_line(&mut line).expect("an answer") > 0, "the connection ended");
            assert!(!std::mem::take(&mut first) || line.contains(" 200 "), "expected 200, found {line}");
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).expect("a whole answer");
        assert!(length > 0, "an answer says something");
    }
}

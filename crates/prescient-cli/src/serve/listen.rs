//! Connections: let in, timed, and seen off when the service stops.

use super::limits::Budget;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

/// For the head of a request to arrive, and for an open connection to bring the next one.
const HEAD: Duration = Duration::from_secs(20);
/// A head is at most so large.
const BUFFER: usize = 64 << 10;

/// Answers until `stop` is done; then lets those finish, for at most `grace`, who have begun.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    budget: Arc<Budget>,
    stop: impl Future<Output = ()>,
    grace: Duration,
) {
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let arrival = std::pin::pin!(arrival(&listener, &budget));
        let (stream, share) = match futures_util::future::select(arrival, stop.as_mut()).await {
            futures_util::future::Either::Left((arrived, _)) => arrived,
            futures_util::future::Either::Right(_) => break,
        };
        let _ = stream.set_nodelay(true);
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER);
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection ended: {error}");
            }
            drop(share);
        });
    }
    drop(listener);
    if timeout(grace, graceful.shutdown()).await.is_err() {
        eprintln!("warning: some requests were not answered within {} s", grace.as_secs());
    }
}

/// The next connection, once there is room for one.
async fn arrival(
    listener: &TcpListener,
    budget: &Budget,
) -> (tokio::net::TcpStream, Option<tokio::sync::OwnedSemaphorePermit>) {
    let share = budget.connections.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, share),
            // Who went away before being let in.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) => {
            }
            // Too many open files, say: some will be closed.
            Err(error) => {
                tracing::warn!("no connection can be taken: {error}");
                sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

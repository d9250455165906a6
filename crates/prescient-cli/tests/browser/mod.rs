//! A page in a real browser: opened, asked, and listened to.
#![allow(dead_code, reason = "each test uses some of it")]

use headless_chrome::protocol::cdp::Network;
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::{Browser, LaunchOptions, Tab};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A browser with the page open, and what it complained about or asked for.
pub(crate) struct Opened {
    _browser: Browser,
    pub(crate) tab: Arc<Tab>,
    pub(crate) told: Arc<Mutex<Vec<String>>>,
}

/// Opens a page; says so and answers none where there is no browser.
pub(crate) fn open(address: &str) -> Option<Opened> {
    let Ok(path) = headless_chrome::browser::default_executable() else {
        crate::common::skip("browser", "there is no Chromium on the path; `apt-get install chromium`, or set CHROME");
        return None;
    };
    let options = LaunchOptions::default_builder()
        .path(Some(path))
        .sandbox(false)
        .window_size(Some((1280, 900)))
        .idle_browser_timeout(Duration::from_secs(120))
        .build()
        .unwrap();
    let browser = Browser::new(options).unwrap();
    let tab = browser.new_tab().unwrap();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    tab.enable_log().unwrap().enable_runtime().unwrap();
    tab.call_method(Network::Enable {
        max_total_buffer_size: None,
        max_resource_buffer_size: None,
        max_post_data_size: None,
        report_direct_socket_traffic: None,
        enable_durable_messages: None,
    })
    .unwrap();
    let noted = told.clone();
    tab.add_event_listener(Arc::new(move |event: &Event| {
        let told = match event {
            Event::LogEntryAdded(event) => format!("log: {:?}", event.params.entry.text),
            Event::RuntimeExceptionThrown(event) => format!("exception: {:?}", event.params.exception_details.text),
            Event::RuntimeConsoleAPICalled(_) => "console".to_owned(),
            Event::NetworkRequestWillBeSent(event) => format!("request: {}", event.params.request.url),
            _ => return,
        };
        noted.lock().unwrap().push(told);
    }))
    .unwrap();
    tab.navigate_to(address).unwrap().wait_until_navigated().unwrap();
    Some(Opened { _browser: browser, tab, told })
}

impl Opened {
    /// What `script` gives, as JSON.
    pub(crate) fn ask(&self, script: &str) -> serde_json::Value {
        let answer = self.tab.evaluate(&format!("(async () => JSON.stringify(await ({script})))()"), true).unwrap();
        let text = answer.value.unwrap_or_else(|| panic!("{script}: {:?}", answer.description));
        serde_json::from_str(text.as_str().unwrap()).unwrap()
    }
}

//! Classifies image files with the model of a run.
//!
//! ```sh
//! cargo run --example load_and_predict -p prescient -- runs/drawn photo.png another.jpg
//! ```

use prescient::error::Result;
use prescient::{Image, Predictor};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, photos @ ..] = arguments.as_slice() else {
        eprintln!("usage: load_and_predict RUN IMAGE...");
        std::process::exit(2);
    };
    // After its last finished task, on the CPU.
    let predictor = Predictor::load(run)?;
    let channels = predictor.about().input.channels;
    let images: Vec<Image> = photos.iter().map(|photo| Image::read(photo, channels)).collect::<Result<_, _>>()?;

    for (photo, prediction) in photos.iter().zip(predictor.predict(&images)?) {
        for guess in prediction.guesses.iter().take(3) {
            let known = if predictor.is_seen(guess.slot) { "seen" } else { "not yet photographed" };
            println!("{photo}\t{}\t{:.1} %\t{known}", predictor.class(guess.slot), 100.0 * guess.probability);
        }
    }
    Ok(())
}

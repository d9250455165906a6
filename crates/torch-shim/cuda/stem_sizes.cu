// What `stem.cu` and its caller in C++ agree on.

// Numbers of a patch of 3×3 pixels of 3 channels; with the one that is always 1, and zeros; channels that go out.
constexpr int PATCH = 27, SLOTS = 32, STEM = 64;
// Rows of pooled pixels, or of others, that a block takes at a time.
constexpr int POOLED_ROWS = 4, PLAIN_ROWS = 8;

struct StemShape {
  int images, height, width, out_height, out_width;
};

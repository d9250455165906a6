// libtorch ships without the headers of gloo, and its own names these types only behind pointers: declared here, never used.
#pragma once


def read(path):
    """A photo as the model takes it: bytes, [size, size, channels]."""
    photo = ImageOps.exif_transpose(Image.open(path))
    if photo.mode in ("RGBA", "LA", "PA") or "transparency" in photo.info:
        photo = photo.convert("RGBA")
        photo = Image.alpha_composite(Image.new("RGBA", photo.size, "white"), photo)
    if INPUT["channels"] == "rgb":
        photo = photo.convert("RGB")
    elif photo.mode not in ("1", "L"):
        # The brightness of sRGB; Pillow's own is that of old television sets.
        colours = numpy.asarray(photo.convert("RGB"), dtype=numpy.uint32)
        photo = Image.fromarray((colours @ [2126, 7152, 722] // 10000).astype(numpy.uint8))
    else:
        photo = photo.convert("L")
    size, (width, height) = INPUT["size"], photo.size
    side = min(width, height) * size / INPUT["resize"]
    left, top = (width - side) / 2, (height - side) / 2
    if (width, height, side) != (size, size, size):
        photo = photo.resize((size, size), Image.BILINEAR, box=(left, top, left + side, top + side))
    return numpy.asarray(photo).reshape(size, size, -1)


def batches(paths, count=32):
    """Photos, some at a time: their names, and [batch, size, size, channels]."""
    for start in range(0, len(paths), count):
        some = paths[start : start + count]
        yield some, numpy.stack([read(path) for path in some])

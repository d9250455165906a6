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
    box = ((width - side) / 2, (height - side) / 2, (width + side) / 2, (height + side) / 2)
    # In numbers with a fraction, so that nothing is rounded but the result.
    planes = [plane.convert("F").resize((size, size), Image.BILINEAR, box=box) for plane in photo.split()]
    return numpy.floor(numpy.stack(planes, 2) + 0.5).clip(0, 255).astype(numpy.uint8)


def batches(paths, count=32):
    """Photos, some at a time: their names, and [batch, size, size, channels]."""
    for start in range(0, len(paths), count):
        some = paths[start : start + count]
        yield some, numpy.stack([read(path) for path in some])

"""The image library of the Ikra paper, with parallel arrays: filters that are small functions of images, and fuse.

    filters     blur, sharpen, invert, blend, overlay; masks
    pictures    draws a tower, a sunset and a forest
    files       images from PNG files and into them, by Pillow

An image is an array of height × width ints, of which each is a pixel: 0xRRGGBB. A filter is a function of an image.

    cd nesl_examples; python -m image_library combined.png
"""

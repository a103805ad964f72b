#!/usr/bin/env python3
"""Train the network of this example and write weights.hpp and images.hpp.

    train.py           train, then write both files
    train.py --check   train, then compare with the files that are here; exit 1 if they differ

Needs numpy and scikit-learn (Debian: python3-numpy, python3-sklearn); scikit-learn only supplies the images.
Takes about 15 seconds.

Every fifth image is held out, 360 of 1797, and takes no part in training. The same writers appear on both
sides. The settings below were chosen by training on rows 0 to 1149 and looking at rows 1150 to 1436.

Matrix libraries add in different orders and so give different last bits. To get the same files everywhere,
all that goes into a matrix product or a sum is first rounded to a multiple of 2**-GRID_BITS: the sums are
then exact in float64, and their order cannot matter.
"""

import argparse
import math
import pathlib
import sys
import textwrap

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_digits

SEED = 1
EPOCHS = 80
BATCH = 32
LEARNING_RATE = 0.05
MOMENTUM = 0.9
WEIGHT_DECAY = 0.003
CHANNELS = (8, 16)
CLASSES = 10
GRID_BITS = 18

LINE_WIDTH = 108

NOTICE = """\
// Written by train.py. Do not edit.
// Data: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository,
// https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits, from scikit-learn's copy.
// clang-format off
"""


def grid(x):
    return np.rint(x * 2.0**GRID_BITS) * 2.0**-GRID_BITS


def exact_matmul(a, b):
    a, b = grid(a), grid(b)
    assert a.shape[1] * abs(a).max() * abs(b).max() < 2.0 ** (53 - 2 * GRID_BITS), "the sum may not be exact"
    return a @ b


def windows(x):
    """(n, c, h, w) -> (n*h*w, c*9): the 3x3 window around every pixel."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    view = sliding_window_view(padded, (3, 3), axis=(2, 3))
    return view.transpose(0, 2, 3, 1, 4, 5).reshape(-1, x.shape[1] * 9)


def conv(x, weight):
    n, _, h, w = x.shape
    y = exact_matmul(windows(x), weight.reshape(len(weight), -1).T)
    return y.reshape(n, h, w, len(weight)).transpose(0, 3, 1, 2)


def conv_weight_gradient(gradient, x, weight):
    rows = gradient.transpose(0, 2, 3, 1).reshape(-1, len(weight))
    return exact_matmul(rows.T, windows(x)).reshape(weight.shape)


def conv_input_gradient(gradient, weight):
    """A convolution is undone by the flipped kernel with its channels swapped."""
    return conv(gradient, weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3))


def max_pool(x):
    """Returns the pooled image and, for the way back, which of the four pixels won."""
    n, c, h, w = x.shape
    fours = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
    return fours.max(-1), fours.argmax(-1)


def max_pool_gradient(gradient, winner):
    n, c, h, w = gradient.shape
    fours = (np.arange(4) == winner[..., None]) * gradient[..., None]
    return fours.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, 2 * h, 2 * w)


def channels(bias):
    return bias[:, None, None]


def gradients(parameters, x, labels):
    """The gradient of the summed cross entropy, one array per parameter."""
    w1, b1, w2, b2, w3, b3 = parameters
    z1 = conv(x, w1) + channels(b1)
    h1, winner1 = max_pool(np.maximum(z1, 0))
    z2 = conv(h1, w2) + channels(b2)
    h2, winner2 = max_pool(np.maximum(z2, 0))
    features = h2.reshape(len(x), -1)
    scores = exact_matmul(features, w3) + b3

    powers = grid(np.exp(scores - scores.max(1, keepdims=True)))
    g3 = grid(powers / powers.sum(1, keepdims=True) - np.eye(CLASSES)[labels])
    g2 = grid(max_pool_gradient(exact_matmul(g3, w3.T).reshape(h2.shape), winner2) * (z2 > 0))
    g1 = grid(max_pool_gradient(conv_input_gradient(g2, w2), winner1) * (z1 > 0))
    return (
        conv_weight_gradient(g1, x, w1),
        g1.sum((0, 2, 3)),
        conv_weight_gradient(g2, h1, w2),
        g2.sum((0, 2, 3)),
        exact_matmul(features.T, g3),
        g3.sum(0),
    )


def shifted(images, random):
    """Each image moved left or right by one pixel, or left alone."""
    padded = np.pad(images, ((0, 0), (0, 0), (0, 0), (1, 1)))
    start = random.randint(0, 3, len(images))
    return np.stack([image[:, :, s : s + 8] for image, s in zip(padded, start)])


def train(images, labels):
    random = np.random.RandomState(SEED)

    def uniform(inputs, *shape):
        return (2 * random.random_sample(shape) - 1) * math.sqrt(6 / inputs)

    c1, c2 = CHANNELS
    parameters = [
        uniform(9, c1, 1, 3, 3),
        np.zeros(c1),
        uniform(9 * c1, c2, c1, 3, 3),
        np.zeros(c2),
        uniform(4 * c2, 4 * c2, CLASSES),
        np.zeros(CLASSES),
    ]
    velocities = [np.zeros_like(p) for p in parameters]
    batches = len(images) // BATCH
    for epoch in range(EPOCHS):
        order = random.permutation(len(images))
        for i in range(batches):
            chosen = order[i * BATCH : (i + 1) * BATCH]
            rate = LEARNING_RATE * (1 - (epoch * batches + i) / (EPOCHS * batches))
            found = gradients(parameters, shifted(images[chosen], random), labels[chosen])
            for p, v, g in zip(parameters, velocities, found):
                decay = WEIGHT_DECAY * p if p.ndim > 1 else 0
                v[...] = MOMENTUM * v - rate * (g / BATCH + decay)
                p += v
    return parameters


def to_float16(x):
    return x.astype(np.float32).astype(np.float16)


def predict(parameters, images):
    """What network.cpp computes: float16 after every step of the convolution blocks."""

    def half(x):
        return to_float16(x).astype(np.float64)

    w1, b1, w2, b2, w3, b3 = (half(p) for p in parameters)
    h1, _ = max_pool(np.maximum(half(half(conv(images, w1)) + channels(b1)), 0))
    h2, _ = max_pool(np.maximum(half(half(conv(h1, w2)) + channels(b2)), 0))
    return (h2.reshape(len(images), -1) @ w3 + b3).argmax(1)


def initialiser(array, element, indent=""):
    """Nested braces, broken where a line would be too long."""
    if array.ndim == 0:
        return element(array)
    parts = [initialiser(sub, element, indent + "  ") for sub in array]
    line = "{" + ", ".join(parts) + "}"
    if "\n" not in line and len(indent + line) < LINE_WIDTH:
        return line
    if array.ndim == 1:
        return textwrap.fill(line, LINE_WIDTH - len(indent)).replace("\n", "\n" + indent + " ")
    return "{\n" + ",\n".join(indent + "  " + part for part in parts) + "\n" + indent + "}"


def constant(comment, element_type, name, array, element):
    extents = "".join(f"[{n}]" for n in array.shape)
    value = initialiser(array, element, "    ")
    return f"// {comment}\ninline constexpr {element_type} {name}{extents} =\n    {value};\n"


def header(include, *constants):
    body = "\n".join(constants)
    return f"{NOTICE}#pragma once\n\n{include}\nnamespace digits {{\n\n{body}\n}}  // namespace digits\n"


def weights_header(parameters):
    def float16(comment, name, array):
        codes = to_float16(array).view(np.uint16)
        return constant(f"float16 bit patterns, {comment}", "std::uint16_t", name, codes, "0x{:04x}".format)

    def float32(comment, name, array):
        values = to_float16(array).astype(np.float32)
        return constant(comment, "float", name, values, "{!s}f".format)

    w1, b1, w2, b2, w3, b3 = parameters
    return header(
        "#include <cstdint>\n",
        float16("[out][in][row][column]", "kConv1Weight", w1),
        float16("[out]", "kConv1Bias", b1),
        float16("[out][in][row][column]", "kConv2Weight", w2),
        float16("[out]", "kConv2Bias", b2),
        float32("float16 precision: a product with a float16 is exact; [in][out]", "kDenseWeight", w3),
        float32("float16 precision; [out]", "kDenseBias", b3),
    )


def images_header(pixels, labels):
    bits = pixels.reshape(len(pixels), 1, 64) >> np.arange(5)[:, None] & 1
    planes = (bits.astype(np.uint64) << np.arange(64, dtype=np.uint64)).sum(2, dtype=np.uint64)
    return header(
        "#include <cstddef>\n#include <cstdint>\n",
        f"inline constexpr std::size_t kImageCount = {len(pixels)};\n",
        constant(
            "8x8 images of 17 grey levels, 0 (paper) to 16 (ink), as five bit planes:\n"
            "// bit 8 * row + column of word b is bit b of that pixel.",
            "std::uint64_t",
            "kImages",
            planes,
            "0x{:016x}".format,
        ),
        constant("The digit that each image shows", "std::uint8_t", "kLabels", labels, str),
    )


def main():
    parser = argparse.ArgumentParser(description="Train the network and write weights.hpp and images.hpp.")
    parser.add_argument("--check", action="store_true", help="compare with the files; exit 1 if they differ")
    arguments = parser.parse_args()

    data = load_digits()
    pixels = data.images.astype(np.int64)
    inputs = pixels[:, None] / 16
    held_out = np.arange(len(inputs)) % 5 == 0

    parameters = train(inputs[~held_out], data.target[~held_out])
    right = int((predict(parameters, inputs[held_out]) == data.target[held_out]).sum())
    print(f"{right} of {held_out.sum()} held-out images right")

    headers = {
        "weights.hpp": weights_header(parameters),
        "images.hpp": images_header(pixels[held_out], data.target[held_out]),
    }
    different = 0
    for name, text in headers.items():
        path = pathlib.Path(__file__).with_name(name)
        if not arguments.check:
            path.write_bytes(text.encode())
            print(f"wrote {name}")
        elif not path.exists() or path.read_bytes() != text.encode():
            print(f"{name} is missing or differs from what training gives; run train.py to write it")
            different += 1
        else:
            print(f"{name} is what training gives")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

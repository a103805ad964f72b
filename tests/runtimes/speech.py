"""Features of speech: logarithms of energies in bands of the mel scale, as networks for wake words take them."""
import array
import cmath
import math
import wave

RATE, WINDOW, HOP, POINTS, BANDS = 16000, 400, 160, 512, 32
LOWEST, HIGHEST = 60.0, 3800.0  # Hz


def samples(path):
    """Of a mono file of 16 bits at a multiple of RATE, in -1 to 1."""
    with wave.open(str(path)) as file:
        data, step = array.array('h', file.readframes(file.getnframes())), file.getframerate() // RATE
    return [sum(data[i:i + step]) / step / 32768 for i in range(0, len(data) - step + 1, step)]


def transform(values):
    if len(values) == 1:
        return values
    even, odd = transform(values[::2]), transform(values[1::2])
    turned = [cmath.exp(-2j * math.pi * i / len(values)) * value for i, value in enumerate(odd)]
    return [a + b for a, b in zip(even, turned)] + [a - b for a, b in zip(even, turned)]


def weights():
    """For each band, of each point of the spectrum."""
    low, high = (math.log1p(hertz / 700) for hertz in (LOWEST, HIGHEST))
    edges = [700 * math.expm1(low + (high - low) * i / (BANDS + 1)) for i in range(BANDS + 2)]
    points = [i * RATE / POINTS for i in range(POINTS // 2)]
    return [[max(0.0, min((hertz - left) / (middle - left), (right - hertz) / (right - middle))) for hertz in points]
            for left, middle, right in zip(edges, edges[1:], edges[2:])]


def features(path, frames):
    """The first `frames` frames of BANDS floats each, as bytes; past its end the file is silent."""
    sound, bands, out = samples(path), weights(), array.array('f')
    sound += [0.0] * (frames * HOP + WINDOW - len(sound))
    for frame in range(frames):
        piece = [value * math.sin(math.pi * i / WINDOW) ** 2
                 for i, value in enumerate(sound[frame * HOP:frame * HOP + WINDOW])]
        power = [abs(value) ** 2 for value in transform(piece + [0.0] * (POINTS - WINDOW))[:POINTS // 2]]
        out.extend(math.log10(sum(map(float.__mul__, band, power)) + 1e-10) + 2 for band in bands)
    return out.tobytes()

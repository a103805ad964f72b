"""Makes a small llama with random weights: a GGUF file of version 3, of which the format is public."""
import array
import random
import struct

ALIGNMENT = 32
U32, F32, STRING = 4, 6, 8  # kinds of values
TENSOR_F32, TENSOR_F16, TENSOR_Q8_0 = 0, 1, 8

# Heads of 32 elements, as blocks of q8_0 have.
VOCABULARY, WIDTH, HEADS, LAYERS, HIDDEN = 64, 64, 2, 2, 96


def text(value):
    data = value.encode()
    return struct.pack('<Q', len(data)) + data


def pair(key, kind, value):
    forms = {U32: lambda: struct.pack('<I', value), F32: lambda: struct.pack('<f', value), STRING: lambda: text(value)}
    return text(key) + struct.pack('<I', kind) + forms[kind]()


def tensors():
    """Name and dims, innermost first, of each."""
    yield 'token_embd.weight', (WIDTH, VOCABULARY)
    for layer in range(LAYERS):
        for name, dims in (('attn_norm', (WIDTH,)), ('attn_q', (WIDTH, WIDTH)), ('attn_k', (WIDTH, WIDTH)),
                           ('attn_v', (WIDTH, WIDTH)), ('attn_output', (WIDTH, WIDTH)), ('ffn_norm', (WIDTH,)),
                           ('ffn_gate', (WIDTH, HIDDEN)), ('ffn_up', (WIDTH, HIDDEN)), ('ffn_down', (HIDDEN, WIDTH))):
            yield f'blk.{layer}.{name}.weight', dims
    yield 'output_norm.weight', (WIDTH,)
    yield 'output.weight', (WIDTH, VOCABULARY)


def blocks(values):
    """The bytes of values in blocks of 32, each a 16-bit scale and 32 signed bytes; and what they stand for."""
    data, reals = b'', []
    for i in range(0, len(values), 32):
        scale = struct.pack('<e', max(map(abs, values[i:i + 32])) / 127)
        real_scale = struct.unpack('<e', scale)[0]
        codes = [max(-127, min(127, round(value / real_scale))) for value in values[i:i + 32]]
        data += scale + struct.pack('<32b', *codes)
        reals += [real_scale * code for code in codes]
    return data, reals


def write(path, seed=1, matrices=None, change=lambda name, weights: weights):
    """Matrices are of that type, if one is given, else those of keys in blocks and the others in float32. Returns what the weights in
    blocks stand for, by name."""
    chance = random.Random(seed)
    values = [pair('general.architecture', STRING, 'llama'), pair('general.alignment', U32, ALIGNMENT),
              pair('llama.context_length', U32, 64), pair('llama.embedding_length', U32, WIDTH),
              pair('llama.block_count', U32, LAYERS), pair('llama.feed_forward_length', U32, HIDDEN),
              pair('llama.attention.head_count', U32, HEADS), pair('llama.attention.head_count_kv', U32, HEADS),
              pair('llama.attention.layer_norm_rms_epsilon', F32, 1e-5),
              pair('llama.rope.dimension_count', U32, WIDTH // HEADS), pair('llama.vocab_size', U32, VOCABULARY),
              pair('tokenizer.ggml.model', STRING, 'no_vocab')]
    infos, data, quantised = [], bytearray(), {}
    for name, dims in tensors():
        kind = TENSOR_Q8_0 if 'attn_k' in name else TENSOR_F32
        if matrices is not None:
            kind = matrices if len(dims) == 2 else TENSOR_F32
        infos.append(text(name) + struct.pack(f'<I{len(dims)}QIQ', len(dims), *dims, kind, len(data)))
        size = dims[0] * (dims[1] if len(dims) == 2 else 1)
        scale = 1 if len(dims) == 1 else 0.3
        weights = change(name, [1.0 if len(dims) == 1 else chance.gauss(0, scale) for _ in range(size)])
        if kind == TENSOR_Q8_0:
            stored, quantised[name] = blocks(weights)
            data += stored
        elif kind == TENSOR_F16:
            data += struct.pack(f'<{len(weights)}e', *weights)
        else:
            data += array.array('f', weights).tobytes()
        data += bytes(-len(data) % ALIGNMENT)
    head = b'GGUF' + struct.pack('<IQQ', 3, len(infos), len(values)) + b''.join(values) + b''.join(infos)
    with open(path, 'wb') as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)
    return quantised

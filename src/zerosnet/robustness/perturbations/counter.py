"""Uniform random numbers as a function of integers, the same to the bit on every device.

What is drawn inside a recorded step cannot come from a generator on the host, and one on the device would have a state
and its own numbers. Here number i of a stream is a hash of (seed, position, i), computed in 64-bit integers that never
overflow, so that a CPU, a GPU and a replay of a CUDA graph agree.
"""

import math

import torch
from torch import Tensor

_MASK = 0xFFFFFFFF
# the second factor is 0x846CA68B, less 2^32 so that products stay within 63 bits; modulo 2^32 it is the same
_FACTORS = (0x7FEB352D, 0x846CA68B - (1 << 32))


def mix(x: Tensor) -> Tensor:
    """A bijection of the 32-bit integers (held in int64) in which every bit of x decides about half of all bits.

    Multiply and xor-shift, with the constants of C. Wellons' hash prospector (2018).
    """
    x = x ^ (x >> 16)
    x = (x * _FACTORS[0]) & _MASK
    x = x ^ (x >> 15)
    x = (x * _FACTORS[1]) & _MASK
    return x ^ (x >> 16)


def counted_uniform(seeds: Tensor, position: Tensor, count: int) -> Tensor:
    """Numbers of [0, 1), (K, count): row k belongs to seeds[k] alone; `position` is any number of integers, (n,).

    They are multiples of 2^-24, which float32 holds exactly.
    """
    key = mix((seeds >> 32) & _MASK) ^ (seeds & _MASK)
    for word in position.unbind():
        key = mix(key) ^ (word & _MASK)
    number = mix(torch.arange(count, device=seeds.device))
    return (mix(mix(key)[:, None] ^ number) >> 8).float() * 2.0**-24


def counted_normal(seeds: Tensor, position: Tensor, count: int) -> Tensor:
    """Standard normal numbers, (K, count), of `counted_uniform` ones (Box and Muller, 1958); at most 5.9 in size.

    Devices agree but for the last bits of a logarithm and a cosine.
    """
    pairs = (count + 1) // 2
    first, second = counted_uniform(seeds, position, 2 * pairs).split(pairs, 1)
    radius = (-2 * (first + 2.0**-25).log()).clamp_min(0).sqrt()
    angle = 2 * math.pi * second
    return torch.cat([radius * angle.cos(), radius * angle.sin()], 1)[:, :count]

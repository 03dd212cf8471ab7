"""The bytes of a safetensors file, the same every time for the same content.

A file is the length of its header (8 bytes, little-endian), the header (JSON, padded with spaces to a multiple of 8)
and the tensors. The library writes the metadata in an order that changes from call to call; here every key is sorted.
"""

import json
from collections.abc import Mapping

from torch import Tensor

_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def tensor_file(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """Tensors, contiguous and on the CPU, and metadata as a file's content."""
    from safetensors.torch import save

    content = save(dict(tensors), dict(metadata))
    start = 8 + int.from_bytes(content[:8], "little")
    header = _SORTED.encode(json.loads(content[8:start])).encode()
    header += b" " * (-len(header) % 8)
    return b"".join([len(header).to_bytes(8, "little"), header, memoryview(content)[start:]])

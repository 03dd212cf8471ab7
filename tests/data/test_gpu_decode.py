"""Decoding by the device: what it is asked for, what it is not, and that nothing else depends on who decodes."""

from functools import partial

import pytest
import torch
from tests.data.pictures import write_folder, write_strange_files
from torchvision.io import decode_jpeg

from zerosnet import InputError
from zerosnet.data import Augmentation, open_folder
from zerosnet.data.pictures import jpeg_size
from zerosnet.data.streamed import gpu_decode as device_decode
from zerosnet.data.streamed.batches import Decoder, Stream, training_items
from zerosnet.data.streamed.gpu_decode import File, Reader, decode_on
from zerosnet.training.options import StreamOptions
from zerosnet.training.streamed.trainer import check_decoder

CPU, CROP = torch.device("cpu"), Augmentation(flip=True, area=(0.1, 1.0))


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path)


def decoder_of(folder, side=16):
    return Decoder(open_folder("imagefolder", folder).train, side, CROP, 3)


def batches(decoder, on_device, *, report=pytest.fail, device=CPU, workers=0, batch=10, steps=6):
    items = partial(
        training_items, len(decoder.files), seed=1, batch=batch, part=(0, 1), micro=batch, position=0, steps=steps
    )
    options = {"batch": batch, "device": device, "workers": workers, "report": report}
    return list(Stream(decoder, items, on_device=on_device, **options))


def left_to_workers(contents):
    files = [File(*row) for row in contents.files.tolist()]
    return [file.number for file in files if not file.bytes]


def same(ours, theirs):
    assert len(ours) == len(theirs) > 0
    return all(torch.equal(a, b) for one, other in zip(ours, theirs) for a, b in zip(one, other))


@pytest.mark.parametrize("workers", [0, 2])
def test_boxes_flips_labels_and_order_do_not_depend_on_the_decoder(folder, workers):
    # on the CPU both have the same decoder, and so the same pixels
    decoder = decoder_of(folder)
    assert same(batches(decoder, True, workers=workers), batches(decoder, False))


def test_what_looks_strange_is_left_to_the_processor(folder):
    names = write_strange_files(folder)
    decoder = decoder_of(folder)
    contents = Reader(decoder).__getitems__([(0, index) for index in range(24)])
    assert left_to_workers(contents) == [1, 9, 15]
    assert len(contents.rest.images) == 3 and len(contents.rest.broken) == 2
    said = [[], []]
    found = [batches(decoder, on_device, report=lines.append) for on_device, lines in zip((False, True), said)]
    assert same(*found)
    assert sorted(said[0]) == sorted(said[1]) and {names[9].name, names[15].name} == {
        line.split(" cannot")[0].rpartition("/")[2] for line in said[0]
    }


def test_a_missing_file_is_broken(folder):
    decoder = decoder_of(folder)
    decoder.files.path(5).unlink()
    said = []
    batches(decoder, True, report=said.append)
    assert len(said) == 1 and "No such file" in said[0]


@pytest.mark.parametrize("at_once", [7, 256])
def test_what_the_device_refuses_is_found_and_left_to_the_processor(folder, monkeypatch, at_once):
    decoder = decoder_of(folder)
    expected = decoder.__getitems__([(0, index) for index in range(24)])
    calls, refused = [], {bytes(decoder.files.path(index).read_bytes()) for index in (3, 4, 17)}
    plain = decode_jpeg

    def picky(contents, mode, device="cpu"):
        if isinstance(contents, list):  # so the device is asked; the processor decodes one file at a time
            calls.append(len(contents))
            if any(bytes(content.numpy()) in refused for content in contents):
                raise RuntimeError("not supported")
        return plain(contents, mode)

    monkeypatch.setattr("torchvision.io.decode_jpeg", picky)
    reader = Reader(decoder)
    pieces = [reader.__getitems__([(0, index) for index in range(a, a + 8)]) for a in (0, 8, 16)]
    monkeypatch.setattr(device_decode, "AT_ONCE", at_once)
    found = decode_on(CPU, decoder, pieces)
    assert all(torch.equal(a, b) for a, b in zip(found[:3], expected[:3])) and found.broken == []
    assert calls[0] == min(24, at_once) and len(calls) < 30


@pytest.mark.parametrize("what", ["CUDA out of memory. Tried to allocate", "CUDA error: an illegal memory access"])
def test_what_no_file_is_guilty_of_is_an_error(folder, monkeypatch, what):
    def full(*_, **__):
        raise RuntimeError(what)  # torchvision's decoder raises nothing else

    monkeypatch.setattr("torchvision.io.decode_jpeg", full)
    with pytest.raises(RuntimeError, match=what):
        batches(decoder_of(folder), True)


def test_a_decoder_that_refuses_everything_is_an_error(folder, monkeypatch):
    def no(*_, **__):
        raise RuntimeError("nvjpeg: no")

    monkeypatch.setattr("torchvision.io.decode_jpeg", no)
    with pytest.raises(InputError, match="refuses all of 20 files; --decoder workers goes without it"):
        batches(decoder_of(folder), True, batch=20)


def test_large_files_are_decoded_in_smaller_portions_and_huge_ones_by_workers(folder, monkeypatch):
    decoder = decoder_of(folder)
    items = [(0, index) for index in range(24)]
    sizes = [jpeg_size(decoder.files.path(index).read_bytes()) for index in range(24)]
    pixels = [width * height for width, height in sizes]
    monkeypatch.setattr(device_decode, "PIXELS", 5 * max(pixels))
    monkeypatch.setattr(device_decode, "LARGE", sorted(pixels)[-4])
    contents = Reader(decoder).__getitems__(items)
    assert left_to_workers(contents) == [k for k in range(24) if pixels[k] > sorted(pixels)[-4]]
    portions = list(device_decode._in_portions([File(*row) for row in contents.files.tolist()]))
    assert len(portions) > 3 and all(sum(pixels[k] for k in portion) <= 5 * max(pixels) for portion in portions)
    found = decode_on(CPU, decoder, [contents])
    assert all(torch.equal(a, b) for a, b in zip(found[:3], decoder.__getitems__(items)[:3]))


def test_an_error_of_the_thread_is_an_error_of_the_stream(folder):
    write_strange_files(folder)

    def fatal(line):
        raise InputError(line)

    with pytest.raises(InputError, match="cannot be decoded"):
        batches(decoder_of(folder), True, report=fatal)


def test_a_stream_that_is_given_up_leaves_no_thread(folder):
    import threading

    decoder = decoder_of(folder)
    items = partial(training_items, 24, seed=1, batch=4, part=(0, 1), micro=4, position=0, steps=10**6)
    stream = iter(Stream(decoder, items, batch=4, device=CPU, workers=0, on_device=True, report=pytest.fail))
    next(stream)
    stream.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]


def test_an_unknown_or_unusable_decoder_is_refused():
    check_decoder("workers", CPU, deterministic=True)
    with pytest.raises(InputError, match="decoder is 'gpu', but there is no CUDA device; expected workers"):
        check_decoder("gpu", CPU, deterministic=False)
    with pytest.raises(InputError, match="--deterministic needs --decoder workers"):
        check_decoder("gpu", CPU, deterministic=True)
    with pytest.raises(InputError, match="decoder is 'cpu'; expected one of workers, gpu"):
        StreamOptions(decoder="cpu")

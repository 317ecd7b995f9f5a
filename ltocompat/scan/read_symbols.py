"""The second pass over a batch that reads symbols: of those images alone whose symbols decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.files.images.cubin import Cubin
from ltocompat.model.errors import Malformed
from ltocompat.model.image import ImageKind, Module
from ltocompat.model.symbols import DeviceSymbols, SymbolsToRead
from ltocompat.scan.describe import image_bytes
from ltocompat.scan.device_symbols import of_cubin, of_ptx
from ltocompat.scan.walk import Batch


def with_symbols(batch: Batch, wanted: Sequence[SymbolsToRead]) -> Batch:
    """The batch, with the symbols that are wanted.

    Args:
        batch: as ``walk.batches`` gave it; its bytes can still be read.
        wanted: of which images of its modules, in their order.
    """
    rows = zip(batch.modules, wanted, strict=True)
    return batch.with_modules(
        [
            _read(stored, module, numbers) if numbers.undefined or numbers.every else module
            for (stored, module), numbers in rows
        ]
    )


def _read(stored: StoredModule, module: Module, wanted: SymbolsToRead) -> Module:
    images = list(module.images)
    for number in wanted.undefined:
        if images[number].symbols is None:  # PTX shows them where its kernels are counted
            symbols = symbols_of(stored.images[number])
            left = None if symbols is None else symbols.without_definitions()
            images[number] = replace(images[number], symbols=left)
    for number in wanted.every:
        images[number] = replace(images[number], symbols=symbols_of(stored.images[number]))
    return replace(module, images=tuple(images))


def symbols_of(stored: StoredImage) -> DeviceSymbols | None:
    """The symbols of an image; None where they can't be read, as those of LTO-IR."""
    try:
        if stored.kind is ImageKind.PTX:
            return of_ptx(image_bytes(stored))
        if stored.kind is ImageKind.SASS:
            view = ByteView.of(image_bytes(stored))
            return of_cubin(Cubin.parse(view, stored.payload.budget.limits))
    except Malformed:  # which the first pass has told already, where it read that far
        return None
    return None

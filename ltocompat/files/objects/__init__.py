"""Host files: what surrounds device code, and what the host's linker and loader need.

``read_host`` is the door; the rest are the values that it hands out.
"""

from ltocompat.files.objects.host_file import ObjectFile, read_host
from ltocompat.files.objects.structure import Section
from ltocompat.files.objects.wrappers import Registration

__all__ = ["ObjectFile", "Registration", "Section", "read_host"]

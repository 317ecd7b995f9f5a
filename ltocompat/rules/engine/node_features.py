"""Requirements as the compatibility specification of an image for Node Feature Discovery.

Source: kubernetes-sigs/node-feature-discovery, docs/usage/image-compatibility.md (``v1alpha1``) and
customization-guide.md, "Feature rule format": ``local.label`` has the labels of feature files, as
gpu-feature-discovery writes one; Gt and GtLt compare integers and refuse anything else. The third
number of a driver may be empty (550.120), which is why a pattern stands for it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from ltocompat.facts.drivers import driver_branches
from ltocompat.model.generic import grouped
from ltocompat.model.requirement import NEXT, GpuSupport, Required
from ltocompat.rules.services import promised, runs_anywhere

_DRIVER, _GPU = "nvidia.com/cuda.driver-version", "nvidia.com/gpu.compute"


def specification(artifacts: Iterable[Required]) -> Iterator[str]:
    """Yield the YAML lines for an image with these artifacts: one rule each, which all must match.

    Unknown future GPUs are left out.
    """
    yield "version: v1alpha1"
    yield "compatibilities:"
    yield "- description: drivers and GPUs that its CUDA code runs with"
    yield "  rules:"
    for required in artifacts:
        alike = grouped(
            ((service.driver, service.last_driver, service.number // 10), service)
            for service in promised(required.services)
            if service.driver is not None and service.name != NEXT
        )
        yield f"  - name: {json.dumps(os.path.basename(required.path))}"
        if not runs_anywhere(required):  # NFD takes a rule without any matcher as met
            yield "    matchAny:"
            found = chain.from_iterable(map(_matchers, alike.values()))
            yield from (f"    - {json.dumps(matcher)}" for matcher in [*found] or [_NO_NODE])


def _matchers(services: list[GpuSupport]) -> Iterator[dict[str, Any]]:
    """GPUs of one major with one span of drivers: by each way to be as new as the floor."""
    first, last = services[0].driver, services[0].last_driver
    major, minor, revision, *_ = (*(first.numbers if first else ()), 0, 0)
    end = last.branch + 1 if last and last.branch < driver_branches()[-1] else None
    later = _op("Gt", major) if end is None else _op("GtLt", major, end)
    same = {f"{_DRIVER}.major": _op("In", major)}
    ways: list[dict[str, Any]] = [
        {f"{_DRIVER}.major": later},
        same | {f"{_DRIVER}.minor": _op("Gt", minor if revision else minor - 1)},
    ]
    if revision:
        tens, ones = divmod(revision, 10)
        newer = f"^({tens}[{ones}-9]|[{tens + 1}-9][0-9])$" if tens < 9 else f"^9[{ones}-9]$"
        exact = {f"{_DRIVER}.minor": _op("In", minor)}
        ways.append(same | exact | {f"{_DRIVER}.revision": _op("InRegexp", newer)})
    gpus: Mapping[str, object] = {
        f"{_GPU}.major": _op("In", services[0].number // 10),
        f"{_GPU}.minor": _op("In", *(service.number % 10 for service in services)),
    }
    yield from (_matcher({**gpus, **way}) for way in ways)


def _matcher(expressions: Mapping[str, object]) -> dict[str, Any]:
    return {"matchFeatures": [{"feature": "local.label", "matchExpressions": expressions}]}


def _op(name: str, *values: object) -> dict[str, Any]:
    return {"op": name, "value": [*map(str, values)]}


_NO_NODE = _matcher({f"{_GPU}.major": _op("In", 0)})

"""BLD-07: an option that a newer nvcc brought stops an older one."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="BLD-07",
    title="Option or architecture newer than nvcc",
    statement="nvcc knows --compress-mode from 12.8 on, architectures with f (sm_100f) from 12.9, "
    "and --concat from 13.4. An older one stops.",
    condition="A build gives nvcc an option or an architecture that it doesn't know. That is in "
    "the log of the build, not in its files.",
    evidence="The error text.",
    verdict="fail: nvcc stops",
    messages=(
        "nvcc fatal : Unknown option '--compress-mode=size'",
        "nvcc fatal : Unknown option '--concat'",
        "nvcc fatal : Unsupported gpu architecture 'compute_100f'",
        "Unsupported gpu architecture 'compute_120'",
    ),
    remedy="Compile with a newer toolkit, or give the option only where nvcc --version is new "
    "enough.",
    source="nvcc guide 13.4, 4.2.3; mlx pull request 2407; measured: ptxas --help of 16 toolkits",
)

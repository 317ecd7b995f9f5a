"""Machines as their tools print them: nvidia-smi, Kubernetes, Slurm, PyTorch, container files."""

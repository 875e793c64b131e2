"""Pantograph's operators for Python; those for PyTorch are in pantograph.torch."""

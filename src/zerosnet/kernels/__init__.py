"""CUDA kernels for the training step of the CIFAR-size networks. Nothing here is compiled where there is no device."""

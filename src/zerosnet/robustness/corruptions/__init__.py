"""Common corruptions made by code, at the severities of CIFAR-10-C."""

"""The wiring of any residual network, read from outside."""

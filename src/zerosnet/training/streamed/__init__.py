"""One network trained on streamed images, by one process or several."""

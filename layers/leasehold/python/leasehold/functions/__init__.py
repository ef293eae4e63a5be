"""The system's own functions. They run from the layer: a deployed function holds one line that imports its handler."""

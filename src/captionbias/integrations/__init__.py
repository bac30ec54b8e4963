"""The metrics as other evaluation libraries have them, one module a library; `evaluate` is in `captionbias.hub`."""

"""The version of the package; its own module, so that what names it does not import the package."""

__version__ = "0.3.0"

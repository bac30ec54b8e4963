"""Datasets from the original files of the studies: checked, documented, written as Parquet with a card."""

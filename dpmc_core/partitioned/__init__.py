"""Matrices larger than memory: ratings in partitioned Parquet, on one machine or a Dask cluster."""

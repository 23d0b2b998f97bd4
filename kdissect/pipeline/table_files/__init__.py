"""Tables as Parquet files: what tasks write, small files joined, and the manifest that names what counts."""

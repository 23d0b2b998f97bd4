"""`spark.read.format("kdissect")`: captures as tables, without a shuffle."""

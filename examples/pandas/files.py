"""Joins and aggregates with pandas over Parquet files that the command line has written."""

import pandas as pd

flights = pd.read_parquet("flights.parquet")
airports = pd.read_parquet("airports.parquet")
by_city = flights.merge(airports, left_on="origin", right_on="code").groupby("city")["delay"].agg(["count", "mean"])
print(by_city.sort_values("mean", ascending=False).to_string())

# analyse.sh inserts the answer into the catalog, as a table of its own.
by_city.reset_index().to_parquet("delays.parquet", index=False)

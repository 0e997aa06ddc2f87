#!/bin/sh
# Tables go from CSV into a catalog, from there as Parquet files to pandas, and the answer comes back.
set -e
npx tabularium create ./catalog flights --data flights.csv --mode Overwrite > /dev/null
npx tabularium create ./catalog airports --data airports.csv --mode Overwrite > /dev/null

npx tabularium query ./catalog flights --columns origin,delay --where 'delay >= 0' -o flights.parquet
npx tabularium query ./catalog airports -o airports.parquet
python3 files.py

npx tabularium create ./catalog delays --data delays.parquet --mode Overwrite > /dev/null
npx tabularium count ./catalog delays --where 'mean > 40'

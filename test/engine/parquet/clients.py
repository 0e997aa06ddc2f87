"""Parquet files of pyarrow, DuckDB and polars: clients.py write|check FOLDER [SEED].

`write` makes files NAME.parquet, each with NAME.arrow, which has the rows that it must have. `check` compares what was
read of them, NAME.out.*, and what was written again, NAME.ours, which all of them read. It prints what differs.
"""

import datetime
import decimal
import glob
import json
import os
import random
import sys

import duckdb
import numpy
import polars
import pyarrow as pa
import pyarrow.parquet as pq

words = ["red", "green", "", "blue"]
leaves = [
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
    pa.float16(), pa.float32(), pa.float64(), pa.decimal128(5, 2), pa.decimal128(15, 4), pa.decimal128(38, 10),
    pa.decimal256(60, 3), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"),
    pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"),
    pa.timestamp("us", "UTC"), pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("s", "UTC"), pa.duration("ms"),
    pa.duration("ns"), pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(7),
    pa.string_view(), pa.binary_view(), pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.string()),
]  # fmt: skip
ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Random(random.Random):
    def text(self):
        return "".join(self.choice('abäß😀\u0000"') for _ in range(self.choice([0, 1, 3, 13, 40])))

    def leaf(self, t):
        if pa.types.is_boolean(t):
            return self.random() < 0.5
        if pa.types.is_integer(t):
            bits, signed = t.bit_width, pa.types.is_signed_integer(t)
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
            return self.choice([low, high, 0, 1, self.randint(low, high)])
        if pa.types.is_float16(t):
            return numpy.float16(self.choice([0, 1.5, -2, 65504]))
        if pa.types.is_floating(t):
            return self.choice([0.0, -0.0, 1.5, float("inf"), self.uniform(-9, 9) if t == pa.float64() else 0.25])
        if pa.types.is_decimal(t):
            most = 10 ** min(t.precision, 28) - 1
            return decimal.Decimal(self.randint(-most, most)).scaleb(-t.scale)
        if pa.types.is_date(t):
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=self.randint(-99999, 99999))
        if pa.types.is_time(t):
            return datetime.time(self.randint(0, 23), self.randint(0, 59), self.randint(0, 59))
        if pa.types.is_timestamp(t):
            return self.randint(-(10**9), 10**9) * ticks[t.unit] + (0 if t.unit == "s" else self.randint(0, 999))
        if pa.types.is_duration(t):
            return self.randint(-(10**9), 10**9)
        if pa.types.is_fixed_size_binary(t):
            return self.randbytes(t.byte_width)
        if pa.types.is_dictionary(t):
            return self.choice(words)
        text = self.text()
        return text.encode()[:17] if "binary" in str(t) else text

    def value(self, t, nullable=True):
        if pa.types.is_null(t) or (nullable and self.random() < 0.2):
            return None
        if pa.types.is_struct(t):
            return {f.name: self.value(f.type, f.nullable) for f in t}
        if pa.types.is_map(t):
            pairs = range(self.choice([0, 1, 3]))
            return [(self.value(t.key_type, False), self.value(t.item_type)) for _ in pairs]
        if pa.types.is_fixed_size_list(t):
            return [self.value(t.value_type, t.value_field.nullable) for _ in range(t.list_size)]
        if pa.types.is_list(t) or pa.types.is_large_list(t):
            return [self.value(t.value_type, t.value_field.nullable) for _ in range(self.choice([0, 0, 1, 2, 5]))]
        return self.leaf(t)

    def type(self, depth):
        kind = self.random() if depth > 0 else 0
        if kind < 0.5:
            return self.choice(leaves)
        if kind < 0.65:
            return pa.list_(pa.field("item", self.type(depth - 1), self.random() < 0.7))
        if kind < 0.7:
            return pa.large_list(pa.field("item", self.type(depth - 1)))
        if kind < 0.75:
            return pa.list_(pa.field("item", self.choice(leaves[1:13])), 3)
        if kind < 0.85:
            return pa.map_(self.choice([pa.string(), pa.int32()]), self.type(depth - 1))
        names = ["a", "b", "__proto__"][: self.randint(1, 3)]
        return pa.struct([pa.field(name, self.type(depth - 1), self.random() < 0.7) for name in names])


def table_of(rnd, schema, count):
    columns = []
    for field in schema:
        values = [rnd.value(field.type, field.nullable) for _ in range(count)]
        plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        columns.append(pa.array(values, plain).cast(field.type) if plain != field.type else pa.array(values, plain))
    return pa.table(columns, schema=schema)


def save(path, table):
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def write(folder, seed):
    rnd, made = Random(seed), 0

    def one(schema, count, **options):
        nonlocal made
        table = table_of(rnd, schema, count)
        pq.write_table(table, f"{folder}/{made:03}.parquet", **options)
        save(f"{folder}/{made:03}.arrow", table)
        made += 1

    for leaf in leaves:
        one(pa.schema([pa.field("x", leaf), pa.field("r", leaf, nullable=False)]), 300)
    one(pa.schema([pa.field("x", pa.null())]), 10)
    for _ in range(80):
        fields = [pa.field(f"c{i}", rnd.type(3), rnd.random() < 0.8) for i in range(rnd.randint(1, 5))]
        one(
            pa.schema(fields),
            rnd.choice([0, 1, 50, 333]),
            compression=rnd.choice(["snappy", "gzip", "brotli", "zstd", "lz4", "none"]),
            use_dictionary=rnd.random() < 0.5,
            data_page_version=rnd.choice(["1.0", "2.0"]),
            row_group_size=rnd.choice([7, 100, 1000]),
            data_page_size=rnd.choice([64, 1000, 2**20]),
            write_page_checksum=rnd.random() < 0.3,
        )
    encodings = {
        "DELTA_BINARY_PACKED": [pa.int32(), pa.int64()],
        "BYTE_STREAM_SPLIT": [pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.binary(5)],
        "DELTA_LENGTH_BYTE_ARRAY": [pa.string(), pa.binary()],
        "DELTA_BYTE_ARRAY": [pa.string(), pa.binary(5)],
        "RLE": [pa.bool_()],
        "PLAIN": [pa.bool_(), pa.string()],
    }
    for encoding, types in encodings.items():
        for leaf in types:
            for version in ["1.0", "2.0"]:
                one(
                    pa.schema([("x", leaf), ("l", pa.list_(leaf))]),
                    1000,
                    use_dictionary=False,
                    column_encoding={"x": encoding, "l.list.element": encoding},
                    data_page_version=version,
                    data_page_size=500,
                )
    others(folder)


def others(folder):
    """Files of DuckDB and polars, which must have what pyarrow reads in them."""
    rows = """SELECT i::INT AS i, (i * 1000000007)::BIGINT AS big, i / 7 AS real, i % 3 = 0 AS yes,
        CASE WHEN i % 5 > 0 THEN 'word ' || i % 11 END AS text, (i / 100)::DECIMAL(18, 3) AS price,
        DATE '2024-01-01' + i::INT AS day, TIMESTAMP '2024-01-01' + INTERVAL (i) SECOND AS local,
        (TIMESTAMP '2024-01-01' + INTERVAL (i) SECOND)::TIMESTAMPTZ AS instant, [i, NULL, i + 1] AS list,
        {'a': i, 'b': [i::VARCHAR]} AS nested, MAP {'k' || i: i} AS pairs, ('x' || i)::BLOB AS bytes, i::UTINYINT AS small
        FROM range(250) t(i)"""
    for codec in ["snappy", "zstd", "gzip", "brotli", "lz4_raw", "uncompressed"]:
        for version in ["v1", "v2"]:
            path = f"{folder}/duckdb-{codec}-{version}.parquet"
            options = f"FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048"
            duckdb.sql(f"COPY ({rows}) TO '{path}' ({options})")
    frame = polars.DataFrame(
        {
            "n": [1, None, 3],
            "t": ["a", None, "ä"],
            "c": polars.Series(["x", "y", "x"], dtype=polars.Categorical),
            "l": [[1, 2], [], None],
            "s": [{"a": 1.5, "b": "x"}, {"a": None, "b": None}, None],
            "d": [datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)],
            "at": [datetime.datetime(2024, 2, 29, 1, 2, 3, 4), None, datetime.datetime(1960, 1, 1)],
            "took": [datetime.timedelta(seconds=1), None, datetime.timedelta(microseconds=5)],
            "p": polars.Series([decimal.Decimal("1.25"), None, decimal.Decimal("-3")], dtype=polars.Decimal(10, 2)),
        }
    )
    for codec in ["snappy", "zstd", "gzip", "brotli", "lz4", "uncompressed"]:
        frame.write_parquet(f"{folder}/polars-{codec}.parquet", compression=codec)
    for path in glob.glob(f"{folder}/*[a-z0-9]-*.parquet"):
        save(path[:-8] + ".arrow", pq.read_table(path))


def readers():
    """How each program reads a file, and whether it may fail on one of pyarrow's."""
    return {
        "duckdb": lambda path: duckdb.sql(f"SELECT * FROM read_parquet('{path}')").fetchall(),
        "polars": lambda path: polars.read_parquet(path).rows(),
    }


def check(folder):
    """Compares everything, and returns how many files, and what differs."""
    found, files = [], sorted(glob.glob(f"{folder}/*.arrow"))
    for path in files:
        base, name = path[:-6], os.path.basename(path)[:-6]
        want = pa.ipc.open_file(path).read_all()
        parts = [pa.ipc.open_stream(part).read_all() for part in sorted(glob.glob(f"{base}.out.*"))]
        for part in parts:
            part.validate(full=True)
        rows = [row for part in parts for row in part.to_pylist()]
        schemas = {str(part.schema.remove_metadata()) for part in parts}
        # Types are those that polars keeps in the file; pyarrow names items and texts of dictionaries otherwise.
        if not name.startswith("polars") and schemas != {str(want.schema.remove_metadata())}:
            found.append(f"{name}: read with other types: {schemas} for {want.schema.remove_metadata()}")
        if repr(rows) != repr(want.to_pylist()):
            found.append(f"{name}: read with other rows")
        # pyarrow cannot read null lists of fixed size in a map or struct, not even those it wrote.
        try:
            own = pq.read_table(f"{base}.parquet")
        except pa.ArrowInvalid:
            continue
        again = pq.read_table(f"{base}.ours")
        again.validate(full=True)
        # Parquet has no seconds and no days in milliseconds: pyarrow reads its own file with other types, too.
        if again.schema.remove_metadata() != own.schema.remove_metadata():
            found.append(f"{name}: written with other types")
        if repr(again.to_pylist()) != repr(want.to_pylist()):
            found.append(f"{name}: written with other rows")
        for program, read in readers().items():
            try:
                theirs = read(f"{base}.parquet")
            except BaseException:  # What a program refuses of pyarrow's, it may refuse of ours.
                continue
            try:
                if repr(read(f"{base}.ours")) != repr(theirs):
                    found.append(f"{name}: {program} reads other rows")
            except BaseException as error:
                found.append(f"{name}: {program} refuses it: {error}")
    return {"files": len(files), "found": found}


def statistics(path):
    """The statistics of the columns of a file's first row group, as pyarrow reads them."""
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    return {
        c.path_in_schema: [str(c.statistics.min), str(c.statistics.max), c.statistics.null_count] for c in columns
    }


if __name__ == "__main__":
    command, folder, *rest = sys.argv[1:]
    if command == "write":
        write(folder, int(rest[0]))
    elif command == "statistics":
        print(json.dumps(statistics(folder)))
    else:
        print(json.dumps(check(folder)))

"""Parquet files of Spark: spark.py FOLDER SEED.

It reads FOLDER/ours/NAME.parquet and compares their rows with NAME.json. Those that it refuses are named by their type. Then
it writes folders FOLDER/spark/NAME.parquet, each with NAME.json, which has the rows that it must have. It prints what
differs. Values are texts that spark.test.ts makes alike: see `plain`.
"""

import datetime
import decimal
import glob
import json
import os
import random
import struct
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import types as t

epoch = datetime.datetime(1970, 1, 1)
microsecond = datetime.timedelta(microseconds=1)
settings = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    # Compiling a program for each schema takes longer than all rows without one.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Times before 1900 and dates before 1582 are meant as they stand, and not in the calendar of old releases.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}


def plain(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return "NaN" if value != value else struct.pack(">d", value).hex()
    if isinstance(value, decimal.Decimal):
        # Spark's own zeros after the last digit are as many as it likes.
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, datetime.datetime):
        return str((value - epoch) // microsecond)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, dict):
        pairs = [[plain(key), plain(item)] for key, item in value.items()]
        return sorted(pairs, key=lambda pair: json.dumps(pair[0], ensure_ascii=False).encode())
    return [plain(item) for item in value]


names = {
    t.BooleanType(): "bool", t.ByteType(): "int8", t.ShortType(): "int16", t.IntegerType(): "int32",
    t.LongType(): "int64", t.FloatType(): "float", t.DoubleType(): "double", t.StringType(): "string",
    t.BinaryType(): "binary", t.DateType(): "date32:day", t.TimestampNTZType(): "timestamp:us:-",
}  # fmt: skip
leaves = [*names, t.TimestampType(), t.DecimalType(5, 2), t.DecimalType(18, 4), t.DecimalType(38, 10)]


def type_text(kind, times, item):
    """A type as the catalog has it. `times` is what timestamps with a zone become, and `item` the name in lists."""

    def field(name, inner, nullable):
        return f"{name} {type_text(inner, times, item)}{'' if nullable else ' not null'}"

    if isinstance(kind, t.DecimalType):
        return f"decimal:128:{kind.precision}:{kind.scale}"
    if isinstance(kind, t.TimestampType):
        return times
    if isinstance(kind, t.ArrayType):
        return f"list<{field(item, kind.elementType, kind.containsNull)}>"
    if isinstance(kind, t.MapType):
        return f"map<{field('key', kind.keyType, False)}, {field('value', kind.valueType, kind.valueContainsNull)}>"
    if isinstance(kind, t.StructType):
        return f"struct<{', '.join(field(f.name, f.dataType, f.nullable) for f in kind)}>"
    return names[kind]


class Random(random.Random):
    def kind(self, depth):
        which = self.random() if depth > 0 else 0
        if which < 0.5:
            return self.choice(leaves)
        if which < 0.7:
            return t.ArrayType(self.kind(depth - 1), self.random() < 0.7)
        if which < 0.8:
            return t.MapType(self.choice([t.StringType(), t.IntegerType()]), self.kind(depth - 1), self.random() < 0.7)
        return t.StructType([self.field(name, depth - 1) for name in ["a", "b", "ü c"][: self.randint(1, 3)]])

    def field(self, name, depth):
        return t.StructField(name, self.kind(depth), self.random() < 0.7)

    def value(self, kind, nullable, step):
        """A value of a type. Times are multiples of so many microseconds."""
        if nullable and self.random() < 0.2:
            return None
        if isinstance(kind, t.BooleanType):
            return self.random() < 0.5
        bits = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}.get(type(kind))
        if bits is not None:
            low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
            return self.choice([low, high, 0, 1, self.randint(low, high)])
        if isinstance(kind, t.FloatType):
            return self.choice([0.0, -0.0, 1.5, float("inf"), float("nan"), self.randint(-999, 999) / 8])
        if isinstance(kind, t.DoubleType):
            return self.choice([-0.0, float("-inf"), float("nan"), self.uniform(-9, 9)])
        if isinstance(kind, t.DecimalType):
            most = 10**kind.precision - 1
            digits = self.choice([0, most, -most, self.randint(-most, most)])
            return decimal.Decimal(f"{digits}E-{kind.scale}")
        if isinstance(kind, t.DateType):
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=self.randint(-200_000, 200_000))
        if isinstance(kind, (t.TimestampType, t.TimestampNTZType)):
            return epoch + microsecond * (self.randint(-(6 * 10**15), 6 * 10**15) // step * step)
        if isinstance(kind, t.BinaryType):
            return self.randbytes(self.choice([0, 1, 20]))
        if isinstance(kind, t.StringType):
            return self.choice(["red", "green", "", "".join(self.choice('aäß😀\u0000"') for _ in range(12))])
        if isinstance(kind, t.ArrayType):
            many = range(self.choice([0, 0, 1, 2, 5]))
            return [self.value(kind.elementType, kind.containsNull, step) for _ in many]
        if isinstance(kind, t.MapType):
            keys = [self.value(kind.keyType, False, step) for _ in range(self.choice([0, 1, 3]))]
            return {key: self.value(kind.valueType, kind.valueContainsNull, step) for key in keys}
        return tuple(self.value(f.dataType, f.nullable, step) for f in kind)


def refusal(error):
    """What Spark says of a file that it refuses: the innermost cause."""
    cause = getattr(error, "java_exception", None)
    if cause is None:
        return str(error)
    while cause.getCause() is not None:
        cause = cause.getCause()
    return cause.toString()


def read_ours(spark, folder):
    found, refused, read = [], {}, 0
    for path in sorted(glob.glob(f"{folder}/*.parquet")):
        name = os.path.basename(path)[:-8]
        with open(f"{path[:-8]}.json", encoding="utf-8") as file:
            wanted = json.load(file)
        try:
            rows = spark.read.parquet(path).collect()
        except Exception as error:
            refused[name] = refusal(error)
            continue
        read += 1
        rows = [plain(row) for row in rows]
        if rows != wanted:
            pairs = [pair for pair in zip(rows, wanted) if pair[0] != pair[1]]
            found.append(f"{name}: Spark reads {len(rows)} rows for {len(wanted)}, other ones: {pairs[:1]}")
    return found, refused, read


def write(spark, folder, seed):
    """Files in all forms that Spark has: codecs, versions, timestamps, lists as of old, many row groups and pages."""
    rnd = Random(seed)
    kinds = [("INT96", "timestamp:ns:-"), ("TIMESTAMP_MICROS", "timestamp:us:UTC"), ("TIMESTAMP_MILLIS", "timestamp:ms:UTC")]
    codecs = ["snappy", "gzip", "zstd", "none", "lz4"]
    for made in range(24):
        kind, times = kinds[made % 3]
        is_legacy = made % 4 == 3
        step = 1000 if kind == "TIMESTAMP_MILLIS" else 1
        if made < 6:
            schema = t.StructType([t.StructField(f"c{i}", leaf, i % 3 > 0) for i, leaf in enumerate(leaves)])
        else:
            schema = t.StructType([rnd.field(f"c{i}", 3) for i in range(rnd.randint(1, 4))])
        count = 2_000 if made < 3 else rnd.choice([0, 1, 60])
        rows = [rnd.value(schema, False, step) for _ in range(count)]
        spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
        spark.conf.set("spark.sql.parquet.writeLegacyFormat", str(is_legacy).lower())
        options = {
            "compression": codecs[made % 5],
            "parquet.writer.version": ["v1", "v2"][made // 3 % 2],
            "parquet.enable.dictionary": str(made % 2 == 0).lower(),
            "parquet.block.size": "20000",
            "parquet.page.size": "2000",
        }
        frame = spark.createDataFrame(rows, schema, verifySchema=False).coalesce(1)
        frame.write.options(**options).parquet(f"{folder}/{made:02}.parquet")
        item = "array" if is_legacy else "element"
        types = [f"{f.name} {type_text(f.dataType, times, item)}{'' if f.nullable else ' not null'}" for f in schema]
        with open(f"{folder}/{made:02}.json", "w", encoding="utf-8") as file:
            json.dump({"types": types, "rows": plain(rows)}, file, ensure_ascii=False)


def main(folder, seed):
    os.environ["TZ"] = "UTC"
    time.tzset()
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    found, refused, read = read_ours(spark, f"{folder}/ours")
    types = [kind for _, kind in spark.read.parquet(f"{folder}/ours/every.parquet").dtypes]
    write(spark, f"{folder}/spark", seed)
    print(json.dumps({"found": found, "refused": refused, "read": read, "types": types}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

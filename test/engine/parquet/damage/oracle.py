"""What pyarrow says of damaged Parquet files: oracle.py write|check FOLDER [SEED].

`write` makes sound files NAME.sound of many types, encodings and codecs. `check` reads each KIND-NAME-NUMBER.parquet, in
processes that may die of it, and compares the rows with those of ours, the Arrow stream KIND-NAME-NUMBER.ours. It prints
what it found of each file: "wrong" where rows were read that pyarrow does not read.
"""

import functools
import glob
import json
import os
import random
import resource
import sys

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def write(folder, seed):
    from clients import Random, leaves, table_of

    rnd, made = Random(seed), 0

    def one(schema, count, **options):
        nonlocal made
        path = f"{folder}/{made:03}.sound"
        try:
            pq.write_table(table_of(rnd, schema, count), path, **options)
            pq.ParquetFile(path).read(use_threads=False)
            made += 1
        except (pa.ArrowException, IndexError, OSError):
            # pyarrow cannot write dictionaries without values in lists, nor read null lists of fixed size in structs.
            if os.path.exists(path):
                os.remove(path)

    encodings = {
        "DELTA_BINARY_PACKED": [pa.int32(), pa.int64()],
        "BYTE_STREAM_SPLIT": [pa.int32(), pa.float64(), pa.binary(5)],
        "DELTA_LENGTH_BYTE_ARRAY": [pa.string()],
        "DELTA_BYTE_ARRAY": [pa.string(), pa.binary(5)],
        "RLE": [pa.bool_()],
        "PLAIN": [pa.bool_(), pa.string(), pa.decimal128(15, 4)],
    }
    for encoding, types in encodings.items():
        for leaf in types:
            schema = pa.schema([("x", leaf), ("l", pa.list_(leaf))])
            columns = {"x": encoding, "l.list.element": encoding}
            version = rnd.choice(["1.0", "2.0"])
            options = {"use_dictionary": False, "column_encoding": columns, "compression": "none"}
            one(schema, 200, data_page_version=version, data_page_size=300, **options)
    kinds = [leaf for leaf in leaves if not pa.types.is_dictionary(leaf)]
    for i in range(40):
        fields = [pa.field(f"c{j}", rnd.type(2), rnd.random() < 0.8) for j in range(rnd.randint(1, 3))]
        fields.append(pa.field("d", kinds[i % len(kinds)]))
        one(
            pa.schema(fields),
            rnd.choice([1, 20, 150]),
            compression=rnd.choice(["none", "none", "none", "snappy", "gzip", "brotli", "zstd", "lz4"]),
            use_dictionary=rnd.random() < 0.6,
            data_page_version=rnd.choice(["1.0", "2.0"]),
            row_group_size=rnd.choice([30, 1000]),
            data_page_size=rnd.choice([64, 400, 2**20]),
            store_schema=rnd.random() < 0.5,
        )


def is_same(own, theirs):
    """Whether two tables have the same rows. Types may differ where they have the same values."""
    if own.schema.types != theirs.schema.types:
        try:
            own = own.cast(theirs.schema)
        except (pa.ArrowException, ValueError):
            return False
    # NaN is not equal to itself, and Python has not all dates and times.
    return own.equals(theirs) or repr(own.to_pylist()) == repr(theirs.to_pylist())


def judge(path, sound):
    """What pyarrow makes of one file, beside the rows that were read of it here, if any."""
    ours = f"{path[:-8]}.ours"
    own = None
    if os.path.exists(ours):
        own = pa.ipc.open_stream(ours).read_all()
        own.validate()
    try:
        theirs = pq.ParquetFile(path).read(use_threads=False)
        theirs.validate()
        if own is None:
            return "refused here"
        return "same" if is_same(own, theirs) else "wrong: other rows"
    except (Exception, MemoryError) as error:
        text = f"{type(error).__name__} {str(error)[:150]}"
    if own is None:
        return f"refused: {text}"
    # The columns of Parquet are complete without the schema of Arrow, which pyarrow needs, if it is there. It needs keys
    # that are required by the schema, too, rather than by their values.
    if any(part in text for part in ["base64", "flatbuffers", "schema message", "Map keys must"]):
        return f"lenient: {text}"
    # Damage where nobody needs to look leaves the rows as they were.
    return f"same as before: {text}" if is_same(own, sound(path)) else f"wrong: rows, for {text}"


def name_of(path):
    return os.path.basename(path)[:-8]


def died(path):
    """A file of which pyarrow dies tells nothing of the rows."""
    return "died, and read here" if os.path.exists(f"{path[:-8]}.ours") else "died"


def check(folder):
    """Judges all files, and tells of each. A process for the next ones takes the place of one that died."""
    found = {}

    @functools.cache
    def table_of_sound(name):
        return pq.ParquetFile(f"{folder}/{name}.sound").read(use_threads=False)

    def sound(path):
        return table_of_sound(name_of(path).split("-")[1])

    left = sorted(glob.glob(f"{folder}/*.parquet"))
    while left:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
            for path in left:
                os.write(writing, (json.dumps([path, judge(path, sound)]) + "\n").encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as lines:
            for line in lines:
                path, verdict = json.loads(line)
                found[name_of(path)] = verdict
        os.waitpid(child, 0)
        left = [path for path in left if name_of(path) not in found]
        if left:
            path = left.pop(0)
            found[name_of(path)] = died(path)
    return found


command, folder, *rest = sys.argv[1:]
if command == "write":
    write(folder, int(rest[0]))
else:
    print(json.dumps(check(folder)))

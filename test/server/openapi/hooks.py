"""What schemathesis cannot know by itself: bodies of Arrow, and the names of things that are there."""

import os
from pathlib import Path

import schemathesis
from hypothesis import strategies as st

ARROW = ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file")
BODIES = [path.read_bytes() for path in sorted(Path(os.environ["ARROW_BODIES"]).iterdir())]

for media_type in ARROW:
    schemathesis.openapi.media_type(media_type, st.sampled_from(BODIES))


@schemathesis.deserializer(*ARROW)
def read_arrow(context, response):
    return response.content


# Names that it makes up are of nothing that is there, and most answers would be 404.
NAMES = ["prod", "prod$flights", "prod$new", "$"]


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    name = str((path_parameters or {}).get("id", ""))
    if name == "" or "/transaction/" in context.operation.path or len(name) % 2 == 1:
        return path_parameters
    return {**path_parameters, "id": NAMES[len(name) // 2 % len(NAMES)]}

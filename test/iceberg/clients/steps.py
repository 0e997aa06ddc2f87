"""What the flows share: a step prints a line of JSON, and a failed one does not end the flow."""

import json
import sys
import traceback


def tell(step, ok, detail=""):
    print(json.dumps({"step": step, "ok": ok, "detail": str(detail)[:2000]}), flush=True)


def step(name):
    """Runs the function below it at once. What it returns is the detail of the step."""

    def run(function):
        try:
            tell(name, True, function())
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)
            line = next((frame.lineno for frame in reversed(place) if frame.filename == sys.argv[0]), None)
            tell(name, False, f"line {line}: {type(error).__name__}: {error}")

    return run


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} is not {wanted!r}")
    return found


def refused(kind, function, *words):
    """The message of an error that must come. A kind is a class, or a part of the message for a client without classes."""
    try:
        answer = function()
    except Exception as error:
        text = str(error)
        if isinstance(kind, str):
            words = (kind, *words)
        elif not isinstance(error, kind):
            raise
        for word in words:
            if word.lower() not in text.lower():
                raise AssertionError(f"{type(error).__name__} does not say {word!r}: {text}") from error
        return f"{type(error).__name__}: {text}"
    raise AssertionError(f"nothing was refused, and the answer is {answer!r}")


def end():
    tell("end", True)

"""The examples of docs/python.md run, one after the other."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the tests stand apart from the documentation")
def test_examples_run():
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(examples) == 4
    names = {}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)

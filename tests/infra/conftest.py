from __future__ import annotations

import os

# Set before the first import of aws_cdk, which starts Node and would print its banner into every test run.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")

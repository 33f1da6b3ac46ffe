#!/usr/bin/env bash
# Makes the venv of the peer, memsearch 0.4.23 from PyPI, and gives it the very model that this product embeds with.
#
#   bash benchmarks/peer.sh FOLDER [PYTHON]
#
# PYTHON (default python3) must be one in which memsearch-tui is installed: the model's files are taken from there. The
# peer is not patched: its loader asks the Hugging Face cache first, so FOLDER/hf is a cache with one hand-made entry,
# `local/minilm-int8`. The benchmarks set HF_HOME and HF_HUB_OFFLINE themselves; pass them --peer FOLDER.
set -euo pipefail
folder=${1:?usage: peer.sh FOLDER [PYTHON]}
python=${2:-python3}
[ -x "$folder/bin/memsearch" ] || {
  "$python" -m venv "$folder"
  "$folder/bin/pip" install -qq 'memsearch[onnx]==0.4.23'
}
revision=0123456789abcdef0123456789abcdef01234567
entry="$folder/hf/hub/models--local--minilm-int8"
mkdir -p "$entry/refs" "$entry/snapshots/$revision"
printf %s "$revision" > "$entry/refs/main"
"$python" - "$entry/snapshots/$revision" <<'PYTHON'
import shutil
import sys
from pathlib import Path

from memsearch_engine.core.home import Home
from memsearch_engine.index.models import DEFAULT, find

files = find(Home.from_env(), DEFAULT)
for source, name in ((files.onnx, "model.onnx"), (files.tokenizer, "tokenizer.json")):
    shutil.copyfile(source, Path(sys.argv[1]) / name)
PYTHON
"$folder/bin/python" -c 'from importlib.metadata import version; print("memsearch", version("memsearch"))'

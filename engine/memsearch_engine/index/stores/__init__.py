"""The store on a Milvus server or Zilliz Cloud."""

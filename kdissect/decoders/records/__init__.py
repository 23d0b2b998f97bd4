"""Record batches: `batches` cuts them and reads their headers, `reader` reads the records of one."""

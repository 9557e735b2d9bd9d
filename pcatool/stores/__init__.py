"""Access to objects in stores and on web servers: `s3://`, `gs://`, `abfs://`, `http://`; never to local files.

Begin with `uri` (names) and `objects` (open, read, upload).
"""

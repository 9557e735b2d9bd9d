"""Objects in stores and on web servers: `s3://`, `gs://`, `abfs://`, `http://`. Local files never come here.

Begin with `uri` (names) and `objects` (open, read, upload).
"""

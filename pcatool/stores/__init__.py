"""Access to objects in stores and on web servers: `s3://`, `gs://`, `abfs://`, `http://`; never to local files.

Begin with `uri` (parses names) and `objects` (opens, reads, uploads and deletes objects). `providers` makes the file
systems of S3, Google and Azure with credentials, timeouts and retries, and compares names; `listing` lists folders and
expands patterns; `http_client` reads web pages. `interruptible_calls` lets signals interrupt slow calls, and `failures`
turns errors of libraries into plain messages.
"""

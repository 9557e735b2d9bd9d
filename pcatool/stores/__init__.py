"""Objects in stores and on web servers: `s3://`, `gs://`, `abfs://`, `http://`. What is local never comes here."""

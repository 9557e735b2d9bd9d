"""The only place that joins the stages: read -> batches -> blocks -> solve -> model -> apply -> write."""

"""pcatool measured beside what a user would write instead: `python tests/benchmarks/run.py --help`."""

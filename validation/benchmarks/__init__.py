"""Speed and forecast error beside what people use: ``python -m validation.benchmarks NAME``."""

"""Nested data parallelism to flat lambda_cu."""

"""NESL text to monomorphic programs, and the interpreter that defines what they mean."""

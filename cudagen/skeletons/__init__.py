"""Skeletons: how a target walks the root space of a kernel. What is computed at an index comes from thunk generators."""

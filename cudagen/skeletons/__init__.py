"""Skeletons: how a target walks a kernel's root space. What is computed at an index comes from thunk generators."""

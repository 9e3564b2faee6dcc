"""The form host: flat lists of instructions, which launch kernels on a device.

    nodes           instructions
    translate       pass: host functions to instructions
    text            programs as text and back
    check           validator
    host            runs instructions, with a stack of its own
    evaluate        scalar expressions
    choices         conditions of versions, and statistics of segments
    limits          how far a run may go: where --depth is enforced, and --memory for what runs
    device          what the host asks of a device
    launching       what devices share
    memory          buffers of devices, kept for reuse
"""

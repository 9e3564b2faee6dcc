"""Starts other programs for running programs, on their streams."""
from __future__ import annotations

import os
from typing import Any

from nessie.base.system.deep import interruptible, undisturbed
from nessie.running.text_streams import DONE, NONE, Status, Streams, failed, no_stream, reason


class Processes:
    def __init__(self, streams: Streams) -> None:
        self.streams = streams

    def shell(self, command: str, text: str, seconds: float | None) -> tuple[str, str]:
        """Run a shell command on the text. Returns its output, and the reason if it failed. The command is ended after
        `seconds`, and when the work that waits for it ends."""
        import subprocess
        given = text.encode("utf-8", "surrogateescape")
        begun: subprocess.Popen[bytes] | None = None
        try:
            with undisturbed():             # else one that has begun might be lost
                begun = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            with interruptible(begun.kill):
                printed, _ = begun.communicate(given, seconds)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            return "", reason(error)
        finally:
            if begun is not None and begun.returncode is None:
                begun.kill()
                with begun:                 # closes its streams, and waits
                    pass
        why = f"the command failed, with status {begun.returncode}" if begun.returncode else ""
        return printed.decode("utf-8", "surrogateescape"), why

    def spawn(self, command: str, numbers: tuple[int, int, int]) -> tuple[Any, Status]:
        """Start the program on these streams; a stream NONE is a new one. Returns the three streams and the status."""
        import shlex
        import subprocess
        files: list[int] = []
        for number in numbers:
            stream = self.streams.open.get(number)
            if number == NONE:
                files.append(subprocess.PIPE)
            elif 0 <= number <= 2:
                files.append(number)
            elif stream is not None and stream.descriptor is not None:
                files.append(stream.descriptor)
            else:
                return (NONE, (NONE, NONE)), no_stream(number)
        try:
            words = shlex.split(command)
            if not words:
                raise ValueError("there is no program to run")
            begun = subprocess.Popen(words, stdin=files[0], stdout=files[1], stderr=files[2], bufsize=0)
        except (OSError, ValueError) as error:
            return (NONE, (NONE, NONE)), failed(error)
        pipes = (begun.stdin, begun.stdout, begun.stderr)
        made = [number if pipe is None else self.streams.add(os.dup(pipe.fileno()))
                for number, pipe in zip(numbers, pipes, strict=True)]
        for pipe in pipes:
            if pipe is not None:
                pipe.close()
        return (made[0], (made[1], made[2])), DONE

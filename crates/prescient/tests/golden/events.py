"""Our event file as TensorBoard itself reads it, and the frame that TensorBoard's own writer puts around an event.

With the path of a run, prints each number that TensorBoard finds in its event file, a line each: tag, step, value. Without,
prints the frame of the first event of a file at time 0, which `src/experiment/events/frame.rs` holds. From this folder
(tensorboard 2.21.0):

    python events.py
    python events.py ../../runs/demo/base
"""

import io
import sys

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter


def frame():
    file = io.BytesIO()
    RecordWriter(file).write(Event(file_version="brain.Event:2").SerializeToString())
    print(file.getvalue().hex())


def numbers(run):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(run, size_guidance={"tensors": 0, "scalars": 0})
    events.Reload()
    for tag in sorted(events.Tags()["scalars"]):
        for event in events.Scalars(tag):
            print(tag, event.step, f"{event.value:.6g}")


frame() if len(sys.argv) < 2 else numbers(sys.argv[1])

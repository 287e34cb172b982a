"""Children of a test by fork, which end whatever happens in them."""

import os
import signal
import traceback

from harness import DEADLINE


def forked(story, fork=os.fork):
    """A child that does what story says and ends, with the exit code that it
    returns: what it raises, the program that is not there say, must not go on
    as a second run of all tests. What fork returns."""
    made = fork()
    if made not in (0, (0, -1)):
        return made
    status = 2
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(2 * DEADLINE)
        status = story()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)

"""The process that ends what a command leaves behind.

Samuel starts it as a script, with an empty environment and without the
packages of the site; it imports the native module alone, which is quick.
"""

if __name__ == "__main__":
    import os
    import sys

    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import _samuel  # type: ignore[import-not-found]

    os._exit(_samuel.supervise())

"""How the process of an isolated handler begins.

Samuel starts it by its path, as a script, with `-P`. The package is the one that this file lies in, and nothing is
imported from the directory that the process works in: whoever writes files there must not decide what runs. The
environment is the caller's, also for what the handler starts.
"""

if __name__ == "__main__":
    # Loaded already, wherever the path leads.
    import os
    import sys

    # PYTHONPATH may name the directory at hand. The caller's own path comes with the handler.
    here = os.getcwd()
    sys.path[:] = [each for each in sys.path if each not in ("", here)]

    from importlib import util

    package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__init__.py")
    spec = util.spec_from_file_location("samuel", package)
    if spec is None or spec.loader is None:
        raise ImportError(f"{package} cannot be imported")
    module = util.module_from_spec(spec)
    sys.modules["samuel"] = module
    spec.loader.exec_module(module)

    from samuel._isolated import main

    main()
    os._exit(0)

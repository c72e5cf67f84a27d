"""`python -m daeri` is the command `daeri`."""

from daeri.cli import main

if __name__ == "__main__":
    main()

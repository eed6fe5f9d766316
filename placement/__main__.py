"""``python -m placement``: the same command as ``placement``."""

from placement.cli import main

if __name__ == "__main__":
    main()

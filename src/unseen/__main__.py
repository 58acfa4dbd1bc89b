"""``python -m unseen`` is the command ``unseen``."""

from unseen.cli import main

if __name__ == "__main__":
    main()

"""`python -m worldloom.cli`: the command line where its script is not on the path."""

from worldloom.cli import main

if __name__ == "__main__":
    main()

"""`python -m zerosnet` is the command `zerosnet`."""

from zerosnet.cli.main import main

main()

"""`python -m electra_tf` is `electra-tf`."""

from electra_tf.cli.main import main

if __name__ == "__main__":
    main()

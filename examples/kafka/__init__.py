"""What a broker's requests really wait for, in virtual time: `python -m examples.kafka.NAME`."""

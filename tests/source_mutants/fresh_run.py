"""One mutant in a process of its own: `tests.source_mutants.trials` starts it."""

from tests.source_mutants.trials import fresh_run

if __name__ == "__main__":
    fresh_run()

"""Speed of tensorcfr and of other programs; run from the repository's root.

* ``python -m benchmarks.compare``: the tables of ``docs/results/speed.md``, from one run
* ``python -m benchmarks.first_contact``: a fresh process, from start to the first result
* ``python -m benchmarks.scaling``: the chart ``docs/scaling.png``
* ``pytest benchmarks --benchmark-only``: the same quantities under pytest-benchmark
"""

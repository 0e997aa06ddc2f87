"""The fixtures, in test suites of their own."""


def test_a_seed_for_all_tests(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def tabularium_seed():
            return {"flights": [{"delay": 75}, {"delay": 12}]}

        @pytest.mark.parametrize("turn", [1, 2])
        def test_flights(tabularium, turn):
            db = tabularium.lancedb()
            assert db.open_table("flights").count_rows("delay > 60") == 1
            db.drop_table("flights")
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_the_process_is_shared_by_tests_and_not_by_workers(pytester):
    pytester.makepyfile(
        """
        import os
        import pytest

        @pytest.mark.parametrize("turn", range(8))
        def test_urls(tabularium, turn):
            with open("urls.txt", "a") as file:
                file.write(f"{os.environ['PYTEST_XDIST_WORKER']} {tabularium.url}\\n")
            tabularium.seed({"flights": [{"delay": turn}]})
        """
    )
    pytester.runpytest_subprocess("-n", "2", "--dist", "each").assert_outcomes(passed=16)
    lines = (pytester.path / "urls.txt").read_text().split("\n")[:-1]
    assert (len(lines), len(set(lines)), len({line.split()[1] for line in lines})) == (16, 2, 2)


def test_a_process_that_ends_fails_its_test_and_no_other(pytester):
    pytester.makepyfile(
        """
        def test_crash(tabularium, _tabularium_server):
            process = _tabularium_server.running()._process
            process.kill()
            process.wait()

        def test_next(tabularium):
            tabularium.seed({"flights": [{"delay": 75}]})
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*The fake catalog ended during the test. *ended with code*"])


def test_no_command_is_an_error_that_says_so(pytester, monkeypatch):
    monkeypatch.setenv("TABULARIUM_COMMAND", "no-such-program")
    pytester.makepyfile("def test_flights(tabularium): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*TABULARIUM_COMMAND names 'no-such-program'*"])


def test_a_suite_that_does_not_use_it_starts_nothing(pytester, monkeypatch):
    monkeypatch.setenv("TABULARIUM_COMMAND", "no-such-program")
    pytester.makepyfile("def test_nothing(): pass")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)

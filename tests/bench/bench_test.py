#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The harness of the bench: its arithmetic, its goals, and peers that misbehave."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parent.parent / "bench"
sys.path.insert(0, str(BENCH))
sys.dont_write_bytecode = True

import cases  # noqa: E402
import goals  # noqa: E402
import pictures  # noqa: E402
import report  # noqa: E402

BY_NAME = {case.name: case for case in cases.CASES}
GUARD = 300  # seconds, after which something hangs
MACHINE = {"processors": 2, "processor": "some", "system": "Debian, Linux"}


def results_of(**by_case):
    """Results in which each peer answered so in each round: w10={"raw": [{"us": 10}]}."""
    return {
        "cases": {
            name: {
                "parameters": BY_NAME[name].parameters,
                "date": "2026-01-01T00:00",
                "machine": MACHINE,
                "peers": peers,
            }
            for name, peers in by_case.items()
        }
    }


def seconds(*values):
    return [{"seconds": value} for value in values]


def told(results):
    played = [BY_NAME[name] for name in results["cases"]]
    return goals.look(played, results)


class Cases(unittest.TestCase):
    def test_a_word_means_a_workload_its_parts_or_one_case(self):
        def named(word):
            return {case.name for case in cases.CASES if case.answers_to(word)}

        self.assertEqual(named("w1"), {"w1_2_workers", "w1_1_worker"})
        self.assertEqual(named("w5"), {"w5_start", "w5_round_trip"})
        self.assertEqual(named("w7b"), {"w7_put"})
        self.assertEqual(named("w10"), {"w10"})
        self.assertIn("queued_1000", named("growth_queued"))
        self.assertLess(named("growth_queued"), named("growth"))

    def test_every_case_asks_for_what_its_workload_knows(self):
        for case in cases.CASES:
            self.assertLessEqual(set(case.parameters), cases.PARAMETERS[case.workload], case.name)

    def test_variants_are_all_combinations_of_the_cases_that_have_the_parameters(self):
        chosen = [BY_NAME["w3"], BY_NAME["w4"]]
        made = cases.variants(chosen, {"producers": [2, 8], "capture": [8, 200]})
        self.assertEqual([c.parameters["producers"] for c in made], [2, 2, 8, 8])
        self.assertEqual([c.parameters["capture"] for c in made], [8, 200, 8, 200])
        self.assertEqual({c.base for c in made}, {"w3"})
        self.assertEqual(cases.variants(chosen, {}), chosen)

    def test_variants_that_are_the_same_are_one(self):
        made = cases.variants([BY_NAME["w1_2_workers"], BY_NAME["w1_1_worker"]], {"workers": [3]})
        self.assertEqual([case.base for case in made], ["w1_2_workers"])

    def test_what_takes_long_is_played_at_every_start_or_every_second(self):
        def rounds(name):
            return [n for n in range(9) if BY_NAME[name].is_played(n, rounds_per_start=2)]

        self.assertEqual(rounds("w3"), list(range(9)))
        self.assertEqual(rounds("w5_start"), [0, 2, 4, 6, 8])
        self.assertEqual(rounds("w8c"), [0, 4, 8])

    def test_a_peer_that_played_fewer_tasks_is_measured_by_those(self):
        results = results_of(w2={"std_async": [{"seconds": 1, "tasks": 2000}]})
        values = cases.medians(results, BY_NAME["w2"], BY_NAME["w2"].measures[0])
        self.assertAlmostEqual(values["std_async"], 0.002)

    def test_the_ideal_time_counts_long_tasks_and_cores(self):
        asked = {"tasks": 100, "work_ns": 1000, "long_every": 10, "long_ns": 11_000, "workers": 1}
        self.assertAlmostEqual(cases.with_ideal_time({}, asked)["ideal_s"], 200e-6)

    def test_each_producer_counts_its_share_of_each_burst_anew(self):
        asked = {"tasks": 1000, "long_every": 10}
        self.assertEqual(cases.long_tasks(asked), 100)
        self.assertEqual(cases.long_tasks(asked | {"burst": 300}), 100)
        self.assertEqual(cases.long_tasks(asked | {"burst": 300, "producers": 4}), 4 * (7 * 3 + 2))


class Goals(unittest.TestCase):
    def test_a_ratio_to_the_best_real_peer(self):
        results = results_of(
            w1_2_workers={
                "cadre": seconds(1.0),
                "asio": seconds(9.0),
                "tbb": seconds(1.6),
                "raw": seconds(0.1),
            }
        )
        self.assertEqual(
            told(results),
            [("pass", "W1, cadre: 1.60 × tbb (goal: ≥ 1.5 × the best peer)")],
        )

    def test_a_goal_that_is_missed_says_by_how_much(self):
        results = results_of(w3={"cadre": seconds(2.0), "jdk": seconds(1.0)})
        self.assertEqual(
            told(results), [("FAIL", "W3, cadre: 0.50 × jdk (goal: ≥ 1.5 × the best peer)")]
        )

    def test_a_tie_is_called_one(self):
        overlapping = results_of(
            w3={"cadre": seconds(1.0, 1.3, 1.6), "jdk": seconds(1.2, 1.4, 1.9)}
        )
        self.assertIn("a tie", told(overlapping)[0][1])
        apart = results_of(w3={"cadre": seconds(1.0, 1.0, 1.0), "jdk": seconds(1.2, 1.2, 1.2)})
        self.assertNotIn("a tie", told(apart)[0][1])

    def test_the_jdk_and_the_others_have_goals_of_their_own(self):
        answers = {"cadre": seconds(1.0), "jdk": seconds(1.2), "tbb": seconds(5.0)}
        self.assertEqual([status for status, _ in told(results_of(w2=answers))], ["FAIL", "pass"])

    def test_less_is_better_for_times_and_the_limit_is_the_machine(self):
        results = results_of(w10={"cadre": [{"us": 12}], "raw": [{"us": 10}], "tbb": [{"us": 1}]})
        self.assertEqual(
            told(results),
            [("pass", "W10, cadre: 1.20 × raw (goal: ≤ 1.3 × a thread made and joined)")],
        )

    def test_a_figure_of_its_own_needs_no_peer(self):
        results = results_of(
            w9_48_bytes={"cadre": [{"bytes": 64.2}], "cadre_array": [{"bytes": 70}]}
        )
        self.assertEqual([status for status, _ in told(results)], ["pass", "FAIL"])

    def test_a_moonshot_is_mentioned(self):
        results = results_of(w1_1_worker={"cadre": seconds(1.0), "jdk": seconds(2.5)})
        self.assertIn("moonshot", told(results)[0][1])

    def test_the_moonshot_of_w1_and_w3_is_above_the_raw_queue_too(self):
        answers = {"cadre": seconds(1.0), "jdk": seconds(2.5)}
        for raw, expected in [(1.1, "moonshot of 2"), (0.9, "but not above raw_moodycamel_bulk")]:
            results = results_of(w3=answers | {"raw_moodycamel_bulk": seconds(raw)})
            self.assertTrue(told(results)[0][1].endswith(expected), told(results))

    def test_a_peer_that_needs_nothing_at_all_is_out_of_reach(self):
        def answers(microseconds):
            return [{"us_percentiles": [1.0] * 101, "cpu_us": microseconds}]

        results = results_of(w5_start={"cadre": answers(3), "cadre_array": answers(0), "tbb": answers(0)})
        self.assertEqual([status for status, _ in told(results)], ["FAIL", "pass"])

    def test_goals_that_cannot_be_told_are_named(self):
        results = results_of(w10={"cadre": [{"us": 12}]})
        played = [BY_NAME["w10"]]
        self.assertEqual(
            goals.without_others(played, results), ["W10 beside a thread made and joined"]
        )
        self.assertEqual(goals.without_others(played, results_of(w10={"tbb": [{"us": 12}]})), [])

    def test_without_us_or_without_peers_there_is_nothing_to_tell(self):
        self.assertEqual(told(results_of(w3={"jdk": seconds(1.0)})), [])
        self.assertEqual(told(results_of(w3={"cadre": seconds(1.0)})), [])

    def test_growth_from_the_cheapest_to_the_dearest(self):
        def costs(*nanoseconds):
            return told(
                results_of(
                    **{
                        f"workers_{n}": {"cadre": seconds(cost * 100_000e-9)}
                        for n, cost in zip((1, 2, 4), nanoseconds)
                    }
                )
            )

        self.assertEqual([status for status, _ in costs(100, 150, 130)], ["pass"])
        self.assertEqual([status for status, _ in costs(100, 350, 130)], ["FAIL"])


class Report(unittest.TestCase):
    def test_results_survive_being_written(self):
        results = results_of(w10={"raw": [{"us": 1}, {"us": 2}], "cadre": [{"us_list": [1, 2]}]})
        text = report.compact_json(results)
        self.assertEqual(json.loads(text), results)
        self.assertIn('{"us_list": [1, 2]}', text)

    def test_median_and_middle_half(self):
        self.assertEqual(report.spread([3.0]), (3.0, 3.0, 3.0))
        self.assertEqual(report.spread([1, 2, 3, 4, 5]), (3, 2, 4))

    def test_pictures_are_xml(self):
        percentiles = [float(i + 1) for i in range(101)]
        points = {f"workers_{n}": {"cadre": seconds(1.0)} for n in (1, 2, 4)}
        answer = {"us_percentiles": percentiles, "cpu_us": 3}
        results = results_of(
            w3={"cadre": seconds(1.0), "a<b": seconds(2.0)},
            w5_start={"cadre": [answer]},
            **points,
        )
        with tempfile.TemporaryDirectory() as directory:
            played = [BY_NAME[name] for name in results["cases"]]
            drawn = list(pictures.draw(played, results, pathlib.Path(directory)))
            names = {path.name for path in drawn}
            self.assertLessEqual(
                {"bench_throughput.svg", "bench_start.svg", "bench_growth_workers.svg"}, names
            )
            for path in drawn:
                xml.etree.ElementTree.parse(path)

    def test_a_picture_tells_all_dates_and_machines_of_what_it_shows(self):
        results = results_of(w3={"cadre": seconds(1.0)}, w4={"cadre": [{"seconds": 1, "tasks": 1}]})
        one = pictures.note_of(results, [BY_NAME["w3"], BY_NAME["w4"]])
        self.assertEqual(one, "2026-01-01, 2 × some, Debian")
        results["cases"]["w4"] |= {"date": "2026-02-01T00:00", "machine": MACHINE | {"processors": 4}}
        both = pictures.note_of(results, [BY_NAME["w3"], BY_NAME["w4"]])
        self.assertEqual(both, "2026-01-01 and 2026-02-01, 2 × some, Debian and 4 × some, Debian")

    def test_without_a_peer_that_has_most_points_there_is_no_picture_of_growth(self):
        points = {f"workers_{n}": {f"peer{n}": seconds(1.0)} for n in (1, 2, 4)}
        results = results_of(**points)
        with tempfile.TemporaryDirectory() as directory:
            played = [BY_NAME[name] for name in results["cases"]]
            self.assertEqual(list(pictures.draw(played, results, pathlib.Path(directory))), [])


class Harness(unittest.TestCase):
    def play(self, *manners, workloads="w1_2_workers,W10", patience=60, more=()):
        peers = ",".join(f"{name}={HERE / 'fake_peer'} {manner}" for name, manner in manners)
        with tempfile.TemporaryDirectory() as directory:
            results = pathlib.Path(directory) / "results.json"
            command = [str(BENCH / "run"), "--workloads", workloads, "--peers", peers]
            command += ["--rounds", "2", "--restart", "1", "--no-images"]
            command += ["--patience", str(patience)]
            done = subprocess.run(
                [sys.executable, *command, "--results", str(results), *more],
                capture_output=True,
                text=True,
                timeout=GUARD,
                check=False,
            )
            found = json.loads(results.read_text()) if results.exists() else {}
            return done, found

    def test_every_round_of_every_peer_is_kept(self):
        done, results = self.play(("cadre", "well"), ("other", "twice"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(results["cases"]["w10"]["peers"]["cadre"], [{"seconds": 1.0, "us": 20}] * 2)
        self.assertIn("FAIL  W1, cadre: 0.50 × other", done.stdout)

    def test_peers_that_misbehave_are_named_and_the_others_go_on(self):
        bad = ["crashes", "hangs", "refuses", "lacks", "babbles", "lists", "digs", "words", "nans"]
        bad += ["needs_no_time", "cooled"]
        # For the one that hangs; the good one has to answer within that, on a busy machine too.
        done, results = self.play(("good", "well"), *((name, name) for name in bad), patience=5)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(results["cases"]["w10"]["peers"]), ["good"])
        for name in bad:
            self.assertIn(f"failed: {name}: W1", done.stdout)
            self.assertIn(f"failed: {name}: W10", done.stdout)

    def test_the_peer_of_the_readme_is_one(self):
        readme = (BENCH / "README.md").read_text()
        program = readme.partition("```python\n")[2].partition("```")[0]
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "peer"
            path.write_text(program)
            path.chmod(0o755)
            vary = ["--vary", "tasks=100"]
            done, results = self.play(workloads="W2", more=["--peers", f"mine={path}", *vary])
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = results["cases"]["w2: tasks=100"]["peers"]["mine"]
        self.assertEqual([answer["tasks"] for answer in answers], [100, 100])

    def test_a_first_line_that_is_none_of_the_protocol_is_named(self):
        bad = ["greets", "greets_with_a_list", "plays_nothing", "plays_a_word", "warms_up_long"]
        done, results = self.play(("good", "well"), *((name, name) for name in bad))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(results["cases"]["w10"]["peers"]), ["good"])
        for name in bad:
            self.assertIn(f"failed: {name}: its start", done.stdout)

    def test_a_peer_that_fails_now_and_then_is_asked_for_the_rest(self):
        done, results = self.play(("good", "well"), ("tired", "ends_with_its_third_answer"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("failed: tired: W1: 1 producer, 2 workers: has ended with 3", done.stdout)
        self.assertEqual(list(results["cases"]["w10"]["peers"]), ["good", "tired"])

    def test_what_was_said_unasked_is_not_taken_for_the_next_answer(self):
        done, results = self.play(("good", "well"), ("echo", "answers_twice"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("failed: echo: W1: 1 producer, 2 workers: said more", done.stdout)
        for case in results["cases"].values():
            self.assertEqual(list(case["peers"]), ["good"])

    def test_who_is_always_silent_is_not_waited_for_for_ever(self):
        done, _ = self.play(("good", "well"), ("hangs", "hangs"), workloads="W1,W10,W4", patience=1)
        self.assertIn("failed: hangs: all that is left: gave no answer 3 times", done.stdout)

    def test_what_a_peer_has_started_ends_with_it(self):
        with tempfile.NamedTemporaryFile() as told:
            self.play(("parent", f"leaves_a_child {told.name}"), workloads="W10", patience=5)
            child = int(pathlib.Path(told.name).read_text())
        deadline = time.monotonic() + GUARD
        while pathlib.Path(f"/proc/{child}/fd/0").exists():  # it is not, from its end on
            self.assertLess(time.monotonic(), deadline, "what the peer has started goes on")
            time.sleep(0.01)

    def test_it_says_how_long_it_takes(self):
        done, _ = self.play(("good", "well"))
        self.assertIn("bench: takes about 0.", done.stderr)

    def test_a_program_that_cannot_be_started_is_named(self):
        done, _ = self.play(("good", "well"), more=["--peers", "gone=/nowhere/peer"])
        self.assertIn("failed: gone: its start", done.stdout)

    def test_it_fails_if_our_own_peer_did(self):
        done, _ = self.play(("cadre", "crashes"), ("good", "well"))
        self.assertEqual(done.returncode, 1)

    def test_bad_arguments_are_refused_with_the_reason(self):
        for more, reason in [
            (["--vary", "workers"], "workers=3,4,16"),
            (["--vary", "colour=red"], "no workload has a parameter colour"),
            (["--workloads", "W99"], "no workload W99"),
            (["--peers", "nobody"], "no peer nobody"),
            (["--rounds", "0"], "--rounds 0"),
            (["--rounds", "x"], "--rounds"),
            (["--workloads", "W1,W99"], "no workload W99"),
            (["--workloads", "W7"], "none of these peers plays any of these"),
            (["--peers", "mine="], "name=/path/to/exe"),
            (["--vary", "workers=0"], "workers must be a number from 1 on"),
            (["--vary", "tasks=x"], "tasks must be a number from 1 on"),
            (["--vary", "workers=2", "--vary", "workers=3"], "workers is given twice"),
            (["--workloads", "W8a", "--vary", "order=any"], "order must be made or shuffled"),
            (["--vary", "tasks=1", "--vary", "producers=2"], "too few for 2 producers"),
            (["--vary", "pause_us=1"], "pause_us means nothing without burst"),
        ]:
            done, _ = self.play(("good", "well"), more=more)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stderr)

    def test_variants_are_played_with_their_parameters(self):
        done, results = self.play(
            ("cadre", "well"), ("other", "twice"), more=["--vary", "workers=3,16"]
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        stored = results["cases"]["w1_2_workers: workers=16"]
        self.assertEqual(stored["parameters"]["workers"], 16)
        self.assertIn("with workers=16", done.stdout)


if __name__ == "__main__":
    unittest.main()

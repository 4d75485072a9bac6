"""The table has a row for each measurement, and shares of the ceilings of the same run."""

import cases
import table

CEILINGS = {"copied_bytes_per_second": 4e12, "product_operations_per_second": 8e14}
SEARCHES = [{"device": "NVIDIA H200", "rows": 10000000, "dimension": 512, "referee": "brute_force", "ceilings": CEILINGS, "searches": [
    {"batch": 1, "seconds": 0.005, "bytes": 1e10, "operations": 1e10, "wrong": ""},
    {"batch": 256, "seconds": 0.01, "bytes": 1e10, "operations": 2.56e12, "wrong": "query 3: place 0"}]}]
STACK = {"device": "NVIDIA H200", "ceilings": CEILINGS, "passes": [
    {"load": "20 pairs", "precision": "bfloat16", "requests": 1, "sequences": 20, "length": 50, "readout": "first",
     "seconds": 0.001, "operations": 4e11, "off_by": 0.002, "wrong": ""}]}
WHOLE = {"device": "NVIDIA H200", "passes": [
    {"load": "a request of 20 pairs", "work": "score", "precision": "bfloat16", "requests": 1, "sequences": 20,
     "length": 50, "seconds": 0.0009, "wrong": ""},
    {"load": "8 requests of 20 pairs", "work": "score", "precision": "bfloat16", "requests": 8, "sequences": 160,
     "length": 50, "seconds": 0.008, "wrong": "numbers that are not finite"}]}
MILLION = SEARCHES[0] | {"rows": 1000000, "dimension": 768, "referee": "cpu", "searches": [
    {"batch": 1, "seconds": 0.0005, "wrong": ""}, {"batch": 256, "seconds": 0.002, "wrong": ""}]}
FAISS = {"rows": 1000000, "dimension": 768, "searches": [{"batch": 1, "seconds": 0.0006, "faiss_seconds": 0.003},
                                                         {"batch": 256, "seconds": 0.002, "faiss_seconds": 0.001}]}
EAGER = {"passes": [{"load": "20 pairs", "precision": "bfloat16", "beside": 0.001, "seconds": 0.008}]}


class TableTest(cases.Case):

    def test_shares_are_of_the_ceilings(self):
        rows = table.rows_of(SEARCHES, {"stack": STACK})
        self.assertEqual([row["what"] for row in rows],
                         ["10M x 512, batch 1", "10M x 512, batch 256", "blocks of 20 pairs, bfloat16"])
        self.assertAlmostEqual(rows[0]["copy_share"], 0.5)
        self.assertAlmostEqual(rows[1]["product_share"], 0.32)
        self.assertIsNone(rows[2]["copy_share"])
        self.assertAlmostEqual(rows[2]["product_share"], 0.5)

    def test_searches_of_lists_say_how_many_of_how_many_rows(self):
        lists = {"batch": 8, "lists": "16 of 900", "rows": 200000, "seconds": 0.002, "wrong": ""}
        row = table.rows_of([SEARCHES[0] | {"searches": [lists]}], {})[0]
        self.assertEqual(row["what"], "200k x 512, 16 of 900 lists, batch 8")
        self.assertEqual(row["held"], "as the rows of the lists")
        self.assertIsNone(row["copy_share"])

    def test_lists_that_were_looked_for_say_what_they_find(self):
        lists = {"batch": 1, "lists": "12 of 4000", "rows": 1000000, "seconds": 0.002, "wrong": "", "recall": 0.953}
        row = table.rows_of([MILLION | {"searches": [lists]}], {}, FAISS)[0]
        self.assertEqual(row["held"], "finds 95.3 % of ten, as the rows of the lists")
        self.assertIsNone(row["peer"])
        near = lists | {"queries": "near rows"}
        self.assertEqual([each["what"] for each in table.rows_of([MILLION | {"searches": [lists, near]}], {})],
                         ["1M x 768, 12 of 4000 lists, batch 1",
                          "1M x 768, 12 of 4000 lists, queries near rows, batch 1"])

    def test_queries_and_requests_a_second(self):
        stack = STACK | {"passes": [STACK["passes"][0] | {"requests": 4, "seconds": 0.002}]}
        self.assertEqual([round(row["per_second"]) for row in table.rows_of([MILLION], {"stack": stack})],
                         [2000, 128000, 2000])

    def test_faiss_stands_beside_the_same_rows_and_batch_by_the_ratio_of_its_own_run(self):
        rows = table.rows_of([*SEARCHES, MILLION], {}, FAISS)
        self.assertEqual([row["peer"] and round(row["peer"]["ratio"], 3) for row in rows], [None, None, 5, 0.5])
        self.assertIn("FAISS 3.000 ms, 5.00 times as long", table.text_of(rows))

    def test_pytorch_stands_beside_the_pass_that_it_was_timed_for(self):
        self.assertAlmostEqual(table.rows_of([], {"stack": STACK}, None, EAGER)[0]["peer"]["ratio"], 8)
        earlier = {"passes": [EAGER["passes"][0] | {"beside": 0.002}]}
        self.assertIsNone(table.rows_of([], {"stack": STACK}, None, earlier)[0]["peer"])

    def test_goals_are_told_with_whether_they_are_met(self):
        text = table.text_of(table.rows_of([MILLION], {"stack": STACK, "whole": WHOLE}, FAISS, EAGER))
        for words in ("at most 0.6 ms: met; ahead of FAISS: met", "at least 150 000 a second: missed; ahead of FAISS: missed",
                      "at most 1 ms: met", "ahead of PyTorch: met", "at least 2 000 a second: missed",
                      "Goals are for an H200; NVIDIA H200 meets 4 of 7."):
            self.assertIn(words, text)

    def test_a_whole_model_has_no_ceilings_and_says_what_is_wrong(self):
        rows = table.rows_of([], {"whole": WHOLE})
        self.assertEqual([(row["what"], row["held"], row["product_share"]) for row in rows],
                         [("model, a request of 20 pairs, bfloat16", "the same each time", None),
                          ("model, 8 requests of 20 pairs, bfloat16", "WRONG: numbers that are not finite", None)])
        self.assertAlmostEqual(rows[1]["per_second"], 1000)

    def test_what_does_not_hold_is_told(self):
        rows = table.rows_of(SEARCHES, {"goldens": [
            {"folder": "oscar", "precision": "float32", "met": False, "max_abs_error": 0.5},
            {"folder": "m3p", "precision": "float32", "met": False, "max_abs_error": None}], "training": [
                {"folder": "saf", "met": True, "max_relative_error": 3e-5}]})
        self.assertEqual([row["held"] for row in rows],
                         ["as brute force", "WRONG: query 3: place 0", "NOT MET, off by 0.5", "NOT MET, not compared",
                          "off by 3e-05"])
        self.assertEqual(rows[-1]["what"], "three steps of saf, float32")

    def test_a_ceiling_that_was_not_measured_has_no_share(self):
        searches = [SEARCHES[0] | {"ceilings": {"copied_bytes_per_second": 4e12, "product_operations_per_second": 0}}]
        self.assertIsNone(table.rows_of(searches, {})[0]["product_share"])

    def test_columns_line_up(self):
        lines = table.text_of(table.rows_of(SEARCHES, {"stack": STACK})).splitlines()
        self.assertEqual(len(lines), 5)
        self.assertEqual({line.find("%") for line in lines[1:3]}, {lines[1].find("%")})
        self.assertIn("5.000", lines[1])


cases.main()

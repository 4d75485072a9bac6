"""The table has a row for each measurement, and shares of the ceilings of the same run."""

import cases
import table

CEILINGS = {"copied_bytes_per_second": 4e12, "product_operations_per_second": 8e14}
SEARCHES = [{"rows": 10000000, "dimension": 512, "referee": "brute_force", "ceilings": CEILINGS, "searches": [
    {"batch": 1, "seconds": 0.005, "bytes": 1e10, "operations": 1e10, "wrong": ""},
    {"batch": 256, "seconds": 0.01, "bytes": 1e10, "operations": 2.56e12, "wrong": "query 3: place 0"}]}]
STACK = {"ceilings": CEILINGS, "passes": [{"load": "20 pairs", "precision": "bfloat16", "seconds": 0.001,
                                           "operations": 4e11, "off_by": 0.002, "wrong": ""}]}


class TableTest(cases.Case):

    def test_shares_are_of_the_ceilings(self):
        rows = table.rows_of(SEARCHES, {"stack": STACK})
        self.assertEqual([row["what"] for row in rows],
                         ["10M x 512, batch 1", "10M x 512, batch 256", "20 pairs, bfloat16"])
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

    def test_what_does_not_hold_is_told(self):
        rows = table.rows_of(SEARCHES, {"goldens": [
            {"folder": "oscar", "precision": "float32", "met": False, "max_abs_error": 0.5},
            {"folder": "m3p", "precision": "float32", "met": False, "max_abs_error": None}]})
        self.assertEqual([row["held"] for row in rows],
                         ["as brute force", "WRONG: query 3: place 0", "NOT MET, off by 0.5", "NOT MET, not compared"])

    def test_a_ceiling_that_was_not_measured_has_no_share(self):
        searches = [SEARCHES[0] | {"ceilings": {"copied_bytes_per_second": 4e12, "product_operations_per_second": 0}}]
        self.assertIsNone(table.rows_of(searches, {})[0]["product_share"])

    def test_columns_line_up(self):
        lines = table.text_of(table.rows_of(SEARCHES, {"stack": STACK})).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual({line.find("%") for line in lines[1:3]}, {lines[1].find("%")})
        self.assertIn("5.000", lines[1])


cases.main()

"""The plan takes nothing away that nobody can do without, and names follow pods as a cluster's do."""

import os
from types import SimpleNamespace

import actions
import cases
import manifests
import pods
import verdict
from manifests import Service, Workload, labels_of, outside, services_of, workloads_of


def workload(name, kind, shard=None):
    labels = (("app.kubernetes.io/name", kind),) + ((("sightline/shard", shard),) if shard else ())
    return Workload(name, kind.replace("-", "_"), 1, 2, labels, "")


FLEET = [workload("router", "router"), workload("query-encoder", "query-encoder"),
         workload("reranker", "reranker"), workload("index-search-0", "index-search", "0"),
         workload("index-search-1", "index-search", "1")]


def pod(of, address, **state):
    return SimpleNamespace(**{"workload": of, "address": address, "hidden": False, "ready": True,
                              "terminating": False, **state})


MANIFEST = """\
kind: Deployment
metadata:
  name: one
spec:
  selector: {matchLabels: {app.kubernetes.io/name: one, sightline/shard: "0"}}
      args: [one_server, --config, /etc/sightline/one.yaml]
---
kind: Service
metadata:
  name: balanced
spec:
  selector: {app.kubernetes.io/name: one}
---
kind: Service
metadata:
  name: polled
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {app.kubernetes.io/name: one, sightline/shard: "0"}
"""


class PlanTest(cases.Case):

    def test_with_replicas_every_kind_is_done_to_every_workload(self):
        plan = actions.plan(FLEET, 2, whole=True)
        for kind in ("restart", "kill", "drain"):
            done = {w.name for action in plan if action.kind == kind for w in action.workloads}
            self.assertEqual(done, {w.name for w in FLEET}, kind)
        self.assertEqual({w.name for a in plan if a.kind == "scale" for w in a.workloads},
                         {"router", "query-encoder", "reranker"})
        self.assertEqual({w.name for a in plan if a.kind == "move" for w in a.workloads},
                         {w.name for w in FLEET[1:]})
        self.assertEqual([a.kind for a in plan if not a.workloads], ["publish", "rollback"])
        self.assertFalse(any(action.may_degrade for action in plan))

    def test_without_replicas_no_router_and_no_encoder_is_taken_away(self):
        for whole in (True, False):
            for action in actions.plan(FLEET, 1, whole):
                if action.kind not in ("kill", "lose", "drain"):
                    self.assertFalse(action.may_degrade, str(action))
                    continue
                self.assertTrue(action.may_degrade, str(action))
                self.assertLessEqual({w.kind for w in action.workloads}, set(actions.DISPENSABLE))

    def test_the_object_store_has_every_kind_that_it_has_a_part_in(self):
        plan = [str(action) for action in actions.plan_of_object_store(FLEET)]
        for wanted in ("outage", "publish", "rollback", "restart index-search-0", "restart index-search-1",
                       "scale query-encoder", "scale reranker"):
            self.assertIn(wanted, plan)
        self.assertLess(plan.index("publish"), plan.index("restart index-search-0"))
        self.assertFalse(any(action.may_degrade for action in actions.plan_of_object_store(FLEET)))
        actions.usual_length(actions.plan_of_object_store(FLEET))

    def test_the_short_plan_has_each_kind_but_the_slow_ones(self):
        short = {action.kind for action in actions.plan(FLEET, 2, whole=False)}
        self.assertEqual(short, set(actions.USUAL) - {"lose", "scale", "outage"})
        self.assertEqual(short | {"lose", "scale"}, {a.kind for a in actions.plan(FLEET, 2, whole=True)})

    def test_polled_names_keep_what_is_not_ready_and_others_do_not(self):
        there = [pod(FLEET[3], "a"), pod(FLEET[3], "b", ready=False), pod(FLEET[3], "c", terminating=True),
                 pod(FLEET[3], "d", hidden=True), pod(FLEET[4], "e")]
        labels = dict(FLEET[3].labels)
        self.assertEqual(pods.addresses_of(Service("n", labels, True), there), ["a", "b", "c"])
        self.assertEqual(pods.addresses_of(Service("n", labels, False), there), ["a"])
        both = {"app.kubernetes.io/name": "index-search"}
        self.assertEqual(pods.addresses_of(Service("n", both, False), there), ["a", "e"])

    def test_a_lack_begins_with_the_last_replica_and_ends_with_the_next(self):
        lacks, one, two = pods.Lacks(), pod(FLEET[2], "a"), pod(FLEET[2], "b", ready=False)
        there = [two]
        lacks.look(there, 1)  # it was not there yet, so it is not missed
        there.append(one)
        lacks.look(there, 2)
        one.ready = False
        lacks.look(there, 3)
        lacks.look([two], 4)
        two.ready = True
        lacks.look([two], 6)
        self.assertEqual(lacks.found, [verdict.Lack("reranker", "reranker", 3, 6)])

    def test_only_connections_that_stand_count_as_found(self):
        table = ("  sl  local_address rem_address   st\n"
                 "   0: 0101A8C0:1CEA 0B0112C6:8235 01 0\n"   # port 7402, from 198.18.1.11
                 "   1: 0101A8C0:1CEA 0C0112C6:8235 06 0\n"   # has ended
                 "   2: 0101A8C0:24BA 0D0112C6:8235 01 0\n"   # another port
                 "   3: 0000000000000000FFFF00000101A8C0:1CEA 0000000000000000FFFF00000E0112C6:1 01 0\n")
        self.assertEqual(pods.callers(table, 7402), {"198.18.1.11", "198.18.1.14"})

    def test_calls_are_counted_over_their_codes(self):
        page = ('sightline_rpc_calls_total{service="s",method="Search",code="OK"} 3\n'
                'sightline_rpc_calls_total{service="s",method="Search",code="INTERNAL"} 2\n'
                'sightline_rpc_calls_total{service="s",method="Fetch",code="OK"} 9\n')
        self.assertEqual(pods.calls_of(page, "Search"), 5)

    def test_manifests_are_read(self):
        service, = services_of(MANIFEST)
        self.assertEqual((service.name, service.not_ready), ("polled", True))
        self.assertEqual(service.selects, {"app.kubernetes.io/name": "one", "sightline/shard": "0"})
        found, = workloads_of(MANIFEST, str.upper, "here")
        self.assertEqual(found, ("one", "one_server", labels_of('app.kubernetes.io/name: one, sightline/shard: "0"'),
                                 "ONE.YAML"))

    def test_what_a_manifest_does_not_say_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "here: 0 matches"):
            workloads_of(MANIFEST.replace("--config", "--other"), str.upper, "here")

    def test_the_overlays_are_read_as_they_are(self):
        for overlay in ("production", "dev"):
            found = manifests.Manifests(os.getcwd(), overlay, 3, self.folder)
            self.assertEqual([w.program for w in found.workloads],
                             ["router", "query_encoder", "reranker"] + 3 * ["index_search"])
            self.assertEqual({s.name for s in found.services if not s.not_ready}, {"router-pods"})
            self.assertEqual([w.port for w in found.workloads], [7400, 7401, 7403, 7402, 7402, 7402])
            self.assertIn("index-search-2", found.workloads[0].config)
            self.assertLess(found.ending.pre_stop, found.ending.grace)

    def test_with_an_object_store_all_but_the_router_have_caches(self):
        found = manifests.Manifests(os.getcwd(), "production", 2, self.folder, object_store=True)
        self.assertEqual([w.name for w in found.workloads if not w.caches], ["router"])

    def test_selectors_take_what_they_name(self):
        for selector, taken in (("a=1", True), ("a=2", False), ("a=1,b!=1", True), ("a=1,b!=2", False), ("c!=1", True)):
            self.assertEqual(manifests.selects(selector, {"a": "1", "b": "2"}), taken, selector)

    def test_a_configuration_knows_the_folders_outside(self):
        self.assertEqual(outside("a: /var/lib/sightline/store\nb: /var/cache/sightline\n", "/v", "/s"),
                         "a: /v/store\nb: /s\n")


if __name__ == "__main__":
    cases.main()

"""TF_CONFIG: what is understood and what is refused."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from electra_tf.training.cluster import find_cluster, read_cluster

TWO = {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}


def config(cluster=TWO, kind="worker", index=0) -> str:
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})


def test_the_first_worker_is_the_chief():
    first, second = read_cluster(config()), read_cluster(config(index=1))
    assert first.addresses == second.addresses == ("10.0.0.1:2222", "10.0.0.2:2222")
    assert (first.is_chief, second.is_chief) == (True, False)
    assert second.describe(1) == "worker 1 (10.0.0.2:2222)"


def test_a_job_named_chief_comes_before_the_workers():
    cluster = {"worker": ["b:2", "c:3"], "chief": ["a:1"]}
    chief = read_cluster(config(cluster, "chief", 0))
    worker = read_cluster(config(cluster, "worker", 0))
    assert chief.tasks == ("chief 0", "worker 0", "worker 1")
    assert chief.addresses == ("a:1", "b:2", "c:3")
    assert (chief.index, worker.index) == (0, 1)
    assert not worker.is_chief


def test_an_index_may_be_written_as_text():
    assert read_cluster(config(index="1")).index == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker", "is not JSON"),
        ("[]", "needs the keys cluster and task"),
        (json.dumps({"cluster": TWO}), "needs the keys cluster and task"),
        (config({}), "has task.type 'worker', but cluster has no job"),
        (config(kind="evaluator"), "has task.type 'evaluator', but cluster has worker"),
        (config(kind=["worker"]), r"has task.type \['worker'\]"),
        (config(index=2), "has task.index 2, but cluster.worker has 2 addresses, counted from 0"),
        (config(index=-1), "has task.index -1"),
        (config(index=True), "has task.index True"),
        (config(index=None), "has task.index None"),
        (config({**TWO, "ps": ["p:1"]}), "has the jobs ps in cluster"),
        (config({"worker": "10.0.0.1:2222"}), "has no list of addresses in cluster.worker"),
        (config({"worker": []}), "has no list of addresses in cluster.worker"),
        (config({"worker": ["10.0.0.1"]}), "has '10.0.0.1' in cluster.worker, which is not host"),
        (config({"worker": ["a:70000"]}), "has 'a:70000' in cluster.worker"),
        (config({"worker": [2222]}), "has 2222 in cluster.worker"),
        (config({"worker": ["a:1", "a:1"]}), "names a:1 more than once"),
        (config({"chief": ["a:1", "b:1"], "worker": ["c:1"]}), "has 2 chiefs"),
    ],
)
def test_a_mistake_is_named_and_an_example_given(text, message):
    with pytest.raises(ValueError, match=rf"^TF_CONFIG {message}") as error:
        read_cluster(text)
    assert "export TF_CONFIG='{" in str(error.value)


def test_the_example_in_the_message_is_right():
    with pytest.raises(ValueError, match="TF_CONFIG is not set") as error:
        find_cluster("multi_worker", None)
    example = str(error.value).split("'")[1]
    assert read_cluster(example) == read_cluster(config())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["cluster", "task", "worker", "chief", "type", "index"]), inner
            )
        ),
    ).map(json.dumps)
    | st.text()
)
def test_whatever_stands_there_is_a_cluster_or_an_explained_mistake(text):
    with contextlib.suppress(ValueError):
        cluster = read_cluster(text)
        assert 0 <= cluster.index < len(cluster.addresses)


@pytest.mark.parametrize(
    ("strategy", "text", "workers"),
    [
        ("multi_worker", config(), 2),
        ("multi_worker", config({"worker": ["a:1"]}), 1),
        ("auto", config(), 2),
        ("auto", config({"worker": ["a:1"]}), 0),
        ("auto", None, 0),
        ("auto", "", 0),
        ("one_device", config(), 0),
        ("mirrored", "not JSON", 0),
        ("tpu", config(), 0),
    ],
)
def test_only_auto_and_multi_worker_look_for_workers(strategy, text, workers):
    cluster = find_cluster(strategy, text)
    assert (len(cluster.addresses) if cluster else 0) == workers


def test_auto_does_not_pass_over_a_broken_tf_config():
    with pytest.raises(ValueError, match="is not JSON"):
        find_cluster("auto", "{")

"""Three events and a question, in memory: ``python examples/first_look.py``."""

import lineage_graph as lg


def event(job: str, read: str, made: str, hour: int) -> dict[str, object]:
    return {
        "eventTime": f"2026-01-01T{hour:02d}:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": f"{job} of the first of January"},
        "job": {"namespace": "etl", "name": job},
        "inputs": [{"namespace": "shop", "name": read}],
        "outputs": [{"namespace": "shop", "name": made}],
    }


def main() -> None:
    with lg.open(":memory:") as graph:
        graph.ingest(
            [
                event("clean", "orders", "clean_orders", 1),
                event("join", "clean_orders", "order_facts", 2),
                event("report", "order_facts", "daily_report", 3),
            ]
        )
        for item in graph.impact("dataset:shop:orders"):
            print(f"{item.depth} {item.certainty} {item.id}")


if __name__ == "__main__":
    main()

package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.HttpLoad;

/** Sessions that are open and idle beside those under load. */
final class Crowd {
    private Crowd() {}

    static Peer.Loading of(int sessions) {
        return (target, workload, meter) -> {
            for (int i = 0; i < sessions; i++) {
                target.open();
            }
            return new HttpLoad(target, workload, meter);
        };
    }
}

package dev.holdfast.cluster;

import dev.holdfast.session.ClusterMembership;
import dev.holdfast.spi.ClusterSupport;

/** Engines as the nodes of a cluster. */
public final class ClusterNodes {
    private ClusterNodes() {}

    /** Makes each engine that gets this store one of the nodes that share it. */
    public static ClusterSupport sharing(SharedSessionStore store) {
        return (ClusterMembership.Support) engine -> new ClusterNode(store, engine);
    }
}

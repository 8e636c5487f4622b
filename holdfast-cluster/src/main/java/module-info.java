/** One session on many nodes: what a store does that nodes share, and what a node does among others. */
module dev.holdfast.cluster {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.core;
    requires org.slf4j;

    exports dev.holdfast.cluster;
}

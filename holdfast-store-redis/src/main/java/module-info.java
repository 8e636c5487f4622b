/** Sessions in Redis, which many nodes use at once. */
@SuppressWarnings("requires-automatic") // Lettuce has no module descriptor: its name here is that in its manifest
module dev.holdfast.redis {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.cluster;
    requires transitive dev.holdfast.core;
    requires org.slf4j;
    requires lettuce.core;
    requires io.netty.common;
    requires io.netty.handler;
    requires io.netty.transport;

    exports dev.holdfast.redis;
}

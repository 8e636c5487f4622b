/**
 * Sessions, streams, cursors, lifecycle and the in-memory store. Needs the JDK and slf4j-api only.
 *
 * <p>{@code dev.holdfast.log}, {@code dev.holdfast.session} and {@code dev.holdfast.cluster} are internal.
 */
module dev.holdfast.core {
    requires static transitive org.jspecify;
    requires org.slf4j;

    exports dev.holdfast;
    exports dev.holdfast.engine;
    exports dev.holdfast.spi;
}
